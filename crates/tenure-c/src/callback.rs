//! Callbacks of the program.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::thread;

use tracing::field::{Field, Visit};
use tracing::span;

use crate::slot::Ended;
use crate::types::*;

/// The state that every call must check first, packed in one number so that the usual case is one comparison: running
/// callbacks, objects released by them, and whether a call has panicked.
pub(crate) struct Attention(AtomicU32);

const PANICKED: u32 = 1 << 31;

impl Attention {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Counts a callback as running.
    pub(crate) fn begin(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a callback as finished.
    pub(crate) fn end(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether no callback runs, no object released by a callback waits for the end of a call, and no call has panicked.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Notes that a call has panicked.
    #[cold]
    pub(crate) fn note_panic(&self) {
        self.0.fetch_or(PANICKED, Ordering::Relaxed);
    }

    /// Whether a call has panicked.
    pub(crate) fn has_panicked(&self) -> bool {
        self.0.load(Ordering::Relaxed) & PANICKED != 0
    }
}

/// The state of this process.
pub(crate) static ATTENTION: Attention = Attention::new();

/// The kind of callback that runs on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    Nothing,
    Destroy,
    Log,
    Pressure,
    Submit,
    Pass,
    Heap,
    Moved,
    Times,
}

impl Inside {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "no callback",
            Self::Destroy => "a tn_DestroyFn",
            Self::Log => "a tn_LogFn",
            Self::Pressure => "a tn_PressureFn",
            Self::Submit => "a tn_SubmitFn",
            Self::Pass => "a tn_PassFn",
            Self::Heap => "a function of tn_HeapPools",
            Self::Moved => "a tn_MovedFn",
            Self::Times => "a tn_GpuTimeFn",
        }
    }

    /// Whether all functions can be called. The call around a `tn_PassFn` uses only the frame and the graph.
    pub(crate) fn is_free(self) -> bool {
        matches!(self, Self::Nothing | Self::Pass)
    }
}

thread_local! {
    static INSIDE: Cell<Inside> = const { Cell::new(Inside::Nothing) };
    /// Objects released by callbacks, which the call around them may still use.
    static RELEASED: RefCell<VecDeque<Ended>> = const { RefCell::new(VecDeque::new()) };
}

/// Drops an object; inside a callback, it is dropped at the end of the call around it.
#[inline]
pub(crate) fn release(object: Ended) {
    if ATTENTION.is_quiet() { drop(object) } else { release_in_callback(object) }
}

#[cold]
fn release_in_callback(object: Ended) {
    if inside().is_free() {
        return drop(object);
    }
    let mut object = Some(object);
    // Makes the end of the call drop it. While the thread ends, the list is gone: the object is dropped here.
    if RELEASED.try_with(|released| released.borrow_mut().extend(object.take())).is_ok() {
        ATTENTION.begin();
    }
}

/// Drops the objects that callbacks have released in the call that ends now.
///
/// # Errors
/// A destructor panicked.
#[cold]
#[inline(never)]
pub(crate) fn settle() -> thread::Result<()> {
    let mut result = Ok(());
    while inside().is_free()
        && let Ok(Some(object)) = RELEASED.try_with(|released| released.borrow_mut().pop_front())
    {
        ATTENTION.end();
        // Destructors may call further callbacks. If one panics, the other objects are still dropped.
        result = catch_unwind(AssertUnwindSafe(|| drop(object))).and(result);
    }
    result
}

/// As [`settle`], in a call that uses no object that callbacks can release. Returns whether there were any.
pub(crate) fn settle_all() -> bool {
    let has_some =
        inside().is_free() && RELEASED.try_with(|released| !released.borrow().is_empty()) == Ok(true);
    if has_some && let Err(panic) = settle() {
        resume_unwind(panic);
    }
    has_some
}

pub(crate) fn inside() -> Inside {
    INSIDE.get()
}

/// Marks a running callback until it is dropped.
struct Entered {
    before: Inside,
}

