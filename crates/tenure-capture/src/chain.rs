//! Reading what a program hands over: chains of structures, lists, strings.

use std::ffi::{CStr, c_char, c_void};

use ash::vk;

/// The structures of a chain.
///
/// # Safety
///
/// `first` is null or the first structure of a chain that lives as long as `'a`.
unsafe fn chain<'a>(first: *const c_void) -> impl Iterator<Item = &'a vk::BaseInStructure<'a>> {
    // SAFETY: each structure begins with its type and the next one.
    std::iter::successors(unsafe { first.cast::<vk::BaseInStructure<'a>>().as_ref() }, |it| unsafe {
        it.p_next.as_ref()
    })
}

/// The structure of a type in a chain, which is only read.
///
/// # Safety
///
/// `first` is null or the first structure of a chain that lives as long as `'a`.
pub(crate) unsafe fn find<'a, T: vk::TaggedStructure + 'a>(first: *const c_void) -> Option<&'a T> {
    // SAFETY: the type says which structure it is.
    unsafe {
        let found = chain(first).find(|it| it.s_type == T::STRUCTURE_TYPE)?;
        Some(&*std::ptr::from_ref(found).cast::<T>())
    }
}

/// The structure of a type in a chain of answers.
///
/// # Safety
///
/// `first` is null or the first structure of a chain that the program lets this call write, for as long as `'a`.
pub(crate) unsafe fn find_answer<'a, T: vk::TaggedStructure + 'a>(first: *mut c_void) -> Option<&'a mut T> {
    let mut next = first.cast::<vk::BaseOutStructure<'a>>();
    // SAFETY: each structure begins with its type and the next one, and the type says which structure it is.
    unsafe {
        while !next.is_null() {
            if (*next).s_type == T::STRUCTURE_TYPE {
                return next.cast::<T>().as_mut();
            }
            next = (*next).p_next;
        }
    }
    None
}

/// A list that a program hands over as an address and a count.
///
/// # Safety
///
/// `first` is the address of that many elements, or null, and they live as long as `'a`.
pub(crate) unsafe fn list<'a, T>(first: *const T, count: u32) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(first, count as usize) }
}

/// The longest name that is kept.
const NAME: usize = 256;

/// A name of the program's for a line of the log.
///
/// # Safety
///
/// `name` is null or a string.
pub(crate) unsafe fn name(name: *const c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    in_line(unsafe { CStr::from_ptr(name) })
}

/// A name for a line of the log: without control characters, and shortened.
pub(crate) fn in_line(name: &CStr) -> String {
    let text = name.to_string_lossy();
    text.chars().take(NAME).map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}
