//! The time of frames, by parts.

use std::time::{Duration, Instant};

/// Times something.
pub(crate) fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    *total += start.elapsed();
    done
}

/// The time of one frame inside tenure. The times of the recording threads are added up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) uploads: Duration,
    /// Opening recordings, states, readbacks.
    pub(crate) recording: Duration,
    pub(crate) prepared: Duration,
    pub(crate) submits: Duration,
    /// Beginning and ending the frame, waits not included.
    pub(crate) frame: Duration,
}

impl Spent {
    pub(crate) fn add(&mut self, other: &Self) {
        self.uploads += other.uploads;
        self.recording += other.recording;
        self.prepared += other.prepared;
        self.submits += other.submits;
        self.frame += other.frame;
    }

    fn total(&self) -> Duration {
        self.uploads + self.recording + self.prepared + self.submits + self.frame
    }
}

/// The frames after the first ones.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    frames: Vec<Spent>,
    walls: Vec<Duration>,
}

impl Meter {
    pub(crate) fn push(&mut self, spent: Spent, wall: Duration) {
        self.frames.push(spent);
        self.walls.push(wall);
    }

    /// Prints the medians.
    pub(crate) fn print(&self) {
        let part = |part: fn(&Spent) -> Duration| median(self.frames.iter().map(part).collect());
        for (what, time) in [
            ("uploads of 20 MB, the copy to staging memory included", part(|spent| spent.uploads)),
            ("opening recordings, states, the readback", part(|spent| spent.recording)),
            ("2,000 constants and 200 tables", part(|spent| spent.prepared)),
            ("submissions", part(|spent| spent.submits)),
            ("beginning and ending the frame, without waits", part(|spent| spent.frame)),
            ("all of tenure, with the device below it", part(Spent::total)),
            ("the frame by the clock on the wall", median(self.walls.clone())),
        ] {
            println!("{what:56} {:>10.1} µs a frame (median)", time.as_secs_f64() * 1e6);
        }
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
