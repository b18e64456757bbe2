//! Nothing that the layer does for itself may disturb the program.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a part of the layer; a panic in it ends the part, and does not reach the program, for which it would be an abort.
pub(crate) fn quietly<T>(part: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(part)).ok()
}

#[cfg(test)]
mod tests {
    use super::quietly;

    #[test]
    fn a_panic_ends_here() {
        assert_eq!(quietly(|| 7), Some(7));
        assert_eq!(quietly(|| -> u32 { panic!("a fault of the layer") }), None);
    }
}
