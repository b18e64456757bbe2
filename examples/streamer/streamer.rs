//! The loaded objects, and the rule that chooses them.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use tenure::device::Device;
use tenure::{
    Buffer, Error, Gpu, Queue, Texture,
    compaction::CompactionStats,
    memory::AllocationFlags,
    resource::TexelData,
    stats::{HeapMemory, PoolStats},
};
use voxel_world::Result;

use crate::BUDGET;
use crate::content::{Content, random};
use crate::pick::Pick;
use crate::world::{Object, Shape, World};

/// Limit on the bytes loaded in a frame; the last object may exceed it.
const LOAD: u64 = 8 << 20;
/// Bytes left for uploads and readbacks on unified memory.
const STAGING: u64 = 48 << 20;
/// Objects with a readback in each frame.
const PICKS: u64 = 4;
/// Frames between a readback and the wait for it.
const LATENCY: usize = 3;

/// An object on the GPU.
#[derive(Debug)]
pub(crate) enum Loaded<D: Device> {
    Texture(Texture<D>),
    Mesh(Buffer<D>),
}

/// Totals of a flight.
#[derive(Debug, Default)]
struct Tally {
    frames: u64,
    loaded: u64,
    loaded_bytes: u64,
    dropped: u64,
    checked: u64,
    /// Peak of the used bytes.
    peak: u64,
    /// Since the last line was printed.
    lately: Lately,
}

/// Totals of some frames.
#[derive(Debug, Default)]
struct Lately {
    longest: Duration,
    moved: CompactionStats,
    /// Live bytes over the pools' reserved bytes; a sum over frames.
    live: f64,
}

/// Frames per printed line.
const LINE: u64 = 1000;

/// The loaded part of the world.
pub(crate) struct Streamer<D: Device> {
    world: World,
    /// By the object's number.
    loaded: BTreeMap<usize, Loaded<D>>,
    /// The picks of the last frames.
    picks: VecDeque<Vec<Pick<D>>>,
    /// The bytes of an object while it is loaded.
    bytes: Vec<u8>,
    tally: Tally,
    /// The index of the memory heap of the objects.
    heap: usize,
    gpu: Gpu<D>,
}

impl<D: Device> Streamer<D> {
    pub(crate) fn new(gpu: Gpu<D>) -> Result<Self> {
        let mut world = World::new();
        let first = world.objects.first().ok_or("an empty world")?;
        let Shape::Texture(desc) = &first.shape else { return Err("the first object is a texture".into()) };
        let heap = gpu.texture_cost(desc)?.heap;
        for object in &mut world.objects {
            object.shape = object.shape.clone().streamed();
        }
        let (loaded, picks) = (BTreeMap::new(), VecDeque::new());
        Ok(Self { world, loaded, picks, bytes: Vec::new(), tally: Tally::default(), heap, gpu })
    }

    pub(crate) const fn world(&self) -> &World {
        &self.world
    }

