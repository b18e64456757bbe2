//! Changes of a window between frames, as a user makes them: for tests.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use winit::window::Window;

use crate::Result;

/// The time limit of a change.
const LIMIT: Duration = Duration::from_secs(60);

/// A change of a window.
#[derive(Clone, Copy, Debug)]
enum Change {
    Resize([u32; 2]),
    Minimise,
    Restore,
}

/// Has a window resized, minimised and restored while it shows frames, and waits for each to be seen.
#[derive(Debug)]
pub(crate) struct Unrest {
    changes: VecDeque<Change>,
    /// Since when the first one is waited for.
    asked: Option<Instant>,
}

impl Unrest {
    /// All changes, the last back to this size, if they are wanted; otherwise none.
    pub(crate) fn new(is_wanted: bool, size: [u32; 2]) -> Self {
        let [width, height] = size;
        let (small, tall) = ([width / 2, height * 3 / 4], [width * 3 / 4, height + 60]);
        let around = |small| [Change::Resize(small), Change::Minimise, Change::Restore];
        let changes = around(small).into_iter().chain(around(tall)).chain([Change::Resize(size)]);
        Self { changes: changes.filter(|_| is_wanted).collect(), asked: None }
    }

    /// True while there are changes to come.
    pub(crate) fn is_active(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Goes on to the next change once the first one is seen. `shown`: the size of the frame that was just shown, or
    /// none, as the window has no image.
    pub(crate) fn advance(&mut self, window: &Window, shown: Option<[u32; 2]>) -> Result<()> {
        let Some(change) = self.changes.front().copied() else { return Ok(()) };
        let Some(asked) = self.asked else {
            request(window, change);
            self.asked = Some(Instant::now());
            return Ok(());
        };
        if is_seen(window, change, shown) {
            self.changes.pop_front();
            self.asked = None;
        } else if asked.elapsed() > LIMIT {
            let (size, hidden) = (window.inner_size(), is_minimised(window));
            let limit = LIMIT.as_secs();
            let now = format!("it has {size:?}, is minimised: {hidden}, and shows {shown:?}");
            return Err(format!("{change:?} of the window was not seen within {limit} s: {now}").into());
        }
        Ok(())
    }
}

fn request(window: &Window, change: Change) {
    match change {
        Change::Resize([width, height]) => {
            // Some window systems answer at once, others by an event: the frames tell.
            let _told_later = window.request_inner_size(winit::dpi::PhysicalSize::new(width, height));
        }
        Change::Minimise => set_minimised(window, true),
        Change::Restore => set_minimised(window, false),
    }
}

fn is_seen(window: &Window, change: Change, shown: Option<[u32; 2]>) -> bool {
    match change {
        Change::Resize(size) => shown == Some(size),
        // X11 has images for a window that is hidden.
        Change::Minimise => is_minimised(window) && (shown.is_none() || !cfg!(windows)),
        Change::Restore => !is_minimised(window) && shown.is_some(),
    }
}

/// Minimises the window. On X11 a window manager does so by hiding it; this works without one.
fn set_minimised(window: &Window, is_minimised: bool) {
    if cfg!(windows) {
        window.set_minimized(is_minimised);
    } else {
        window.set_visible(!is_minimised);
    }
}

fn is_minimised(window: &Window) -> bool {
    if cfg!(windows) { window.is_minimized() == Some(true) } else { window.is_visible() == Some(false) }
}
