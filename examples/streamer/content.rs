//! The bytes of objects: a function of the object's number and the offset, so they need not be stored.

/// A random number of an object.
pub(crate) const fn random(id: u64, salt: u64) -> u64 {
    // The finalizer of SplitMix64.
    let mut value = (id << 8 | salt).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}

/// Eight bytes of an object.
const fn word(seed: u64, index: u64) -> u64 {
    let value = seed.wrapping_add(index).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    value ^ value >> 32
}

/// The content of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content(u64);

impl Content {
    pub(crate) const fn of(id: usize) -> Self {
        Self(random(id as u64, 2))
    }

    /// Writes the first `bytes` bytes to `out`.
    pub(crate) fn fill(self, bytes: u64, out: &mut Vec<u8>) {
        out.clear();
        out.extend((0..bytes.div_ceil(8)).flat_map(|index| word(self.0, index).to_le_bytes()));
        out.truncate(usize::try_from(bytes).unwrap_or_default());
    }

    /// Some bytes from an offset on.
    pub(crate) fn bytes(self, offset: u64, size: u64) -> impl Iterator<Item = u8> {
        (offset..offset + size).map(move |at| word(self.0, at / 8).to_le_bytes()[(at % 8) as usize])
    }
}
