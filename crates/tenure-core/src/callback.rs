//! Callbacks into the program: `tracing` subscribers, wakers, recorders. Their panics are caught, because unwinding would leave
//! the manager's call half done. Events are emitted at the end of the call, because a subscriber may call the manager, and the
//! call still holds locks.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An event to be emitted to the program's subscriber.
type Event = Box<dyn FnOnce()>;

thread_local! {
    /// The depth of nested calls into the manager on this thread.
    static CALLS: Cell<u32> = const { Cell::new(0) };
    /// Events of these calls, not emitted yet.
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// Logs an event as `tracing`'s macros of that name do: values first, each an identifier or `name = value`, with `%` or `?`
/// for text. Values are taken at once. Where nobody listens it costs as much as `tracing`'s.
macro_rules! event {
    ($level:ident, $($rest:tt)+) => {
        if event!(@is_enabled $level) {
            event!(@take $level [] $($rest)+);
        }
    };
    (@is_enabled error) => { ::tracing::enabled!(target: "tenure", ::tracing::Level::ERROR) };
    (@is_enabled warn) => { ::tracing::enabled!(target: "tenure", ::tracing::Level::WARN) };
    (@is_enabled debug) => { ::tracing::enabled!(target: "tenure", ::tracing::Level::DEBUG) };
    (@is_enabled trace) => { ::tracing::enabled!(target: "tenure", ::tracing::Level::TRACE) };
    (@take $level:ident [$($field:tt)*] % $name:ident, $($rest:tt)+) => {
        event!(@take $level [$($field)*] $name = %$name, $($rest)+)
    };
    (@take $level:ident [$($field:tt)*] ? $name:ident, $($rest:tt)+) => {
        event!(@take $level [$($field)*] $name = ?$name, $($rest)+)
    };
    (@take $level:ident [$($field:tt)*] $name:ident, $($rest:tt)+) => {
        event!(@take $level [$($field)*] $name = $name, $($rest)+)
    };
    (@take $level:ident [$($field:tt)*] $name:ident = % $value:expr, $($rest:tt)+) => {{
        let $name = ::std::string::ToString::to_string(&$value);
        event!(@take $level [$($field)* $name = %$name,] $($rest)+)
    }};
    (@take $level:ident [$($field:tt)*] $name:ident = ? $value:expr, $($rest:tt)+) => {{
        let $name = ::std::format!("{:?}", $value);
        event!(@take $level [$($field)* $name = %$name,] $($rest)+)
    }};
    (@take $level:ident [$($field:tt)*] $name:ident = $value:expr, $($rest:tt)+) => {{
        let $name = $value;
        event!(@take $level [$($field)* $name,] $($rest)+)
    }};
    (@take $level:ident [$($field:tt)*] $message:literal) => {
        $crate::callback::emit(move || ::tracing::$level!(target: "tenure", $($field)* $message))
    };
}

/// Emits an event at the end of the current call into the manager, or at once outside of calls.
pub(crate) fn emit(event: impl FnOnce() + 'static) {
    let mut event = Some(event);
    if CALLS.get() > 0 {
        // Fails only while the thread ends.
        let _queued = EVENTS.try_with(|events| events.borrow_mut().extend(event.take().map(boxed)));
    }
    if let Some(event) = event {
        let _reported_by_the_panic_hook = catch_unwind(AssertUnwindSafe(event));
    }
}

fn boxed(event: impl FnOnce() + 'static) -> Event {
    Box::new(event)
}

/// Runs a callback of the program, and catches and logs its panic.
pub(crate) fn run_caught(what: &'static str, call: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(call)).is_err() {
        event!(error, what, "code of the program panicked in a call of the manager");
    }
}

/// A call into the manager on this thread. When the outermost one ends, no lock is held, and its events are emitted.
#[must_use = "the call ends when it is dropped"]
pub(crate) struct InCall(());

impl InCall {
    #[inline]
    pub(crate) fn begin() -> Self {
        CALLS.set(CALLS.get() + 1);
        Self(())
    }
}

impl Drop for InCall {
    #[inline]
    fn drop(&mut self) {
        let calls = CALLS.get() - 1;
        CALLS.set(calls);
        if calls == 0 && EVENTS.try_with(|events| !events.borrow().is_empty()).unwrap_or(false) {
            tell();
        }
    }
}

#[cold]
fn tell() {
    let events = EVENTS.try_with(RefCell::take).unwrap_or_default();
    for event in events {
        let _reported_by_the_panic_hook = catch_unwind(AssertUnwindSafe(event));
    }
}