impl Entered {
    fn new(inside: Inside) -> Self {
        ATTENTION.begin();
        Self { before: INSIDE.replace(inside) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        INSIDE.set(self.before);
        ATTENTION.end();
    }
}

/// Runs a callback of the program.
pub(crate) fn during<T>(inside: Inside, callback: impl FnOnce() -> T) -> T {
    let _entered = Entered::new(inside);
    callback()
}

/// Calls the program's destroy function when dropped.
pub(crate) struct Destroy {
    function: tn_DestroyFn,
    /// Passed to the function unchanged.
    user: AtomicPtr<c_void>,
    object: AtomicPtr<c_void>,
}

impl Destroy {
    pub(crate) fn new(
        function: Option<tn_DestroyFn>,
        user: *mut c_void,
        object: *mut c_void,
    ) -> Result<Self, Failure> {
        let missing = || Failure::new(TN_ERROR_POINTER, "null, where a tn_DestroyFn is needed");
        let (user, object) = (AtomicPtr::new(user), AtomicPtr::new(object));
        Ok(Self { function: function.ok_or_else(missing)?, user, object })
    }
}

impl Destroy {
    /// Returns the object to the program without calling the function.
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Destroy {
    fn drop(&mut self) {
        let _entered = Entered::new(Inside::Destroy);
        (self.function)(self.user.load(Ordering::Relaxed), self.object.load(Ordering::Relaxed));
    }
}

/// Calls the program's destroy function, if any, when dropped, provided that the object was taken over.
pub(crate) struct Owner {
    destroy: Option<Destroy>,
    is_taken: Arc<AtomicBool>,
}

/// Notes that the object was taken over.
pub(crate) struct Taken(Arc<AtomicBool>);

impl Owner {
    pub(crate) fn new(
        function: Option<tn_DestroyFn>,
        user: *mut c_void,
        object: *mut c_void,
    ) -> (Self, Taken) {
        let is_taken = Arc::new(AtomicBool::new(false));
        let destroy = Destroy::new(function, user, object).ok();
        (Self { destroy, is_taken: is_taken.clone() }, Taken(is_taken))
    }
}

impl Taken {
    pub(crate) fn note(self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if !self.is_taken.load(Ordering::Acquire) {
            self.destroy.take().into_iter().for_each(Destroy::keep);
        }
    }
}

/// Forwards pressure changes to the program.
pub(crate) struct Listener {
    function: tn_PressureFn,
    user: AtomicPtr<c_void>,
}

impl Listener {
    pub(crate) fn new(function: Option<tn_PressureFn>, user: *mut c_void) -> Result<Self, Failure> {
        let missing = || Failure::new(TN_ERROR_POINTER, "null, where a tn_PressureFn is needed");
        Ok(Self { function: function.ok_or_else(missing)?, user: AtomicPtr::new(user) })
    }

    pub(crate) fn call(&self, change: tn_PressureChange) {
        let _entered = Entered::new(Inside::Pressure);
        (self.function)(self.user.load(Ordering::Relaxed), change);
    }
}

/// Calls the program's function to submit to a queue.
///
/// # Errors
/// The status returned by the program.
pub(crate) fn submit(function: tn_SubmitFn, user: *mut c_void, queue: tn_Native) -> Result<(), Failure> {
    let status = during(Inside::Submit, || function(user, queue));
    if status >= 0 {
        return Ok(());
    }
    Err(Failure::new(status, format!("the tn_SubmitFn returned {status}")))
}

/// Calls the program's function to record a pass.
pub(crate) fn in_pass<R>(record: impl FnOnce() -> R) -> R {
    let _entered = Entered::new(Inside::Pass);
    record()
}

/// Forwards log events to the program.
pub(crate) struct Subscriber {
    most: tracing::Level,
    function: tn_LogFn,
    user: AtomicPtr<c_void>,
}

/// The log levels of C and of `tracing`.
const LEVELS: [(tn_LogLevel, tracing::Level); 5] = [
    (TN_LOG_ERROR, tracing::Level::ERROR),
    (TN_LOG_WARN, tracing::Level::WARN),
    (TN_LOG_INFO, tracing::Level::INFO),
    (TN_LOG_DEBUG, tracing::Level::DEBUG),
    (TN_LOG_TRACE, tracing::Level::TRACE),
];

impl Subscriber {
    pub(crate) fn new(
        most: tn_LogLevel,
        function: Option<tn_LogFn>,
        user: *mut c_void,
    ) -> Result<Self, Failure> {
        let level = LEVELS.iter().find(|(level, _)| *level == most);
        let unknown = || Failure::new(TN_ERROR_ENUM, format!("most = {most}: unknown in this version"));
        let missing = || Failure::new(TN_ERROR_POINTER, "null, where a tn_LogFn is needed");
        Ok(Self {
            most: level.ok_or_else(unknown)?.1,
            function: function.ok_or_else(missing)?,
            user: AtomicPtr::new(user),
        })
    }
}

impl tracing::Subscriber for Subscriber {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.most
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.most.into())
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let text = format!("{}{}", line.message, line.values);
        let level = LEVELS.iter().find(|(_, level)| level == event.metadata().level());
        let _entered = Entered::new(Inside::Log);
        let level = level.map_or(TN_LOG_ERROR, |(level, _)| *level);
        (self.function)(self.user.load(Ordering::Relaxed), level, tn_Str::lent(&text));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// `message name=value …`
#[derive(Default)]
struct Line {
    message: String,
    values: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.values, " {name}={value:?}"),
        };
    }
}
