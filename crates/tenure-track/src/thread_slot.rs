//! A small number for each thread, which distributes threads over shards.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The variables of a thread that most calls use. They are one variable, because each has an address of its own, which code in a
/// shared library calls a function for.
#[derive(Debug)]
pub(crate) struct Thread {
    /// The thread's number plus 1; 0 before the first use.
    number: Cell<usize>,
    /// Twice the depth of nested calls into the manager; plus 1 if they have events that are not emitted yet.
    pub(crate) calls: Cell<usize>,
}

thread_local! {
    pub(crate) static THREAD: Thread = const { Thread { number: Cell::new(0), calls: Cell::new(0) } };
}

/// The number of the current thread: consecutive from 0 in the order of first use.
#[inline]
pub fn current() -> usize {
    THREAD.with(|thread| match thread.number.get() {
        0 => first_use(thread),
        number => number - 1,
    })
}

#[cold]
fn first_use(thread: &Thread) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    thread.number.set(number.wrapping_add(1));
    number
}