    /// Loads the nearest objects, and drops the farthest when there is no room: the program's own rule.
    fn stream(&mut self, frame: u64) -> Result<()> {
        let enough = self.tally.loaded_bytes + LOAD;
        for id in self.world.nearest(frame) {
            while !self.loaded.contains_key(&id) && self.tally.loaded_bytes < enough {
                let (room, pending) = (self.heap()?.headroom, self.gpu.memory().pending_bytes);
                if self.new_bytes(id)? <= room.unwrap_or(u64::MAX).saturating_sub(STAGING) {
                    match self.load(id) {
                        // Another program was faster, or the driver has less memory than it reports: try again
                        // later.
                        Err(Error::OutOfMemory(_)) => return Ok(()),
                        loaded => loaded?,
                    }
                } else if pending >= self.world.objects[id].bytes || !self.drop_farthest(id, frame) {
                    // The GPU still uses dropped objects: there is room in one of the next frames.
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The memory heap of the objects.
    fn heap(&self) -> Result<HeapMemory> {
        self.gpu.memory().heaps.into_iter().nth(self.heap).ok_or_else(|| "a device without memory".into())
    }

    /// The memory that loading an object would take from the driver.
    fn new_bytes(&self, id: usize) -> Result<u64> {
        let cost = match &self.world.objects[id].shape {
            Shape::Texture(desc) => self.gpu.texture_cost(desc)?,
            Shape::Mesh(desc) => self.gpu.buffer_cost(desc)?,
        };
        Ok(cost.new_bytes)
    }

    fn load(&mut self, id: usize) -> std::result::Result<(), Error> {
        let Object { shape, bytes, .. } = &self.world.objects[id];
        Content::of(id).fill(*bytes, &mut self.bytes);
        let object = match shape {
            Shape::Texture(desc) => {
                let mut rest = &self.bytes[..];
                let mips = (0..desc.info.mips).map(|mip| {
                    let size = desc.info.mip_bytes(mip).and_then(|size| usize::try_from(size).ok());
                    let (mip, after) = rest.split_at(size.unwrap_or_default());
                    rest = after;
                    TexelData::new(mip)
                });
                let mips: Vec<_> = mips.collect();
                Loaded::Texture(self.gpu.create_texture_with(desc, &mips)?)
            }
            Shape::Mesh(desc) => Loaded::Mesh(self.gpu.create_buffer_with(desc, &self.bytes)?),
        };
        self.tally.loaded += 1;
        self.tally.loaded_bytes += bytes;
        self.loaded.insert(id, object);
        Ok(())
    }

    /// Drops the farthest object, if it is farther than this one.
    fn drop_farthest(&mut self, than: usize, frame: u64) -> bool {
        let far = |id: usize| self.world.distance(id, frame);
        let farthest = self.loaded.keys().copied().max_by(|a, b| far(*a).total_cmp(&far(*b)));
        let Some(farthest) = farthest.filter(|id| far(*id) > far(than)) else { return false };
        self.tally.dropped += 1;
        self.loaded.remove(&farthest).is_some()
    }

    /// One frame.
    pub(crate) fn frame(&mut self, number: u64) -> Result<()> {
        let start = Instant::now();
        let frame = self.gpu.begin_frame()?;
        self.stream(number)?;
        let mut recording = frame.record(Queue::Graphics, "picks")?;
        let mut picks = Vec::new();
        for pick in 0..PICKS {
            let chance = random(number, 4 + pick);
            let nth = chance as usize % self.loaded.len().max(1);
            if let Some((id, object)) = self.loaded.iter().nth(nth) {
                picks.push(Pick::record(&mut recording, *id, object, chance)?);
            }
        }
        frame.submit(recording)?;
        frame.end()?;
        self.picks.push_back(picks);
        if self.picks.len() > LATENCY {
            self.check_oldest()?;
        }
        self.tally.frames += 1;
        self.note_frame(start.elapsed());
        self.check_budget()
    }

    /// Regularly prints a line: live over reserved bytes, moved bytes, and the longest frame, including the
    /// work of a simulated device.
    fn note_frame(&mut self, time: Duration) {
        let Tally { frames, lately, .. } = &mut self.tally;
        let pools = self.gpu.stats().pools;
        let sum = |part: fn(&PoolStats) -> u64| pools.iter().map(part).sum::<u64>().max(1) as f64;
        lately.longest = lately.longest.max(time);
        lately.live += sum(|pool| pool.requested) / sum(|pool| pool.reserved);
        if !frames.is_multiple_of(LINE) {
            return;
        }
        let now = self.gpu.compaction_stats();
        let (moves, bytes) = (now.moves - lately.moved.moves, now.bytes - lately.moved.bytes);
        println!(
            "frame {frames}: live/reserved {:.3}, {moves} moved of {:.1} MiB, longest frame {:.1} ms",
            lately.live / LINE as f64,
            bytes as f64 / f64::from(1 << 20),
            lately.longest.as_secs_f64() * 1e3
        );
        *lately = Lately { moved: now, ..Lately::default() };
    }

    fn check_oldest(&mut self) -> Result<()> {
        let picks = self.picks.pop_front().unwrap_or_default();
        self.tally.checked += picks.len() as u64;
        picks.into_iter().try_for_each(Pick::check)
    }

    /// Checks that neither the budget nor the program's cap is exceeded.
    fn check_budget(&mut self) -> Result<()> {
        let heap = self.heap()?;
        let ours = heap.ours.total();
        self.tally.peak = self.tally.peak.max(ours);
        let is_granted = heap.budget.is_none_or(|budget| heap.usage <= budget);
        if is_granted && ours <= BUDGET {
            return Ok(());
        }
        Err(format!("frame {}: too much memory is used: {heap:?}", self.tally.frames).into())
    }

    /// Drops everything and prints the totals of the flight.
    pub(crate) fn finish(mut self, start: Instant) -> Result<()> {
        while !self.picks.is_empty() {
            self.check_oldest()?;
        }
        let resident = self.loaded.len();
        self.loaded.clear();
        let report = self.gpu.shutdown();
        let Tally { frames, loaded, loaded_bytes, dropped, checked, peak, .. } = self.tally;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        println!("{frames} frames in {:.1} s", start.elapsed().as_secs_f64());
        println!(
            "loaded {loaded} objects of {:.0} MiB, dropped {dropped}, {resident} at the end",
            mib(loaded_bytes)
        );
        println!("at most {:.1} MiB used of {:.0} MiB", mib(peak), mib(BUDGET));
        println!("{checked} picks were right");
        Ok(report.into_result().map_err(|report| format!("{report:?}"))?)
    }
}

impl Shape {
    /// A movable resource; its creation exceeds no budget, uses no slower memory, and never waits.
    fn streamed(self) -> Self {
        let flags =
            AllocationFlags::WITHIN_BUDGET | AllocationFlags::DEVICE_LOCAL_ONLY | AllocationFlags::NEVER_WAIT;
        match self {
            Self::Texture(desc) => Self::Texture(desc.allocation(flags).movable()),
            Self::Mesh(desc) => Self::Mesh(desc.allocation(flags).movable()),
        }
    }
}
