//! Whole programs over the interface, chosen by bytes in place of a seed.

use soak::{Program, run};

/// A program, whose end is checked as `soak` checks it.
pub(crate) fn program(data: &[u8]) {
    let program = Program::from_bytes(data);
    if let Some(wrong) = run(&program).wrong {
        panic!("{}: {wrong}", program.setup);
    }
}
