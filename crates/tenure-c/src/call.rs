//! The one way into each function, and everything that follows a pointer of the caller.
//!
//! The types [`In`], [`Out`] and [`Text`] are parameters and fields, and nothing in this crate makes one from an address: each
//! value came from a caller in C, who has read in the header that pointers are null or valid for the call.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use tenure_core::{Error, Name};
use tenure_vulkan::CreateError;

use crate::callback::{self, Inside};
use crate::types::*;

/// The reason for a status below zero.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: tn_Status,
    pub(crate) text: String,
}

impl Failure {
    #[cold]
    pub(crate) fn new(status: tn_Status, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    /// An object of another backend than the rest of the call.
    #[cold]
    pub(crate) fn foreign() -> Self {
        Self::new(TN_ERROR_FOREIGN, "an object of another backend belongs to a different tn_Gpu")
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        // The numbers are the same, and stay: see `ErrorKind`.
        let kind = i32::try_from(error.kind() as u32).unwrap_or(i32::MAX);
        Self { status: -kind, text: error.to_string() }
    }
}

impl From<CreateError> for Failure {
    #[cold]
    fn from(error: CreateError) -> Self {
        Self::new(TN_ERROR_CREATE_DEVICE, error.to_string())
    }
}

/// What calls must look at before anything else, in one number, so that the usual case is one comparison: callbacks that run
/// and the objects that they have released, and whether a call has panicked.
pub(crate) struct Attention(AtomicU32);

const PANICKED: u32 = 1 << 31;

impl Attention {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// A callback begins.
    pub(crate) fn begin(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// A callback is over.
    pub(crate) fn end(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Runs the body of a function. Panics end here.
    #[inline]
    fn run(
        &self,
        is_allowed: fn(Inside) -> bool,
        body: impl FnOnce() -> Result<tn_Status, Failure>,
    ) -> tn_Status {
        if !self.is_quiet()
            && let Err(failure) = self.check(is_allowed)
        {
            return failed(failure);
        }
        let status = match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(status)) => status,
            Ok(Err(failure)) => failed(failure),
            Err(panic) => self.panicked(&*panic),
        };
        if self.is_quiet() {
            return status;
        }
        match catch_unwind(callback::settle) {
            Ok(()) => status,
            Err(panic) => self.panicked(&*panic),
        }
    }

    /// No callback runs, none has released anything in a call that is not over, and no call has panicked.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    #[cold]
    fn check(&self, is_allowed: fn(Inside) -> bool) -> Result<(), Failure> {
        let inside = callback::inside();
        if !is_allowed(inside) {
            let text = format!("this function must not be called inside {}", inside.name());
            return Err(Failure::new(TN_ERROR_CALLBACK, text));
        }
        // Handles can still be released.
        if self.0.load(Ordering::Relaxed) & PANICKED != 0 && !is_allowed(Inside::Destroy) {
            let text =
                "an earlier call met a bug of tenure (TN_ERROR_PANIC): only handles can be released now";
            return Err(Failure::new(TN_ERROR_PANIC, text));
        }
        Ok(())
    }

