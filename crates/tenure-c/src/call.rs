//! The wrapper of every exported function: checks, panics, and the thread's last error.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::callback::{self, ATTENTION, Attention, Inside};
use crate::pointer::{Out, Text};
use crate::slot::{Handle, Object, Reserved, create_in};
use crate::types::*;

impl Attention {
    /// Runs the body of a function, and turns a panic into a status.
    #[inline]
    fn run<R>(
        &self,
        is_allowed: fn(Inside) -> bool,
        body: impl FnOnce() -> Result<R, Failure>,
    ) -> Result<R, tn_Status> {
        if !self.is_quiet()
            && let Err(failure) = self.check(is_allowed)
        {
            return Err(failed(failure));
        }
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(value)) if self.is_quiet() => Ok(value),
            result => self.conclude(result),
        }
    }

    /// The end of a call that has failed, or that has more to do.
    #[cold]
    #[inline(never)]
    fn conclude<R>(&self, mut result: thread::Result<Result<R, Failure>>) -> Result<R, tn_Status> {
        // Before the error is kept: released objects may call the program, which may call functions that fail.
        if !self.is_quiet()
            && let Err(panic) = callback::settle()
        {
            result = Err(panic);
        }
        match result {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(failure)) => Err(failed(failure)),
            Err(panic) => Err(self.panicked(panic)),
        }
    }

    #[cold]
    fn check(&self, is_allowed: fn(Inside) -> bool) -> Result<(), Failure> {
        let inside = callback::inside();
        if !is_allowed(inside) {
            let text = format!("this function must not be called inside {}", inside.name());
            return Err(Failure::new(TN_ERROR_CALLBACK, text));
        }
        // Handles can still be released.
        if self.has_panicked() && !is_allowed(Inside::Destroy) {
            let text =
                "an earlier call met a bug of tenure (TN_ERROR_PANIC): only handles can be released now";
            return Err(Failure::new(TN_ERROR_PANIC, text));
        }
        Ok(())
    }

    #[cold]
    fn panicked(&self, panic: Box<dyn Any + Send>) -> tn_Status {
        self.note_panic();
        let message = panic.downcast::<String>().map_or_else(
            |panic| panic.downcast_ref::<&str>().copied().unwrap_or("a panic without text").to_owned(),
            |message| *message,
        );
        let text = format!("a bug of tenure, please report it: {message}");
        failed(Failure::new(TN_ERROR_PANIC, text))
    }
}

/// The body of a function that must not be called inside a callback, except for that of a pass.
#[inline]
pub(crate) fn call(body: impl FnOnce() -> Result<(), Failure>) -> tn_Status {
    ATTENTION.run(Inside::is_free, body).map_or_else(|status| status, |()| TN_OK)
}

/// The body of a function that creates an object. Its handle is null after each failure, also where the call is refused.
#[inline]
pub(crate) fn call_create<T: Object>(
    out: Out<Handle<T>>,
    make: impl FnOnce() -> Result<T, Failure>,
) -> tn_Status {
    call_create_in(out, |slot| Ok(slot.fill(make()?)))
}

/// As [`call_create`], for an object that is not moved before it is in its slot.
#[inline]
pub(crate) fn call_create_in<T: Object>(
    out: Out<Handle<T>>,
    fill: impl FnOnce(Reserved<T>) -> Result<Handle<T>, Failure>,
) -> tn_Status {
    match out.clear() {
        Ok(()) => call(|| create_in(out, fill)),
        Err(failure) => fail(failure),
    }
}

/// A call without room for its result. A refusal because of a callback comes first.
#[cold]
fn fail(failure: Failure) -> tn_Status {
    call(|| Err(failure))
}

/// As [`call`], with the status of success.
#[inline]
pub(crate) fn call_status(body: impl FnOnce() -> Result<tn_Status, Failure>) -> tn_Status {
    ATTENTION.run(Inside::is_free, body).unwrap_or_else(|status| status)
}

