//! Callbacks into the program: `tracing` subscribers, wakers, recorders. Their panics are caught, because unwinding would leave
//! the manager's call incomplete. Events are emitted at the end of the call, because a subscriber may call the manager, and the
//! call still holds locks.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use tracing;
use tracing::Level;
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};

use crate::thread_slot::{THREAD, Thread};

/// An event to be emitted to the program's subscriber.
type Event = Box<dyn FnOnce()>;

/// In [`Thread::calls`](crate::thread_slot::Thread::calls): one nested call.
const CALL: usize = 2;
/// There: the calls have events that are not emitted yet.
const HAS_EVENTS: usize = 1;

thread_local! {
    /// Events of the calls on this thread, not emitted yet.
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// Logs an event like the macro of `tracing` for its level. Values come first, each as an identifier or `name = value`, with `%`
/// or `?` for text, and are evaluated at once. The event is emitted at the end of the manager's call. The subscriber's filter
/// runs only then, because it is code of the program. Without a subscriber for the level, the cost is that of `tracing`'s macro.
#[doc(hidden)]
#[macro_export]
macro_rules! event {
    ($level:ident, $($rest:tt)+) => {
        if $crate::callback::may_be_heard($crate::event!(@level $level)) {
            $crate::event!(@take $level [] $($rest)+);
        }
    };
    (@level error) => { $crate::callback::tracing::Level::ERROR };
    (@level warn) => { $crate::callback::tracing::Level::WARN };
    (@level debug) => { $crate::callback::tracing::Level::DEBUG };
    (@level trace) => { $crate::callback::tracing::Level::TRACE };
    (@take $level:ident [$($field:tt)*] % $name:ident, $($rest:tt)+) => {
        $crate::event!(@take $level [$($field)*] $name = %$name, $($rest)+)
    };
    (@take $level:ident [$($field:tt)*] ? $name:ident, $($rest:tt)+) => {
        $crate::event!(@take $level [$($field)*] $name = ?$name, $($rest)+)
    };
    (@take $level:ident [$($field:tt)*] $name:ident, $($rest:tt)+) => {
        $crate::event!(@take $level [$($field)*] $name = $name, $($rest)+)
    };
    (@take $level:ident [$($field:tt)*] $name:ident = % $value:expr, $($rest:tt)+) => {{
        let $name = ::std::string::ToString::to_string(&$value);
        $crate::event!(@take $level [$($field)* $name = %$name,] $($rest)+)
    }};
    (@take $level:ident [$($field:tt)*] $name:ident = ? $value:expr, $($rest:tt)+) => {{
        let $name = ::std::format!("{:?}", $value);
        $crate::event!(@take $level [$($field)* $name = %$name,] $($rest)+)
    }};
    (@take $level:ident [$($field:tt)*] $name:ident = $value:expr, $($rest:tt)+) => {{
        let $name = $value;
        $crate::event!(@take $level [$($field)* $name,] $($rest)+)
    }};
    (@take $level:ident [$($field:tt)*] $message:literal) => {
        $crate::callback::emit(move || $crate::callback::tracing::$level!(target: "tenure", $($field)* $message))
    };
}

/// Whether a subscriber may listen to events of this level. Does not call the subscriber.
#[inline]
pub fn may_be_heard(level: Level) -> bool {
    level <= STATIC_MAX_LEVEL && level <= LevelFilter::current()
}

/// Runs code of the program, such as an event's subscriber, at the end of the current call into the manager on this thread, when
/// no lock of the manager is held, or immediately outside of calls. A panic of that code is caught.
pub fn emit(event: impl FnOnce() + 'static) {
    let mut event = Some(event);
    let calls = THREAD.with(|thread| thread.calls.get());
    if calls >= CALL {
        // Fails only while the thread terminates.
        let queued = EVENTS.try_with(|events| events.borrow_mut().extend(event.take().map(boxed)));
        if queued.is_ok() {
            THREAD.with(|thread| thread.calls.set(calls | HAS_EVENTS));
        }
    }
    if let Some(event) = event {
        let _reported_by_the_panic_hook = is_run(event);
    }
}

fn boxed(event: impl FnOnce() + 'static) -> Event {
    Box::new(event)
}

/// Runs a callback of the program, and catches and logs its panic.
pub fn run_caught(what: &'static str, call: impl FnOnce()) {
    if !is_run(call) {
        event!(error, what, "code of the program panicked in a call of the manager");
    }
}

/// Runs a callback of the program, and catches its panic; false when it panicked.
fn is_run(call: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(call)).map_err(end_panic).is_ok()
}

/// Drops the payload of a caught panic. Its destructor is the program's code and may panic as well; the payload of that panic
/// is leaked, because the chain may be endless.
pub fn end_panic(payload: Box<dyn Any + Send>) {
    if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(next);
    }
}

/// A call into the manager on this thread. When the outermost one ends, no lock is held, and its events are emitted.
#[derive(Debug)]
#[must_use = "the call ends when it is dropped"]
pub struct InCall(());

impl InCall {
    #[inline]
    pub fn begin() -> Self {
        THREAD.with(|thread| thread.calls.set(thread.calls.get() + CALL));
        Self(())
    }
}

impl Drop for InCall {
    #[inline]
    fn drop(&mut self) {
        THREAD.with(|thread| {
            let calls = thread.calls.get() - CALL;
            thread.calls.set(calls);
            if calls == HAS_EVENTS {
                tell(thread);
            }
        });
    }
}

#[cold]
fn tell(thread: &Thread) {
    thread.calls.set(0);
    let events = EVENTS.try_with(RefCell::take).unwrap_or_default();
    for event in events {
        let _reported_by_the_panic_hook = is_run(event);
    }
}
