//! The three forms in which TVM prints a network parse and print back to the same bytes, with types and without. They are a
//! bare expression after `free_var` lines, a bare `fn`, and `def @main` in a module.

use relayc_driver::{self as driver, Phase};
use relayc_ir::print::{Options, print};
use relayc_ir::{ExprKind, Module, Root};
use relayc_ops as ops;
use relayc_zoo::{self as zoo, Config};

fn forms(network: &Module) -> [(&'static str, Module); 3] {
    let main = network.globals.iter().next().expect("a network has a function");
    let (func, body) = (main.func, network.funcs[main.func].body);
    let mut bare_fn = network.clone();
    let expr = bare_fn.expr(relayc_base::Span::NONE, ExprKind::Fn(func));
    bare_fn.root = Root::Expr(expr);
    let mut bare_body = network.clone();
    bare_body.root = Root::Expr(body);
    [("def @main", network.clone()), ("fn", bare_fn), ("free_var", bare_body)]
}

fn assert_reads_back(name: &str, form: &str, text: &str, until: Phase, options: Options) {
    let program = driver::check_text(name, text, until);
    let messages: Vec<_> = program.diagnostics.iter().map(|d| d.message.clone()).collect();
    assert!(messages.is_empty(), "{name} as {form}: {messages:?}");
    assert_eq!(print(&program.module, ops::table(), options), text, "{name} as {form}");
}

#[test]
fn every_form_of_every_network_reads_back() {
    let mut n_networks = 0;
    for network in zoo::networks() {
        // A network whose operators this build does not have yet says so; `relayc model` does too.
        let Ok(mut module) = Config::new(network).build() else { continue };
        n_networks += 1;
        for (form, module) in forms(&module) {
            let options = Options { types: false, meta: false, exact: false, dim_names: false };
            let text = print(&module, ops::table(), options);
            assert!(text.lines().any(|line| line.starts_with(form)), "{form}: {text:.80}");
            assert_reads_back(network.name, form, &text, Phase::Resolve, options);
        }
        assert!(relayc_check::infer::infer(&mut module, ops::table()).is_empty(), "{}", network.name);
        for (form, module) in forms(&module).into_iter().take(1) {
            let options = Options { types: true, meta: false, exact: false, dim_names: false };
            assert_reads_back(network.name, form, &print(&module, ops::table(), options), Phase::Infer, options);
        }
    }
    assert!(n_networks >= 8, "only {n_networks} networks can be built");
}
