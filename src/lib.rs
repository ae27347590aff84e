pub mod base;
pub mod diag;
pub mod driver;
pub mod formats;
pub mod syntax;
pub mod sys;
pub mod tensor;
pub mod types;
pub mod cli {
    pub fn main() -> std::process::ExitCode {
        std::process::ExitCode::SUCCESS
    }
}
