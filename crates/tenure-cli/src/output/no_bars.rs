//! Placeholders for progress bars in a program without them.

/// A bar that is never shown.
pub(crate) struct ProgressBar;

impl ProgressBar {
    pub(crate) const fn hidden() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as for a bar that is shown")]
    pub(crate) const fn set_position(&self, _: u64) {}

    #[expect(clippy::unused_self, reason = "as for a bar that is shown")]
    pub(crate) const fn set_message(&self, _: &'static str) {}
}

/// Needed because commands drop a bar before they print, to remove a visible one.
impl Drop for ProgressBar {
    fn drop(&mut self) {}
}

pub(crate) const fn progress(_: u64, _: &'static str) -> ProgressBar {
    ProgressBar
}

pub(crate) const fn working(_: &'static str) -> ProgressBar {
    ProgressBar
}