    #[cold]
    fn panicked(&self, panic: &(dyn Any + Send)) -> tn_Status {
        self.0.fetch_or(PANICKED, Ordering::Relaxed);
        let message = panic.downcast_ref::<&str>().copied();
        let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text =
            format!("a bug of tenure, please report it: {}", message.unwrap_or("a panic without text"));
        failed(Failure::new(TN_ERROR_PANIC, text))
    }
}

/// Of the process.
pub(crate) static ATTENTION: Attention = Attention::new();

/// The body of a function that must not be called inside a callback.
#[inline]
pub(crate) fn call(body: impl FnOnce() -> Result<(), Failure>) -> tn_Status {
    ATTENTION.run(|inside| inside == Inside::Nothing, || body().map(|()| TN_OK))
}

/// As [`call`], with the status of success.
#[inline]
pub(crate) fn call_status(body: impl FnOnce() -> Result<tn_Status, Failure>) -> tn_Status {
    ATTENTION.run(|inside| inside == Inside::Nothing, body)
}

/// The body of a function that the callback of a deferred object may call.
#[inline]
pub(crate) fn call_to_release(body: impl FnOnce() -> Result<(), Failure>) -> tn_Status {
    ATTENTION.run(|inside| inside != Inside::Log, || body().map(|()| TN_OK))
}

thread_local! {
    /// The text of this thread's last error, with a NUL at its end.
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

#[cold]
fn failed(failure: Failure) -> tn_Status {
    let Failure { status, mut text } = failure;
    text.push('\0');
    // Fails only while the thread ends.
    let _kept = LAST_ERROR.try_with(|last| *last.borrow_mut() = text);
    status
}

/// The text of this thread's last error; empty without one.
pub(crate) fn last_error() -> tn_Str {
    let text = LAST_ERROR.try_with(|last| {
        let last = last.borrow();
        tn_Str { data: Text(last.as_ptr().cast()), size: last.len().saturating_sub(1) }
    });
    match text {
        Ok(text) if text.size > 0 => text,
        _ => tn_Str::of(""),
    }
}

/// A pointer to something that the call reads. Null, or valid for the call.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

/// A pointer to room for something that the call writes. Null, or valid for the call.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

/// The address of text. Null, or valid for the call.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Text(*const u8);

impl Text {
    pub(crate) const fn of(text: &'static str) -> Self {
        Self(text.as_ptr())
    }

    pub(crate) fn lent(text: &str) -> Self {
        Self(text.as_ptr())
    }
}

/// A description: a structure that begins with a head.
///
/// # Safety
/// It is `repr(C)`, begins with the fields of [`Head`], and each bit pattern is a value.
pub(crate) unsafe trait Desc: Copy {
    /// The name in C.
    const TYPE: &'static str;
    /// The bits that `flags` may have.
    const FLAGS: u32;
}

/// A structure that the call writes: as a description, with a size that the caller sets.
pub(crate) trait Outcome: Desc {}

/// The first fields of each description.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    struct_size: u32,
    flags: u32,
    next: In<tn_Chain>,
}

/// A larger structure than this is a mistake, not a later version.
const LARGEST: usize = 1 << 16;

fn checked<T>(pointer: *const T, what: &str) -> Result<*const T, Failure> {
    if pointer.is_null() || !pointer.is_aligned() {
        let text = match pointer.is_null() {
            true => format!("null, where {what} is needed"),
            false => format!("{pointer:p} is not aligned to {} bytes, as {what} must be", align_of::<T>()),
        };
        return Err(Failure::new(TN_ERROR_POINTER, text));
    }
    Ok(pointer)
}

impl<T> In<T> {
    pub(crate) const NULL: Self = Self(std::ptr::null());
}

impl<T: Desc> In<T> {
    /// The description, after checks of its size, flags and chain.
    pub(crate) fn desc(self) -> Result<T, Failure> {
        let pointer = checked(self.0, T::TYPE)?;
        check_head::<T>(pointer)?;
        // SAFETY: the pointer is valid, and the structure has at least this size, as its head says.
        Ok(unsafe { pointer.read() })
    }

    /// As [`desc`](Self::desc); `None` for null.
    pub(crate) fn desc_or_none(self) -> Result<Option<T>, Failure> {
        if self.0.is_null() { Ok(None) } else { self.desc().map(Some) }
    }
}

fn check_head<T: Desc>(pointer: *const T) -> Result<(), Failure> {
    // SAFETY: a valid pointer to a structure that begins with a head.
    let head = unsafe { pointer.cast::<Head>().read() };
    let (given, known) = (head.struct_size as usize, size_of::<T>());
    // A program built with a later header may leave new fields at zero.
    let is_later = || {
        let more = given.checked_sub(known).filter(|_| given <= LARGEST)?;
        // SAFETY: the head says that the structure is that long.
        let tail = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>().add(known), more) };
        tail.iter().all(|byte| *byte == 0).then_some(())
    };
    if given != known && is_later().is_none() {
        let text = format!("{}: struct_size = {given}: must be sizeof, {known} in this version", T::TYPE);
        return Err(Failure::new(TN_ERROR_STRUCT_SIZE, text));
    }
    let unknown = head.flags & !T::FLAGS;
    if unknown != 0 {
        let text = format!("{}: flags has unknown bits: {unknown:#x}", T::TYPE);
        return Err(Failure::new(TN_ERROR_ENUM, text));
    }
    if !head.next.0.is_null() {
        let text = format!("{}: next: no structure can be added to it in this version", T::TYPE);
        return Err(Failure::new(TN_ERROR_CHAIN, text));
    }
    Ok(())
}

