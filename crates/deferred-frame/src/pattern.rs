//! The written bytes, which identify the frame, the pass, the resource and the part.

use tenure::{Format, transient::TransientDesc};

/// The origin of written bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The frame.
    pub(crate) frame: u64,
    /// The pass, by its index.
    pub(crate) pass: usize,
    /// The resource, by its index.
    pub(crate) resource: usize,
    /// The number of the part.
    pub(crate) part: usize,
}

impl Mark {
    /// Fills a part of a resource of this description.
    pub(crate) fn fill(self, desc: &TransientDesc, out: &mut [u8]) {
        let is_depth = matches!(desc, TransientDesc::Texture(desc) if desc.info.format == Format::D32Float);
        let place = (self.pass as u64) << 40 | (self.resource as u64) << 16 | self.part as u64;
        let mut seed = mix(self.frame ^ mix(place));
        for word in out.chunks_mut(4) {
            seed = mix(seed);
            let mut bits = (seed >> 32) as u32;
            if is_depth {
                // Devices may change the bits of depths outside 0 to 1. These values are from 0.5 to 1.
                bits = 0x3f00_0000 | (bits & 0x007f_ffff);
            }
            for (byte, value) in word.iter_mut().zip(bits.to_le_bytes()) {
                *byte = value;
            }
        }
    }
}

/// A hash of a number: the finaliser of SplitMix64.
const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A digest of bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u64);

impl Digest {
    /// The digest of no bytes.
    pub(crate) const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Adds bytes, by FNV-1a.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }
}
