//! The linear suballocator against numbers that cannot overflow, and the slots against a list of live slots.

use arbitrary::Arbitrary;

use crate::bytes::{align, read};
use crate::model::{linear, slots};

/// Keeps a step of the list that the model walks cheap.
const MAX_OPS: usize = 4_000;

#[derive(Arbitrary, Debug)]
struct LinearInput {
    start: u64,
    capacity: u64,
    ops: Vec<LinearOp>,
}

#[derive(Arbitrary, Debug)]
enum LinearOp {
    Small { size: u8, align_log2: u8 },
    Any { size: u64, align: u64 },
    Rest { more: i8, align_log2: u8 },
    Reset,
}

impl LinearOp {
    fn op(&self) -> linear::Op {
        match *self {
            Self::Small { size, align_log2 } => {
                linear::Op::Allocate { size: u64::from(size), align: align(align_log2, 12) }
            }
            Self::Any { size, align } => linear::Op::Allocate { size, align },
            Self::Rest { more, align_log2 } => {
                linear::Op::AllocateRest { more, align: align(align_log2, 12) }
            }
            Self::Reset => linear::Op::Reset,
        }
    }
}

pub(crate) fn linear(data: &[u8]) {
    let Some(input) = read::<LinearInput>(data) else {
        return;
    };
    let ops: Vec<_> = input.ops.iter().take(MAX_OPS).map(LinearOp::op).collect();
    linear::play(input.start, input.capacity, &ops);
}

#[derive(Arbitrary, Debug)]
struct SlotsInput {
    capacity: u16,
    ops: Vec<SlotsOp>,
}

#[derive(Arbitrary, Debug)]
enum SlotsOp {
    Few { count: u8 },
    Any { count: u32 },
    Largest { more: i8 },
    Free { nth: u16 },
    FreeAgain { nth: u16 },
    Clear,
}

impl SlotsOp {
    fn op(&self) -> slots::Op {
        match *self {
            Self::Few { count } => slots::Op::Allocate { count: u32::from(count) },
            Self::Any { count } => slots::Op::Allocate { count },
            Self::Largest { more } => slots::Op::AllocateLargest { more },
            Self::Free { nth } => slots::Op::Free { nth: u32::from(nth) },
            Self::FreeAgain { nth } => slots::Op::FreeAgain { nth: u32::from(nth) },
            Self::Clear => slots::Op::Clear,
        }
    }
}

pub(crate) fn slots(data: &[u8]) {
    let Some(input) = read::<SlotsInput>(data) else {
        return;
    };
    let ops: Vec<_> = input.ops.iter().take(MAX_OPS).map(SlotsOp::op).collect();
    slots::play(u32::from(input.capacity).max(1), &ops, 1);
}
