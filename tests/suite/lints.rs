//! Lints are not noisy: networks as TVM prints them, with types in comments, get no warnings.

use relayc_check::infer::infer;
use relayc_driver::{Phase, check_text};
use relayc_ir::print::{Options, print};
use relayc_ops as ops;
use relayc_zoo::{self as zoo, Config};

#[test]
fn printed_networks_give_no_warning() {
    let mut n_networks = 0;
    for network in zoo::networks() {
        let Ok(mut module) = Config::new(network).build() else { continue };
        n_networks += 1;
        assert!(infer(&mut module, ops::table()).is_empty(), "{}", network.name);
        for types in [false, true] {
            let text = print(&module, ops::table(), Options { types, meta: false, exact: false, dim_names: false });
            let said = check_text(network.name, &text, Phase::Lint).diagnostics;
            let said: Vec<_> = said.iter().map(|d| &d.message).collect();
            assert!(said.is_empty(), "{}: {said:?}", network.name);
        }
    }
    assert!(n_networks >= 8, "only {n_networks} networks can be built");
}