/// The body of a function that callbacks may call, except for that of the log.
#[inline]
pub(crate) fn call_to_release(body: impl FnOnce() -> Result<(), Failure>) -> tn_Status {
    ATTENTION.run(|inside| inside != Inside::Log, body).map_or_else(|status| status, |()| TN_OK)
}

/// The last error of a thread.
struct LastError {
    /// With a NUL at its end.
    text: String,
    shortage: Option<Shortage>,
}

thread_local! {
    static LAST_ERROR: RefCell<LastError> =
        const { RefCell::new(LastError { text: String::new(), shortage: None }) };
}

#[cold]
fn failed(failure: Failure) -> tn_Status {
    let Reason { status, mut text, shortage } = failure.reason();
    text.push('\0');
    // Fails only while the thread ends.
    let _kept = LAST_ERROR.try_with(|last| *last.borrow_mut() = LastError { text, shortage });
    status
}

/// The text of this thread's last error; empty without one.
pub(crate) fn last_error() -> tn_Str {
    let text = LAST_ERROR.try_with(|last| {
        let text = &last.borrow().text;
        tn_Str { data: Text::lent(text), size: text.len().saturating_sub(1) }
    });
    match text {
        Ok(text) if text.size > 0 => text,
        _ => tn_Str::empty(),
    }
}

/// The numbers of this thread's last error, if it was `TN_ERROR_OUT_OF_MEMORY`.
pub(crate) fn last_shortage() -> Option<Shortage> {
    LAST_ERROR.try_with(|last| last.borrow().shortage).ok().flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "the test is about panics")]

    use std::panic::resume_unwind;
    use std::sync::Arc;

    use super::{ATTENTION, Attention, Inside, Object, TN_ERROR_PANIC, callback, last_error};
    use crate::slot::Slots;

    /// Its destructor panics, where its number is odd.
    struct Unwilling {
        number: u32,
        _alive: Arc<()>,
    }

    impl Object for Unwilling {
        const KIND: u32 = 62;
        const TYPE: &'static str = "Unwilling";

        fn slots() -> &'static Slots<Self> {
            static SLOTS: Slots<Unwilling> = Slots::new();
            &SLOTS
        }
    }

    impl Drop for Unwilling {
        fn drop(&mut self) {
            if self.number % 2 == 1 {
                resume_unwind(Box::new(format!("number {}", self.number)));
            }
        }
    }

    #[test]
    fn all_that_a_callback_has_released_is_dropped_where_destructors_panic() {
        let (attention, alive) = (Attention::new(), Arc::new(()));
        // As a callback has it.
        attention.begin();
        let body = || {
            for number in 0..5 {
                let object = Unwilling { number, _alive: alive.clone() };
                let handle = Unwilling::slots().reserve()?.fill(object);
                // SAFETY: nothing refers to the object.
                callback::during(Inside::Destroy, || unsafe { handle.end() }.map(callback::release))?;
            }
            assert_eq!(Arc::strong_count(&alive), 6);
            Ok(())
        };
        assert_eq!(attention.run(Inside::is_free, body), Err(TN_ERROR_PANIC));
        assert_eq!(Arc::strong_count(&alive), 1);
        assert!(last_error().text().is_ok_and(|text| text.contains("number 3")));
        assert!(ATTENTION.is_quiet() && attention.has_panicked());
    }

    #[test]
    fn panics_end_in_the_call_and_only_releases_work_after_that() {
        let attention = Attention::new();
        let plain: fn(Inside) -> bool = Inside::is_free;
        let release: fn(Inside) -> bool = |inside| inside != Inside::Log;
        assert_eq!(attention.run(plain, || Ok(())), Ok(()));
        assert_eq!(attention.run(plain, || -> Result<(), _> { panic!("table {}", 7) }), Err(TN_ERROR_PANIC));
        assert!(last_error().text().is_ok_and(|text| text.contains("table 7")));
        assert_eq!(attention.run(plain, || Ok(())), Err(TN_ERROR_PANIC));
        assert!(last_error().text().is_ok_and(|text| text.contains("earlier call")));
        assert_eq!(attention.run(release, || Ok(())), Ok(()));
    }
}
