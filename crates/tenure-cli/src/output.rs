//! Writing to the terminal.

use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write};

use indicatif::{ProgressBar, ProgressStyle};

use crate::replay::Verdict;

/// Writes a line to standard error. A failure to write it is ignored.
pub(crate) fn complain(line: impl Display) {
    let _ignored = writeln!(io::stderr(), "{line}");
}

/// A progress bar on standard error; invisible if standard error is not a terminal.
pub(crate) fn progress(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    let style = ProgressStyle::with_template("{msg:>9} {bar:40} {percent:>3} %");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Writes to standard output, and returns the verdict. A broken pipe, which means that the reading
/// process closed it, is not an error.
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
