//! Decoding of bytes to the inputs of cases.

use arbitrary::{Arbitrary, Unstructured};

/// All of the bytes as an input; `None` where they are none.
pub(crate) fn read<'a, I: Arbitrary<'a>>(data: &'a [u8]) -> Option<I> {
    I::arbitrary_take_rest(Unstructured::new(data)).ok()
}

/// An alignment: a power of two whose exponent is less than `exponents`.
pub(crate) const fn align(log2: u8, exponents: u8) -> u64 {
    1 << (log2 % exponents)
}
