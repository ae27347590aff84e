pub mod base;
pub mod diag;
pub mod syntax;
pub mod cli { pub fn main() -> std::process::ExitCode { std::process::ExitCode::SUCCESS } }
