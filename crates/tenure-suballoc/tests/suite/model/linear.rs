//! Operations of a `Linear`, and the check of its contract.

use tenure_suballoc::Linear;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Allocate {
        size: u64,
        align: u64,
    },
    /// Requests the rest, plus a number of bytes.
    AllocateRest {
        more: i8,
        align: u64,
    },
    Reset,
}

/// The same in numbers that cannot overflow.
struct Model {
    start: u128,
    cursor: u128,
    end: u128,
}

impl Model {
    fn allocate(&mut self, size: u64, align: u64) -> Option<u64> {
        if size == 0 || align.count_ones() != 1 {
            return None;
        }
        let offset = self.cursor.div_ceil(u128::from(align)) * u128::from(align);
        let cursor = offset + u128::from(size);
        if cursor > self.end {
            return None;
        }
        self.cursor = cursor;
        Some(offset as u64)
    }
}

/// Plays the operations and checks each.
pub(crate) fn play(start: u64, capacity: u64, ops: &[Op]) {
    let mut linear = Linear::with_start(start, capacity);
    let start = u128::from(start);
    let end = (start + u128::from(capacity)).min(u128::from(u64::MAX));
    let mut model = Model { start, cursor: start, end };
    assert_eq!(u128::from(linear.capacity()), end - start);
    for op in ops {
        let before = linear.clone();
        let (size, align) = match *op {
            Op::Reset => {
                linear.reset();
                model.cursor = model.start;
                continue;
            }
            Op::Allocate { size, align } => (size, align),
            Op::AllocateRest { more, align } => {
                (linear.free_bytes().saturating_add_signed(i64::from(more)), align)
            }
        };
        let offset = linear.allocate(size, align);
        assert_eq!(offset, model.allocate(size, align));
        assert_eq!(u128::from(linear.used()), model.cursor - model.start);
        assert_eq!(u128::from(linear.free_bytes()), model.end - model.cursor);
        if offset.is_none() {
            assert_eq!(linear, before);
        }
    }
}
