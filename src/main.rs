//! The `relayc` binary: hands everything to `cli`.

fn main() -> std::process::ExitCode {
    relayc::cli::main()
}
