//! Progress on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// The interval between the spinner's steps.
const SPIN: Duration = Duration::from_millis(100);

/// A progress bar on standard error, removed when it is dropped; invisible if standard error is not a terminal.
pub(crate) fn progress(steps: u64, message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:>10} {bar:40} {percent:>3} %");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    shown(ProgressBar::new(steps).with_style(style), message)
}

/// A spinner for work of unknown length, in the style of a [progress bar](progress).
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
