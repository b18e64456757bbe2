//! Writing to the terminal.

use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::replay::Verdict;

/// How often the sign of work changes.
const SPIN: Duration = Duration::from_millis(100);

/// Writes lines to standard error. Names in them may be of files: what would control the terminal is replaced. A
/// failure to write is ignored.
pub(crate) fn complain(lines: impl Display) {
    for line in lines.to_string().lines() {
        let _ignored = writeln!(io::stderr(), "{}", printable(line));
    }
}

/// A progress bar on standard error, which goes when it is dropped; invisible if standard error is not a terminal.
pub(crate) fn progress(steps: u64, message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:>10} {bar:40} {percent:>3} %");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    shown(ProgressBar::new(steps).with_style(style), message)
}

/// A sign, like a [progress bar](progress), that work goes on of which nobody knows how much is left.
pub(crate) fn working(message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:>10} {spinner} {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = shown(ProgressBar::new_spinner().with_style(style), message);
    if !bar.is_hidden() {
        bar.enable_steady_tick(SPIN);
    }
    bar
}

fn shown(bar: ProgressBar, message: &'static str) -> ProgressBar {
    let bar = bar.with_finish(ProgressFinish::AndClear).with_message(message);
    bar.tick();
    bar
}

/// A name for the terminal: what would control it is replaced.
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
