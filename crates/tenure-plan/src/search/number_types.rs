//! The number types of the search: the smallest that fits, for vector instructions.

use core::ops::{Add, Sub};

/// A signed number. A vector register holds eight of 16 bits, four of 32, or two of 64.
pub(super) trait Unit: Copy + Ord + Send + Default + Add<Output = Self> + Sub<Output = Self> {
    /// Greater than all capacities and numbers of sections; twice this value is still in range.
    const FAR: Self;

    /// The smaller of `units` and [`FAR`](Self::FAR).
    fn of(units: u64) -> Self;

    fn units(self) -> u64;

    fn index(self) -> usize {
        self.units() as usize
    }

    fn align_up(self, align: Self) -> Self;

    fn align_down(self, align: Self) -> Self;
}

macro_rules! unit {
    ($number:ty) => {
        impl Unit for $number {
            const FAR: Self = <$number>::MAX / 2;

            fn of(units: u64) -> Self {
                Self::try_from(units).unwrap_or(Self::FAR).min(Self::FAR)
            }

            fn units(self) -> u64 {
                self as u64
            }

            fn align_up(self, align: Self) -> Self {
                (self + (align - 1)) & !(align - 1)
            }

            fn align_down(self, align: Self) -> Self {
                self & !(align - 1)
            }
        }
    };
}

unit!(i16);
unit!(i32);
unit!(i64);