impl<T: Copy> In<T> {
    /// A plain value.
    pub(crate) fn value(self, what: &str) -> Result<T, Failure> {
        let pointer = checked(self.0, what)?;
        // SAFETY: a valid, aligned pointer.
        Ok(unsafe { pointer.read() })
    }

    /// A plain value; `None` for null.
    pub(crate) fn value_or_none(self) -> Result<Option<T>, Failure> {
        if self.0.is_null() { Ok(None) } else { self.value("a value").map(Some) }
    }
}

impl<T> In<T> {
    /// An array. Null is one without elements.
    pub(crate) fn array(&self, count: usize, what: &str) -> Result<&[T], Failure> {
        if count == 0 {
            return Ok(&[]);
        }
        let pointer = checked(self.0, what)?;
        if count > isize::MAX as usize / size_of::<T>().max(1) {
            return Err(Failure::new(
                TN_ERROR_POINTER,
                format!("{what}: {count} elements fit into no memory"),
            ));
        }
        // SAFETY: a valid, aligned pointer to an array of this length, whose elements are not written during the call.
        Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl In<c_void> {
    /// As a pointer to a description, whose type follows from another argument.
    pub(crate) fn of<T: Desc>(self) -> In<T> {
        In(self.0.cast())
    }

    /// Bytes.
    pub(crate) fn bytes(&self, size: usize) -> Result<&[u8], Failure> {
        if size == 0 {
            return Ok(&[]);
        }
        let pointer = checked(self.0.cast::<u8>(), "data")?;
        if isize::try_from(size).is_err() {
            return Err(Failure::new(TN_ERROR_POINTER, format!("data: {size} bytes fit into no memory")));
        }
        // SAFETY: a valid pointer to bytes of this length, which are not written during the call.
        Ok(unsafe { std::slice::from_raw_parts(pointer, size) })
    }
}

impl<T: Copy> Out<T> {
    /// Fails where there is no room for a result, so that nothing is done without one.
    pub(crate) fn check(self, what: &str) -> Result<(), Failure> {
        checked(self.0.cast_const(), what).map(|_| ())
    }

    /// As [`check`](Self::check); null is allowed.
    pub(crate) fn check_if_any(self, what: &str) -> Result<(), Failure> {
        if self.0.is_null() { Ok(()) } else { self.check(what) }
    }

    /// Writes the result; nothing for null.
    pub(crate) fn set(self, value: T) {
        if checked(self.0.cast_const(), "").is_ok() {
            // SAFETY: a valid, aligned pointer.
            unsafe { self.0.write(value) };
        }
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl<T> Out<crate::slot::Handle<T>> {
    /// Writes null, so that a failed call leaves no handle, and fails where there is no room.
    pub(crate) fn clear(self) -> Result<(), Failure> {
        checked(self.0.cast_const(), "room for a handle")?;
        // SAFETY: a valid, aligned pointer; null is a handle without an object.
        unsafe { self.0.cast::<*mut T>().write(std::ptr::null_mut()) };
        Ok(())
    }

    /// As [`clear`](Self::clear); null is allowed.
    pub(crate) fn clear_if_any(self) -> Result<(), Failure> {
        if self.0.is_null() { Ok(()) } else { self.clear() }
    }
}

impl<T: Outcome> Out<T> {
    /// Fails where the structure has another size than the one that is written.
    pub(crate) fn check_head(self) -> Result<(), Failure> {
        let pointer = checked(self.0.cast_const(), T::TYPE)?;
        check_head::<T>(pointer)
    }

    /// The head as the caller has set it.
    pub(crate) fn size(self) -> u32 {
        size_of::<T>() as u32
    }
}

impl Out<c_void> {
    /// Room for bytes, which need not be initialised.
    pub(crate) fn fill(
        self,
        size: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<tn_Status, Failure>,
    ) -> Result<tn_Status, Failure> {
        if size == 0 {
            return fill(&mut []);
        }
        let pointer = checked(self.0.cast::<u8>(), "room for bytes")?.cast_mut();
        if isize::try_from(size).is_err() {
            return Err(Failure::new(TN_ERROR_POINTER, format!("{size} bytes fit into no memory")));
        }
        // SAFETY: a valid pointer to bytes of this length of the caller, which nobody else uses during the call. Zeroes make them
        // initialised.
        let bytes = unsafe {
            pointer.write_bytes(0, size);
            std::slice::from_raw_parts_mut(pointer, size)
        };
        fill(bytes)
    }
}

impl tn_Str {
    /// Text that is never freed.
    pub(crate) const fn of(text: &'static str) -> Self {
        Self { data: Text::of(text), size: text.len() }
    }

    /// Text that stays for as long as the documentation of the call says.
    pub(crate) fn lent(text: &str) -> Self {
        Self { data: Text::lent(text), size: text.len() }
    }

    /// The text, and whether it is never freed.
    fn read(&self) -> Result<(&str, bool), Failure> {
        if self.size == TN_TO_NUL && !self.data.0.is_null() {
            // SAFETY: the caller says that the text ends with NUL.
            let text = unsafe { std::ffi::CStr::from_ptr(self.data.0.cast()) };
            return Ok((utf8(text.to_bytes())?, false));
        }
        let is_static = self.size & TN_STATIC != 0;
        let size = self.size & !TN_STATIC;
        if size == 0 || (self.data.0.is_null() && self.size == TN_TO_NUL) {
            return Ok(("", true));
        }
        let bytes = In(self.data.0.cast::<c_void>());
        let bytes =
            bytes.bytes(size).map_err(|_| Failure::new(TN_ERROR_POINTER, "text: null with a size"))?;
        // SAFETY: the text is valid for the call, in which the result is used.
        Ok((utf8(unsafe { std::slice::from_raw_parts(bytes.as_ptr(), size) })?, is_static))
    }

    /// The text, for the call.
    pub(crate) fn text(&self) -> Result<&str, Failure> {
        self.read().map(|(text, _)| text)
    }

    /// A name: copied, except for a literal.
    pub(crate) fn name(&self) -> Result<Name, Failure> {
        let (text, is_static) = self.read()?;
        if !is_static {
            return Ok(Name::copied(text));
        }
        // SAFETY: with `TN_STATIC` the caller says that the text is never freed or changed; empty text is of this library.
        let text: &'static str = unsafe { std::mem::transmute::<&str, &'static str>(text) };
        Ok(Name::from(text))
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(bytes).map_err(|error| {
        let text = format!("text of {} bytes is not UTF-8 from byte {} on", bytes.len(), error.valid_up_to());
        Failure::new(TN_ERROR_TEXT, text)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "the test is about panics")]

    use super::{Attention, Inside, TN_ERROR_PANIC, TN_OK, last_error};

    #[test]
    fn panics_end_in_the_call_and_only_releases_work_after_that() {
        let attention = Attention::new();
        let plain: fn(Inside) -> bool = |inside| inside == Inside::Nothing;
        let release: fn(Inside) -> bool = |inside| inside != Inside::Log;
        assert_eq!(attention.run(plain, || Ok(TN_OK)), TN_OK);
        assert_eq!(attention.run(plain, || panic!("table {}", 7)), TN_ERROR_PANIC);
        assert!(last_error().text().is_ok_and(|text| text.contains("table 7")));
        assert_eq!(attention.run(plain, || Ok(TN_OK)), TN_ERROR_PANIC);
        assert!(last_error().text().is_ok_and(|text| text.contains("earlier call")));
        assert_eq!(attention.run(release, || Ok(TN_OK)), TN_OK);
    }
}
