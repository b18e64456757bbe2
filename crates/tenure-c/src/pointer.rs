//! Everything that follows a pointer of the caller.
//!
//! The types [`In`], [`Out`] and [`Text`] are parameters and fields, and nothing in this crate makes one from an address: each
//! value came from a caller in C, who has read in the header that pointers are null or valid for the call.

use std::ffi::c_void;

use tenure_core::Name;

use crate::status::*;

/// As `tn_Str.size`: the text ends with NUL.
pub const TN_TO_NUL: usize = usize::MAX;
/// A bit of `tn_Str.size`: the text is never changed or freed.
pub const TN_STATIC: usize = 1 << 63;

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

    /// The text of this size, for the call; also `TN_TO_NUL`, and with `TN_STATIC`.
    #[inline]
    pub(crate) fn text(&self, size: usize) -> Result<&str, Failure> {
        if size == TN_TO_NUL {
            if self.0.is_null() {
                return Ok("");
            }
            // SAFETY: the caller says that the text ends with NUL.
            let text = unsafe { std::ffi::CStr::from_ptr(self.0.cast()) };
            return utf8(text.to_bytes());
        }
        self.sized(size & !TN_STATIC)
    }

    /// As [`text`](Self::text), for a number of bytes.
    #[inline(always)]
    fn sized(&self, size: usize) -> Result<&str, Failure> {
        if size == 0 {
            return Ok("");
        }
        let bytes = In(self.0.cast::<c_void>());
        let bytes =
            bytes.bytes(size).map_err(|_| Failure::new(TN_ERROR_POINTER, "text: null with a size"))?;
        // SAFETY: the text is valid for the call, in which the result is used.
        utf8(unsafe { std::slice::from_raw_parts(bytes.as_ptr(), size) })
    }

    /// A name: copied, except for a literal.
    #[inline]
    pub(crate) fn name(&self, size: usize) -> Result<Name, Failure> {
        self.literal(size).map_or_else(|| self.copied_name(size), |text| Ok(Name::from(text)))
    }

    /// The text of a literal, or of no text; `None` for other text, also for invalid one.
    #[inline(always)]
    pub(crate) fn literal(&self, size: usize) -> Option<&'static str> {
        if size & TN_STATIC == 0 {
            return (size == 0).then_some("");
        }
        if size == TN_TO_NUL {
            return None;
        }
        let text = self.sized(size & !TN_STATIC).ok()?;
        // SAFETY: with `TN_STATIC` the caller says that the text is never freed or changed; empty text is of this library.
        Some(unsafe { std::mem::transmute::<&str, &'static str>(text) })
    }

    #[inline(never)]
    fn copied_name(&self, size: usize) -> Result<Name, Failure> {
        let text = self.text(size)?;
        Ok(if text.is_empty() { Name::default() } else { Name::copied(text) })
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
    next: In<c_void>,
}

/// A larger structure than this is a mistake, not a later version.
const LARGEST: usize = 1 << 16;

#[inline]
fn checked<T>(pointer: *const T, what: &str) -> Result<*const T, Failure> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(no_pointer(pointer, what));
    }
    Ok(pointer)
}

#[cold]
fn no_pointer<T>(pointer: *const T, what: &str) -> Failure {
    let text = match pointer.is_null() {
        true => format!("null, where {what} is needed"),
        false => format!("{pointer:p} is not aligned to {} bytes, as {what} must be", align_of::<T>()),
    };
    Failure::new(TN_ERROR_POINTER, text)
}

impl<T> In<T> {
    pub(crate) const NULL: Self = Self(std::ptr::null());

    /// An array of this library, for a callback.
    pub(crate) fn lent(values: &[T]) -> Self {
        Self(values.as_ptr())
    }
}

impl<T: Desc> In<T> {
    /// The description, after checks of its size, flags and chain.
    #[inline]
    pub(crate) fn desc(&self) -> Result<&T, Failure> {
        let pointer = checked(self.0, T::TYPE)?;
        check_head::<T>(pointer)?;
        // SAFETY: the pointer is valid, the structure has at least this size, as its head says, and nobody writes it during the
        // call.
        Ok(unsafe { &*pointer })
    }

    /// As [`desc`](Self::desc); `None` for null.
    pub(crate) fn desc_or_none(&self) -> Result<Option<&T>, Failure> {
        if self.0.is_null() { Ok(None) } else { self.desc().map(Some) }
    }
}

