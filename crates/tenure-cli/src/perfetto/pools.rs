//! The counters of the manager's pools.

use std::io::{self, Write};

use tenure::stats::PoolStats;

use super::proto::CounterUnit;
use super::writer::{PacketWriter, Track};

/// The counters of each pool, in the order of first use.
#[derive(Default)]
pub(super) struct PoolCounters(Vec<PoolCounter>);

struct PoolCounter {
    /// Requested bytes of live allocations, allocated bytes, and bytes taken from the driver.
    tracks: [Track; 3],
    /// The last value on each track.
    shown: [Option<u64>; 3],
}

impl PoolCounters {
    /// Writes the changed values; adds tracks for a new pool.
    pub(super) fn show<W: Write>(
        &mut self,
        writer: &mut PacketWriter<W>,
        process: Track,
        time: u64,
        pools: &[PoolStats],
    ) -> io::Result<()> {
        for (index, pool) in pools.iter().enumerate() {
            if index >= self.0.len() {
                self.0.push(PoolCounter::new(writer, process, index, pool)?);
            }
            let Some(counter) = self.0.get_mut(index) else { continue };
            let values = [pool.requested, pool.used, pool.reserved];
            for ((track, shown), value) in counter.tracks.iter().zip(&mut counter.shown).zip(values) {
                if *shown != Some(value) {
                    *shown = Some(value);
                    writer.count(time, *track, value)?;
                }
            }
        }
        Ok(())
    }
}

impl PoolCounter {
    fn new<W: Write>(
        writer: &mut PacketWriter<W>,
        process: Track,
        index: usize,
        pool: &PoolStats,
    ) -> io::Result<Self> {
        let (kind, memory) = (pool.kind.as_str(), pool.memory_type);
        let mut track = |what: &str| {
            let name = format!("pool {index} ({kind}, memory type {memory}): {what}");
            writer.counter(process, &name, CounterUnit::SizeBytes)
        };
        let tracks = [track("live")?, track("given out")?, track("reserved")?];
        Ok(Self { tracks, shown: [None; 3] })
    }
}
