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

/// Writes lines to standard error. They may contain file names: characters that control the terminal are
/// replaced. A failure to write is ignored.
pub(crate) fn complain(lines: impl Display) {
    for line in lines.to_string().lines() {
        let _ignored = writeln!(io::stderr(), "{}", printable(line));
    }
}

/// A name for the terminal: characters that control it are replaced.
pub(crate) fn printable(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
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
