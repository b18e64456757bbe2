//! A second static library with Rust's standard library in it.

/// The length of a text, by way of a panic that is caught.
#[unsafe(no_mangle)]
pub extern "C" fn second(length: usize) -> usize {
    std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(length)))
        .map_or_else(|panic| panic.downcast::<usize>().map_or(0, |length| *length), |()| 0)
}
