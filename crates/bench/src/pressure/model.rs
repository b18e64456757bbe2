//! A card that pages, for the baselines: a model over the same trace, by the rules of the simulated device.
//! Each object has its own block, so that the baselines page in only used bytes.
//!
//! After the resident bytes have exceeded the budget for some submissions, during which a program can react to
//! a lower budget, the operating system demotes the least recently used blocks that no submission in flight
//! uses. A use of such a block brings it back if there is room beside the blocks in flight, and reads it
//! remotely otherwise.

use tenure_sim::Paging;

use super::trace::{FRAME_NS, Flight, LAG, Outcome, Trace};

/// The link, and the cost of moves.
pub(super) const PAGING: Paging = Paging::PCIE4_X16;

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    is_live: bool,
    /// The player wants it resident.
    is_claimed: bool,
    /// It is in local memory.
    is_in: bool,
    /// Something has used it since it was moved in.
    is_used: bool,
    /// The submission that used it last.
    last_use: u64,
}

/// The card. Objects in system memory are always resident.
pub(super) struct Model<'a> {
    pub(super) trace: &'a Trace,
    pub(super) flight: Flight,
    pub(super) outcome: Outcome,
    pub(super) budget: u64,
    blocks: Vec<Block>,
    /// Bytes that are in local memory.
    resident: u64,
    /// Bytes that the player wants resident.
    pub(super) claimed: u64,
    submissions: u64,
    /// The submission at which more became resident than is granted.
    over_since: Option<u64>,
}

impl<'a> Model<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self {
            trace,
            flight: Flight::new(trace, LAG),
            outcome: Outcome::default(),
            budget: trace.budget,
            blocks: vec![Block::default(); trace.things.len()],
            resident: 0,
            claimed: 0,
            submissions: 0,
            over_since: None,
        }
    }

    pub(super) fn is_claimed(&self, thing: usize) -> bool {
        self.blocks[thing].is_claimed
    }

    fn bytes(&self, thing: usize) -> u64 {
        self.trace.things[thing].bytes
    }

    /// Bytes by which the player exceeds the budget with `more` bytes.
    pub(super) fn excess(&self, more: u64) -> u64 {
        if self.budget == 0 { 0 } else { (self.claimed + more).saturating_sub(self.budget) }
    }

    pub(super) fn create(&mut self, thing: usize) {
        if self.trace.is_local(thing) {
            let last_use = self.submissions;
            let block = Block { is_live: true, is_claimed: true, is_in: true, is_used: true, last_use };
            self.blocks[thing] = block;
            self.resident += self.bytes(thing);
            self.claimed += self.bytes(thing);
            self.demote_excess();
        }
    }

    pub(super) fn drop(&mut self, thing: usize) {
        let Block { is_in, is_claimed, .. } = std::mem::take(&mut self.blocks[thing]);
        self.resident -= if is_in { self.bytes(thing) } else { 0 };
        self.claimed -= if is_claimed { self.bytes(thing) } else { 0 };
    }

    /// The player makes a block resident.
    pub(super) fn page_in(&mut self, thing: usize) {
        if !self.blocks[thing].is_live || self.blocks[thing].is_claimed {
            return;
        }
        self.blocks[thing].is_claimed = true;
        self.claimed += self.bytes(thing);
        self.move_in(thing, false);
        self.demote_excess();
    }

    /// The player evicts a block, which no submission in flight uses.
    pub(super) fn evict(&mut self, thing: usize) {
        assert!(!self.flight.uses(thing), "a player evicts a block in use");
        if std::mem::take(&mut self.blocks[thing].is_claimed) {
            self.claimed -= self.bytes(thing);
            if self.blocks[thing].is_in {
                self.move_out(thing);
            }
        }
    }

    /// A submission: blocks outside of local memory are brought back, or read where they are.
    pub(super) fn submit(&mut self, uses: &[usize]) {
        self.submissions += 1;
        self.flight.submit(self.trace, uses);
        for thing in uses.iter().copied().filter(|thing| self.trace.is_local(*thing)) {
            let bytes = self.bytes(thing);
            if !self.blocks[thing].is_in {
                if self.blocks[thing].is_claimed && self.demote(bytes) {
                    self.move_in(thing, true);
                } else {
                    self.outcome.bytes_in += bytes;
                    self.outcome.stalled += transfer(bytes);
                }
            }
            self.blocks[thing].is_used = true;
            self.blocks[thing].last_use = self.submissions;
        }
        self.demote_excess();
        self.note_over(PAGING.per_submission);
    }

    pub(super) fn end_frame(&mut self, submissions: usize) {
        let spent = PAGING.per_submission * submissions as u64;
        self.note_over(FRAME_NS.saturating_sub(spent));
    }

    fn note_over(&mut self, nanoseconds: u64) {
        self.outcome.note_over(self.claimed, self.flight.bytes(), self.budget, nanoseconds);
    }

    fn move_in(&mut self, thing: usize, is_used: bool) {
        let bytes = self.bytes(thing);
        self.outcome.bytes_in += bytes;
        self.outcome.stalled += u128::from(PAGING.per_block) + transfer(bytes);
        self.resident += bytes;
        let block = &mut self.blocks[thing];
        (block.is_in, block.is_used, block.last_use) = (true, is_used, self.submissions);
    }

    fn move_out(&mut self, thing: usize) {
        let bytes = self.bytes(thing);
        self.outcome.stalled += u128::from(PAGING.per_block) + transfer(bytes);
        self.resident -= bytes;
        let block = &mut self.blocks[thing];
        self.outcome.unused += if block.is_used { 0 } else { bytes };
        (block.is_in, block.is_used) = (false, true);
    }

    /// The operating system demotes memory above the budget, after its delay.
    pub(super) fn demote_excess(&mut self) {
        if self.budget == 0 || self.resident <= self.budget {
            self.over_since = None;
            return;
        }
        let since = *self.over_since.get_or_insert(self.submissions);
        if self.submissions - since >= self.trace.demotion_delay {
            self.demote(0);
        }
    }

    /// The operating system makes room for `more` bytes beside the blocks in flight. False, and nothing moves, where
    /// they do not fit.
    fn demote(&mut self, more: u64) -> bool {
        if self.budget == 0 || self.resident + more <= self.budget {
            return true;
        }
        let is_idle = |thing: &usize| self.blocks[*thing].is_in && !self.flight.uses(*thing);
        let mut idle: Vec<_> = (0..self.blocks.len()).filter(is_idle).collect();
        let movable: u64 = idle.iter().map(|thing| self.bytes(*thing)).sum();
        if more > 0 && self.resident - movable + more > self.budget {
            return false;
        }
        idle.sort_by_key(|thing| (self.blocks[*thing].last_use, *thing));
        for thing in idle {
            if self.resident + more <= self.budget {
                break;
            }
            self.move_out(thing);
        }
        true
    }
}

/// Nanoseconds of a transfer over the link.
fn transfer(bytes: u64) -> u128 {
    u128::from(bytes) * 1_000_000_000 / u128::from(PAGING.link)
}
