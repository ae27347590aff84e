//! Generates the parser from `grammar/relay.lalrpop`.
//!
//! Uses canonical LR(1) instead of lalrpop's default lane table. The lane table merges states: wrong reductions happen before an
//! error is noticed, expected lists get shorter, and recovery loses more text. The switch is an environment variable that lalrpop
//! reads at generation time.

#[allow(unsafe_code, reason = "an environment variable is set before there are threads")]
fn main() {
    println!("cargo::rerun-if-changed=../../grammar/relay.lalrpop");
    println!("cargo::rerun-if-changed=build.rs");
    // SAFETY: the build script has one thread at this point.
    unsafe { std::env::set_var("LALRPOP_LANE_TABLE", "disabled") };
    lalrpop::Configuration::new().set_in_dir("../../grammar").process().expect("grammar/relay.lalrpop is accepted");
}
