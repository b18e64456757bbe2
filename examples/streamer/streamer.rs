//! What is loaded, and the rule by which it is.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use tenure::device::Device;
use tenure::{
    AllocationFlags, Buffer, CompactionStats, Error, Gpu, HeapMemory, PoolStats, Queue, TexelData, Texture,
};
use voxel_world::Result;

use crate::BUDGET;
use crate::content::{Content, random};
use crate::pick::Pick;
use crate::world::{Object, Shape, World};

/// Bytes that are loaded in a frame, but for the last object.
const LOAD: u64 = 8 << 20;
/// Bytes that are left for uploads and readbacks, where the GPU shares the system's memory.
const STAGING: u64 = 48 << 20;
/// Objects of which bytes are read back in each frame.
const PICKS: u64 = 4;
/// Frames after which these bytes are waited for.
const LATENCY: usize = 3;

/// An object on the GPU.
#[derive(Debug)]
pub(crate) enum Loaded<D: Device> {
    Texture(Texture<D>),
    Mesh(Buffer<D>),
}

/// What a flight came to.
#[derive(Debug, Default)]
struct Tally {
    frames: u64,
    loaded: u64,
    loaded_bytes: u64,
    dropped: u64,
    checked: u64,
    /// The most bytes that were ever used.
    peak: u64,
    /// Since the last line was printed.
    lately: Lately,
}

/// What some frames came to.
#[derive(Debug, Default)]
struct Lately {
    longest: Duration,
    moved: CompactionStats,
    /// Of what pools reserve, the part that lives; a sum over frames.
    live: f64,
}

/// Frames of which a line is printed.
const LINE: u64 = 1000;

/// The world as far as it is loaded.
pub(crate) struct Streamer<D: Device> {
    world: World,
    /// By the object's number.
    loaded: BTreeMap<usize, Loaded<D>>,
    /// The picks of the last frames.
    picks: VecDeque<Vec<Pick<D>>>,
    /// The bytes of an object while it is loaded.
    bytes: Vec<u8>,
    tally: Tally,
    /// The index of the memory heap that objects go to.
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
                        // Another program was faster, or the driver has less than it says: later, then.
                        Err(Error::OutOfMemory(_)) => return Ok(()),
                        loaded => loaded?,
                    }
                } else if pending >= self.world.objects[id].bytes || !self.drop_farthest(id, frame) {
                    // The GPU still uses what was dropped: there is room in one of the next frames.
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The memory that objects go to.
    fn heap(&self) -> Result<HeapMemory> {
        self.gpu.memory().heaps.into_iter().nth(self.heap).ok_or_else(|| "a device without memory".into())
    }

    /// What the driver would be asked for to load an object.
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

    /// Prints a line now and then: of what is reserved, how much lives; what has moved; and the longest frame, the
    /// device's own work included where it is simulated.
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

    /// Neither the budget nor the program's cap is exceeded.
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

    /// Drops everything and prints what the flight came to.
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
    /// May move, with requests that exceed no budget, go to no slower memory, and wait for nothing.
    fn streamed(self) -> Self {
        let flags =
            AllocationFlags::WITHIN_BUDGET | AllocationFlags::DEVICE_LOCAL_ONLY | AllocationFlags::NEVER_WAIT;
        match self {
            Self::Texture(desc) => Self::Texture(desc.allocation(flags).movable()),
            Self::Mesh(desc) => Self::Mesh(desc.allocation(flags).movable()),
        }
    }
}
