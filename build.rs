//! Generates the parser from `grammar/relay.lalrpop`.
//!
//! Canonical LR(1) rather than lalrpop's default lane table: the lane table merges states, so wrong reductions happen
//! before an error is noticed, expected lists get shorter and recovery loses more text. The switch is an environment
//! variable that lalrpop reads at generation time.

fn main() {
    println!("cargo::rerun-if-changed=grammar/relay.lalrpop");
    println!("cargo::rerun-if-changed=build.rs");
    // SAFETY: the build script has one thread at this point.
    unsafe { std::env::set_var("LALRPOP_LANE_TABLE", "disabled") };
    lalrpop::Configuration::new().set_in_dir("grammar").process().expect("grammar/relay.lalrpop is accepted");
}
