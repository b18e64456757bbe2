//! Size classes; each has a list of its holes.

/// log₂ of the classes per power of two.
const STEPS_LOG2: u32 = 7;
const STEPS: u32 = 1 << STEPS_LOG2;

/// The number of classes, for all `u32` sizes.
pub(super) const CLASSES: u32 = class(u32::MAX) + 1;

/// The class of holes of `units`: exact below 256, then 128 steps per power of two, so that the
/// sizes in one class differ by less than 1/128.
#[inline]
pub(super) const fn class(units: u32) -> u32 {
    let exponent = exponent(units);
    (exponent << STEPS_LOG2) + (units >> exponent)
}

/// The first class whose holes all have at least `units`.
#[inline]
pub(super) const fn class_above(units: u32) -> u32 {
    let step = 1 << exponent(units);
    class(units.saturating_add(step - 1))
}

/// The smallest size in a class.
pub(super) const fn least(class: u32) -> u32 {
    if class < 2 * STEPS {
        return class;
    }
    let exponent = (class >> STEPS_LOG2) - 1;
    (STEPS + (class & (STEPS - 1))) << exponent
}

/// log₂ of the width of the class of `units`.
#[inline]
const fn exponent(units: u32) -> u32 {
    (31 - STEPS_LOG2) - (units | STEPS).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_sizes_up_to_the_next_minimum() {
        for c in 1..CLASSES {
            let first = least(c);
            assert_eq!(class(first), c);
            assert_eq!(class(first - 1), c - 1);
            assert_eq!(class_above(first), c);
            if class(first + 1) == c {
                assert_eq!(class_above(first + 1), (c + 1).min(CLASSES - 1));
            }
        }
    }

    #[test]
    fn a_class_is_at_most_a_128th_wide() {
        for c in 1..CLASSES - 1 {
            let width = least(c + 1) - least(c);
            assert!(width == 1 || width <= least(c) / 128);
        }
    }
}
