//! A value that can be exchanged while nothing holds it.
//!
//! The lock is held for a few nanoseconds. An exchange holds it until the copy of the content is submitted, so that no
//! other thread can submit anything between the exchange and the copy.

use crate::sync::{Mutex, MutexGuard};

/// A value that does not change while it is held or pinned.
#[derive(Debug)]
pub struct Exchangeable<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    value: T,
    /// The number of holds.
    holders: u32,
    /// The number of the latest holder; 0: none.
    last_holder: u64,
    is_pinned: bool,
}

/// The holder of a value: the unique number of a recording; 0: not a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder(pub u64);

impl Holder {
    /// A holder that is not a recording. An upload, for example, does not count as a use of the resource that it
    /// fills.
    pub const NO_RECORDING: Self = Self(0);
}

impl<T> Exchangeable<T> {
    pub fn new(value: T) -> Self {
        Self(Mutex::new(State { value, holders: 0, last_holder: 0, is_pinned: false }))
    }

    /// Reads the value, which does not change until [`end_hold`](Self::end_hold). Consecutive calls by the same
    /// recording hold it once: the second result is true if this call added a hold.
    #[inline]
    pub fn hold<R>(&self, holder: Holder, read: impl FnOnce(&mut T) -> R) -> (R, bool) {
        let state = &mut *self.0.lock();
        let is_new = holder == Holder::NO_RECORDING || state.last_holder != holder.0;
        if is_new {
            state.holders += 1;
            if holder != Holder::NO_RECORDING {
                state.last_holder = holder.0;
            }
        }
        (read(&mut state.value), is_new)
    }

    /// Ends a hold, and changes the value for the next reader.
    #[inline]
    pub fn end_hold(&self, change: impl FnOnce(&mut T)) {
        let mut state = self.0.lock();
        state.holders = state.holders.saturating_sub(1);
        change(&mut state.value);
    }

    /// Reads the value, which can never change afterwards.
    pub fn pin<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        let mut state = self.0.lock();
        state.is_pinned = true;
        read(&state.value)
    }

    /// Reads the current value.
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.0.lock().value)
    }

    /// Changes the value on behalf of its owner, even while it is held.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.0.lock().value)
    }

    /// Locks the value while it is exchanged.
    pub fn lock(&self) -> Exchange<'_, T> {
        Exchange(self.0.lock())
    }
}

/// A value that is being exchanged; other threads cannot read it meanwhile.
#[derive(Debug)]
pub struct Exchange<'a, T>(MutexGuard<'a, State<T>>);

impl<T> Exchange<'_, T> {
    /// The number of the latest holder: a higher number means a later use.
    pub fn last_holder(&self) -> u64 {
        self.0.last_holder
    }

    pub fn is_held(&self) -> bool {
        self.holders() > 0
    }

    /// The number of holds.
    pub fn holders(&self) -> u32 {
        self.0.holders
    }

    pub fn is_pinned(&self) -> bool {
        self.0.is_pinned
    }

    pub fn value(&self) -> &T {
        &self.0.value
    }

    /// The value, which may be exchanged only if it is neither held nor pinned.
    pub fn value_mut(&mut self) -> &mut T {
        &mut self.0.value
    }
}

#[cfg(all(test, loom))]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    use super::{Exchangeable, Holder};
    use crate::sync::Mutex;

    const HOLDER: Holder = Holder(7);

    /// An entry of a queue, in order of submission.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Submitted {
        /// Commands write a value to a place.
        Write(usize, u32),
        /// The content of a place is copied to the next.
        Copy(usize),
    }

    /// A place, and whether the resource is still there.
    struct Current {
        at: usize,
        is_gone: bool,
    }

    /// A recording writes a movable resource, and a second one may do so after the drop, while the resource
    /// moves up to twice: submitted writes go to the place of the content at that point of the queue, so that
    /// no write is lost, and a dropped resource does not move.
    #[test]
    fn writes_reach_the_place_of_the_content() {
        loom::model(|| {
            let place = Arc::new(Exchangeable::new(Current { at: 0, is_gone: false }));
            let queue = Arc::new(Mutex::new(Vec::new()));
            let recording = {
                let (place, queue) = (place.clone(), queue.clone());
                thread::spawn(move || {
                    let (at, _) = place.hold(HOLDER, |place| place.at);
                    queue.lock().push(Submitted::Write(at, 1));
                    place.end_hold(|_| ());
                })
            };
            let mover = {
                let (place, queue) = (place.clone(), queue.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        let mut exchange = place.lock();
                        if !exchange.is_held() && !exchange.is_pinned() && !exchange.value().is_gone {
                            queue.lock().push(Submitted::Copy(exchange.value().at));
                            exchange.value_mut().at += 1;
                        }
                    }
                })
            };
            // An upload, and the drop of the last handle.
            let (at, _) = place.hold(Holder::NO_RECORDING, |place| place.at);
            queue.lock().push(Submitted::Write(at, 2));
            place.end_hold(|_| ());
            let left = place.change(|place| {
                place.is_gone = true;
                place.at
            });
            recording.join().unwrap();
            mover.join().unwrap();
            let (mut content, mut written) = (0, 0);
            for submitted in queue.lock().iter() {
                match *submitted {
                    Submitted::Write(at, what) => {
                        assert_eq!(at, content, "written where nobody looks");
                        written |= what;
                    }
                    Submitted::Copy(from) => {
                        assert_eq!(from, content, "copied from where it is");
                        content += 1;
                    }
                }
            }
            assert_eq!((written, content), (3, left), "what was dropped has not moved");
        });
    }

    /// Two threads hold the value and read it twice, one pins it, and another exchanges it: a held or pinned
    /// value never changes.
    #[test]
    fn held_or_pinned_values_stay() {
        loom::model(|| {
            let value = Arc::new(Exchangeable::new(1));
            let exchanges = Arc::new(AtomicUsize::new(0));
            let holder = {
                let value = value.clone();
                thread::spawn(move || {
                    let (seen, is_new) = value.hold(HOLDER, |value| *value);
                    assert!(is_new);
                    assert_eq!(value.hold(HOLDER, |value| *value).0, seen);
                    assert_eq!(value.read(|value| *value), seen);
                    value.end_hold(|_| ());
                })
            };
            let mover = {
                let (value, exchanges) = (value.clone(), exchanges.clone());
                thread::spawn(move || {
                    let mut exchange = value.lock();
                    if !exchange.is_held() && !exchange.is_pinned() {
                        *exchange.value_mut() += 1;
                        exchanges.fetch_add(1, Ordering::Relaxed);
                    }
                })
            };
            let pinned = value.pin(|value| *value);
            holder.join().unwrap();
            mover.join().unwrap();
            assert_eq!(value.read(|value| *value), pinned);
            assert!(exchanges.load(Ordering::Relaxed) < 2);
        });
    }
}
