//! The program `tenure`: see `tenure --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tenure_cli::main()
}
