//! Writing to the terminal.

use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write};

use indicatif::{ProgressBar, ProgressStyle};

use crate::replay::Verdict;

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

/// Writes to standard output, and returns the verdict. Where whoever reads it has seen enough and closed
/// it, that changes nothing.
pub(crate) fn tell(
    verdict: Verdict,
    write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> io::Result<()>,
) -> io::Result<Verdict> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(verdict),
    }
}
