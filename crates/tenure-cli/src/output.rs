//! Writing to the terminal.

use std::fmt::Display;
use std::io::{self, Write};

use indicatif::{ProgressBar, ProgressStyle};

/// A line on standard error. Where nobody can be told, nobody is.
pub(crate) fn complain(line: impl Display) {
    let _nobody_listens = writeln!(io::stderr(), "{line}");
}

/// A bar on standard error; nothing where that is no terminal.
pub(crate) fn progress(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    let style = ProgressStyle::with_template("{msg:>9} {bar:40} {percent:>3} %");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
