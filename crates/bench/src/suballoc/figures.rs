//! The figures of one peer on one trace.

use std::borrow::Cow;

use super::metadata::Metadata;
use super::peers::{Contender, Space};
use super::singles::{MAX_ROUNDS, Singles};
use super::trace::Trace;
use crate::timing::{Percentiles, median};

/// A slow peer is measured on this part of the calls, but on this many at least.
const SLOW_PART: usize = 25;
const SLOW_CALLS: usize = 10_000;

/// The measured values; `None` where a value is not applicable or could not be measured.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// Nanoseconds.
    pub(super) call: Option<f64>,
    pub(super) allocations: Option<Percentiles>,
    /// Allocations that failed, in a range that is ample.
    pub(super) failures: Option<f64>,
    /// Bytes of memory over the peak of live bytes; of blocks only.
    pub(super) reserved_peak: Option<f64>,
    pub(super) reserved_mean: Option<f64>,
    /// Blocks at most.
    pub(super) blocks: Option<f64>,
    /// Bytes of the allocator's own.
    pub(super) metadata: Option<Metadata>,
}

/// The part of a trace that a peer is measured on.
pub(super) fn length_for<'a>(peer: &Contender, trace: &'a Trace) -> Cow<'a, Trace> {
    let calls = (trace.calls / SLOW_PART).max(SLOW_CALLS);
    if peer.is_slow && calls < trace.calls { Cow::Owned(trace.cut(calls)) } else { Cow::Borrowed(trace) }
}

/// The figures of each peer. Peers alternate, so that other load on the machine affects all of them alike.
pub(super) fn measure(peers: &[Contender], trace: &Trace, rounds: u32) -> Vec<Figures> {
    let mut figures = times(peers, trace, rounds);
    for (peer, figures) in peers.iter().zip(&mut figures) {
        if (peer.can_replay)(trace) && peer.space != Space::None {
            add_memory(peer, &length_for(peer, trace), figures);
        }
    }
    figures
}

fn times(peers: &[Contender], trace: &Trace, rounds: u32) -> Vec<Figures> {
    let mut calls = vec![Vec::new(); peers.len()];
    let mut failures = vec![Some(0); peers.len()];
    let mut singles: Vec<_> = peers.iter().map(|_| Singles::new()).collect();
    for round in 0..rounds {
        for (at, peer) in peers.iter().enumerate() {
            let is_enough = failures[at].is_none() || (peer.is_slow && round > 0);
            if is_enough || !(peer.can_replay)(trace) {
                continue;
            }
            let trace = length_for(peer, trace);
            let timed = (peer.time)(&trace, trace.ample_bytes);
            calls[at].push(timed.time.as_secs_f64() * 1e9 / trace.calls as f64);
            failures[at] = timed.is_done.then_some(timed.failures);
            if round < MAX_ROUNDS && failures[at] == Some(0) {
                (peer.singles)(&trace, trace.ample_bytes, &mut singles[at]);
            }
        }
    }
    let each = calls.into_iter().zip(failures).zip(singles);
    each.map(|((calls, failures), singles)| of_times(calls, failures, &singles)).collect()
}

fn of_times(calls: Vec<f64>, failures: Option<usize>, singles: &Singles) -> Figures {
    let call = median(calls);
    Figures {
        call: call.filter(|_| failures == Some(0)),
        failures: call.and(failures).map(|failures| failures as f64),
        allocations: singles.spread(),
        ..Figures::default()
    }
}

fn add_memory(peer: &Contender, trace: &Trace, figures: &mut Figures) {
    if figures.failures != Some(0.0) {
        return;
    }
    if peer.space == Space::Blocks && !peer.is_slow {
        let reserved = (peer.reserved)(trace);
        let over_live = |bytes: f64| Some(bytes / trace.peak_bytes as f64);
        figures.reserved_peak = over_live(reserved.peak as f64);
        figures.reserved_mean = over_live(reserved.mean);
        figures.blocks = Some((reserved.peak / trace.block_bytes) as f64);
    }
    if peer.is_counted {
        figures.metadata = Some((peer.metadata)(trace, trace.ample_bytes));
    }
}
