//! Writing to the terminal.

#[cfg(feature = "progress")]
mod bars;
#[cfg(not(feature = "progress"))]
mod no_bars;

use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write};

use crate::replay::Verdict;
#[cfg(feature = "progress")]
pub(crate) use bars::{progress, working};
#[cfg(feature = "progress")]
pub(crate) use indicatif::ProgressBar;
#[cfg(not(feature = "progress"))]
pub(crate) use no_bars::{ProgressBar, progress, working};

/// Writes lines to standard error, and ignores failures. Replaces characters that control the terminal, because
/// lines may contain file names.
pub(crate) fn complain(lines: impl Display) {
    for line in lines.to_string().lines() {
        let _ignored = writeln!(io::stderr(), "{}", printable(line));
    }
}

/// A name without characters that control the terminal.
pub(crate) fn printable(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// Writes to standard output, and returns the verdict. A broken pipe is not an error: the reader closed it.
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
