//! The ring against a list of used ranges.

use arbitrary::Arbitrary;

use crate::bytes::{align, read};
use crate::model::ring::{Op, play};

/// Keeps a step of the list that the model walks cheap.
const MAX_OPS: usize = 2_000;

#[derive(Arbitrary, Debug)]
struct Input {
    capacity: u64,
    small: bool,
    ops: Vec<RawOp>,
}

#[derive(Arbitrary, Debug)]
enum RawOp {
    Small { size: u8, align_log2: u8 },
    Any { size: u64, align: u64 },
    Largest { more: i8, align_log2: u8 },
    Close,
    Clear,
    Release { frames: u8 },
}

impl RawOp {
    fn op(&self) -> Op {
        match *self {
            Self::Small { size, align_log2 } => {
                Op::Allocate { size: u64::from(size), align: align(align_log2, 12) }
            }
            Self::Any { size, align } => Op::Allocate { size, align },
            Self::Largest { more, align_log2 } => Op::AllocateLargest { more, align: align(align_log2, 12) },
            Self::Close => Op::Close,
            Self::Clear => Op::Clear,
            Self::Release { frames } => Op::Release { frames: frames % 4 },
        }
    }
}

/// Operations that bytes say.
pub(crate) fn ring(data: &[u8]) {
    let Some(input) = read::<Input>(data) else {
        return;
    };
    let capacity = if input.small { input.capacity % 5_000 } else { input.capacity };
    let ops: Vec<Op> = input.ops.iter().take(MAX_OPS).map(RawOp::op).collect();
    play(capacity, &ops);
}
