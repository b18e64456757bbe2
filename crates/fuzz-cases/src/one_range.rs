//! The suballocators of one range against a list of live ranges.

use arbitrary::Arbitrary;

use crate::bytes::{align, read};
use crate::model::buddy::BuddyRules;
use crate::model::general::GeneralRules;
use crate::model::one_range::{Op, Rules, play};

/// Keeps a step of the list that the model walks cheap.
const MAX_OPS: usize = 4_000;

#[derive(Arbitrary, Debug)]
struct Input {
    capacity: u32,
    granule_log2: u8,
    ops: Vec<RawOp>,
}

#[derive(Arbitrary, Debug)]
enum RawOp {
    Small { size: u8, align_log2: u8 },
    Medium { size: u16, align_log2: u8 },
    Any { size: u64, align: u64 },
    Largest { more: i8, align_log2: u8 },
    Free { nth: u16 },
    FreeAgain { nth: u16 },
    FreeForeign,
    Clear,
}

impl RawOp {
    fn op(&self) -> Op {
        match *self {
            Self::Small { size, align_log2 } => {
                Op::Allocate { size: u64::from(size), align: align(align_log2, 16) }
            }
            Self::Medium { size, align_log2 } => {
                Op::Allocate { size: u64::from(size), align: align(align_log2, 16) }
            }
            Self::Any { size, align } => Op::Allocate { size, align },
            Self::Largest { more, align_log2 } => Op::AllocateLargest { more, align: align(align_log2, 16) },
            Self::Free { nth } => Op::Free { nth: u32::from(nth) },
            Self::FreeAgain { nth } => Op::FreeAgain { nth: u32::from(nth) },
            Self::FreeForeign => Op::FreeForeign,
            Self::Clear => Op::Clear,
        }
    }
}

/// Plays the operations encoded in bytes, with rules for a capacity and a granule.
fn play_bytes<R: Rules>(data: &[u8], rules: impl FnOnce(u64, u64) -> R) {
    let Some(input) = read::<Input>(data) else {
        return;
    };
    let granule = 1 << (input.granule_log2 % 10);
    let capacity = u64::from(input.capacity % (1 << 20)).max(granule);
    let ops: Vec<Op> = input.ops.iter().take(MAX_OPS).map(RawOp::op).collect();
    play(&rules(capacity, granule), &ops);
}

pub(crate) fn general(data: &[u8]) {
    play_bytes(data, |capacity, granule| GeneralRules { capacity, granule });
}

pub(crate) fn buddy(data: &[u8]) {
    play_bytes(data, |capacity, min_block| BuddyRules { capacity, min_block });
}
