//! Calls of program code with caught panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls code of the program, and catches its panic, which the panic hook has reported.
pub fn run_caught(call: impl FnOnce()) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else { return };
    // The payload's destructor is the program's code and may panic as well. The payload of that panic is leaked, because
    // its destructor could panic again.
    if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(next);
    }
}
