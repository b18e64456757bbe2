//! Removes steps of a failing program, until each is necessary.

use crate::program::Program;
use crate::run::run;

/// The shortest failing program found.
#[derive(Debug)]
pub struct Shrunk {
    /// The program.
    pub program: Program,
    /// The number of tried programs.
    pub tried: usize,
}

/// The maximum number of tried programs.
const MOST: usize = 2000;

/// The common part of two failures with the same cause: the words without numbers.
fn cause(wrong: &str) -> String {
    wrong.lines().next().unwrap_or_default().chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// Removes steps of a program that fails with `wrong`, while it fails in the same way: parts of halving size,
/// until no single step can be removed (delta debugging: Zeller and Hildebrandt, "Simplifying and Isolating
/// Failure-Inducing Input", 2002).
#[must_use]
pub fn shrink(program: &Program, wrong: &str) -> Shrunk {
    let cause_of_all = cause(wrong);
    let (mut shrunk, mut tried) = (program.clone(), 0);
    let mut length = shrunk.steps.len().div_ceil(2);
    while length > 0 && tried < MOST {
        let (mut at, mut has_shrunk) = (0, false);
        while at < shrunk.steps.len() && tried < MOST {
            let mut shorter = shrunk.clone();
            shorter.steps.drain(at..(at + length).min(shrunk.steps.len()));
            tried += 1;
            if run(&shorter).wrong.is_some_and(|wrong| cause(&wrong) == cause_of_all) {
                (shrunk, has_shrunk) = (shorter, true);
            } else {
                at += length;
            }
        }
        if !(has_shrunk && length == 1) {
            length /= 2;
        }
    }
    Shrunk { program: shrunk, tried }
}
