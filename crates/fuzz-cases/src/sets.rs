//! Sets of blocks against lists of the live ranges in each.

use arbitrary::Arbitrary;

use crate::bytes::{align, read};
use crate::model::blocks::{Op, play};
use crate::model::sets::{Buddies, OneSetOfLists};

/// Keeps a step of the lists that the model walks cheap.
const MAX_OPS: usize = 2_000;

#[derive(Arbitrary, Debug)]
struct Input {
    is_buddy: bool,
    ops: Vec<RawOp>,
}

#[derive(Arbitrary, Debug)]
enum RawOp {
    AddBlock { capacity: u16 },
    AddAnyBlock { capacity: u64 },
    RemoveBlock { id: u8 },
    Small { size: u8, align_log2: u8 },
    Any { size: u64, align: u64 },
    Largest { more: i8, align_log2: u8 },
    In { nth: u8, size: u16, align_log2: u8 },
    Free { nth: u16 },
    FreeBlock { nth: u8 },
    FreeAgain { nth: u16 },
    FreeForeign,
    Fill { nth: u8 },
    Clear,
    EndFrame { idle_frames: u8 },
    Trim,
}

impl RawOp {
    fn op(&self) -> Op {
        match *self {
            Self::AddBlock { capacity } => Op::AddBlock { capacity: u64::from(capacity) },
            Self::AddAnyBlock { capacity } => Op::AddBlock { capacity },
            Self::RemoveBlock { id } => Op::RemoveBlock { id: id % 50 },
            Self::Small { size, align_log2 } => {
                Op::Allocate { size: u64::from(size), align: align(align_log2, 12) }
            }
            Self::Any { size, align } => Op::Allocate { size, align },
            Self::Largest { more, align_log2 } => Op::AllocateLargest { more, align: align(align_log2, 12) },
            Self::In { nth, size, align_log2 } => {
                Op::AllocateIn { nth: u32::from(nth), size: u64::from(size), align: align(align_log2, 12) }
            }
            Self::Free { nth } => Op::Free { nth: u32::from(nth) },
            Self::FreeBlock { nth } => Op::FreeBlock { nth: u32::from(nth) },
            Self::FreeAgain { nth } => Op::FreeAgain { nth: u32::from(nth) },
            Self::FreeForeign => Op::FreeForeign,
            Self::Fill { nth } => Op::Fill { nth: u32::from(nth) },
            Self::Clear => Op::Clear,
            Self::EndFrame { idle_frames } => Op::EndFrame { idle_frames: idle_frames % 20 },
            Self::Trim => Op::Trim,
        }
    }
}

pub(crate) fn sets(data: &[u8]) {
    let Some(input) = read::<Input>(data) else {
        return;
    };
    let ops: Vec<Op> = input.ops.iter().take(MAX_OPS).map(RawOp::op).collect();
    if input.is_buddy {
        play(&Buddies(16), &ops);
    } else {
        play(&OneSetOfLists(16), &ops);
    }
}
