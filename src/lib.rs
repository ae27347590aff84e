pub mod base;
pub mod diag;
pub mod infer;
pub mod ir;
pub mod ops;
pub mod syntax;
pub mod tensor;
pub mod types;
pub mod zoo;
pub mod cli {
    pub fn main() -> std::process::ExitCode {
        std::process::ExitCode::SUCCESS
    }
}