#[inline]
fn check_head<T: Desc>(pointer: *const T) -> Result<(), Failure> {
    // SAFETY: a valid pointer to a structure that begins with a head, which nobody writes during the call.
    let head = unsafe { &*pointer.cast::<Head>() };
    let is_plain = head.struct_size as usize == size_of::<T>() && head.flags & !T::FLAGS == 0;
    if is_plain && head.next.0.is_null() { Ok(()) } else { check_other_head(pointer, *head) }
}

/// Accepts the head of a later version with the meaning of this one.
#[cold]
fn check_other_head<T: Desc>(pointer: *const T, head: Head) -> Result<(), Failure> {
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
        self.check_array(count, what)?;
        if count == 0 {
            return Ok(&[]);
        }
        // SAFETY: a valid, aligned pointer to an array of this length, whose elements are not written during the call.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }

    fn check_array(self, count: usize, what: &str) -> Result<(), Failure> {
        if count == 0 {
            return Ok(());
        }
        checked(self.0, what)?;
        if count > isize::MAX as usize / size_of::<T>().max(1) {
            return Err(Failure::new(
                TN_ERROR_POINTER,
                format!("{what}: {count} elements fit into no memory"),
            ));
        }
        Ok(())
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl In<c_void> {
    /// Bytes.
    #[inline(always)]
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

    /// Fails where there is no room for this number of results.
    pub(crate) fn check_array(self, count: usize, what: &str) -> Result<(), Failure> {
        In(self.0.cast_const()).check_array(count, what)
    }

    /// Writes results: at most the number that [`check_array`](Self::check_array) was told.
    pub(crate) fn set_array(self, values: &[T]) {
        if self.check_array(values.len(), "").is_ok() && !values.is_empty() {
            // SAFETY: a valid, aligned pointer to room of the caller for these values.
            unsafe { self.0.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        }
    }

    /// Writes the result; nothing for null.
    #[inline]
    pub(crate) fn set(self, value: T) {
        if !self.0.is_null() && self.0.is_aligned() {
            // SAFETY: a valid, aligned pointer.
            unsafe { self.0.write(value) };
        }
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
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

impl Out<u32> {
    /// Words that the call may change.
    pub(crate) fn edit<R>(
        self,
        count: usize,
        what: &str,
        edit: impl FnOnce(&mut [u32]) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        // The same checks as of an array that is read.
        In(self.0.cast_const()).array(count, what)?;
        if count == 0 {
            return edit(&mut []);
        }
        // SAFETY: a valid, aligned pointer to words of this number of the caller, which nobody else uses during the call.
        edit(unsafe { std::slice::from_raw_parts_mut(self.0, count) })
    }
}

impl Out<c_void> {
    /// Room for bytes, which need not be initialised.
    pub(crate) fn fill(
        self,
        size: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
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

#[inline(always)]
fn utf8(bytes: &[u8]) -> Result<&str, Failure> {
    // Names are short, and almost always ASCII.
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last))
            if bytes.len() <= 8
                && (u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last)) & 0x8080_8080 == 0 =>
        {
            // SAFETY: ASCII is UTF-8.
            Ok(unsafe { std::str::from_utf8_unchecked(bytes) })
        }
        _ => any_utf8(bytes),
    }
}

#[inline(never)]
fn any_utf8(bytes: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(bytes).map_err(|error| {
        let text = format!("text of {} bytes is not UTF-8 from byte {} on", bytes.len(), error.valid_up_to());
        Failure::new(TN_ERROR_TEXT, text)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

    use super::{TN_STATIC, TN_TO_NUL, Text};

    #[test]
    fn each_byte_of_a_name_is_checked() {
        for length in 1..20 {
            let bytes = vec![b'a'; length];
            assert_eq!(Text(bytes.as_ptr()).name(length).unwrap().as_str().as_bytes(), bytes);
            for wrong in 0..length {
                let mut bytes = bytes.clone();
                bytes[wrong] = 0xff;
                let text = Text(bytes.as_ptr());
                assert!(text.name(length).is_err() && text.name(length | TN_STATIC).is_err());
            }
        }
    }

    #[test]
    fn literals_are_not_copied() {
        for literal in ["a", "rock", "grüne Wiese", "a name of many bytes"] {
            let name = Text::of(literal).name(literal.len() | TN_STATIC).unwrap();
            assert_eq!(name.as_static().map(str::as_ptr), Some(literal.as_ptr()));
            assert_eq!(name, literal);
            let copied = Text::of(literal).name(literal.len()).unwrap();
            assert_eq!((copied.as_static(), copied.as_str()), (None, literal));
        }
        let text = c"rock";
        assert_eq!(Text(text.as_ptr().cast()).name(TN_TO_NUL).unwrap(), "rock");
        assert!(Text(std::ptr::null()).name(4 | TN_STATIC).is_err());
    }
}
