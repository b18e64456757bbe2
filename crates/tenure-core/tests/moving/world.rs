//! Random programs whose resources move: each byte that is read is the one that was written last.

use std::time::Duration;

use tenure_core::{Buffer, BufferDesc, CompactionBudget, Config, Gpu, Queue, Readback, Recording, Usage};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};
use test_random::Rng;

const SOON: Duration = Duration::from_secs(10);

/// A buffer with its expected bytes after all submissions and uploads so far.
struct Known {
    buffer: Buffer<Device>,
    bytes: Vec<u8>,
}

/// The writes of an open recording, and its reads.
struct Pending {
    recording: Recording<Device>,
    /// Buffers that it writes, by serial, with the byte that fills them.
    writes: Vec<(u64, u8)>,
}

struct World {
    rng: Rng,
    live: Vec<(u64, Known)>,
    next: u64,
    open: Vec<Pending>,
    /// Each in another API buffer than all movable ones, filled with one byte.
    sources: Vec<(Buffer<Device>, u8)>,
    reads: Vec<(Readback<Device>, Vec<u8>)>,
    moves: u64,
    refused: u64,
    context: String,
    gpu: Gpu<Device>,
}

impl World {
    fn new(profile: Profile, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let lag = [Lag::None, Lag::Submissions(3), Lag::Random { max: 12 }][rng.below(3) as usize];
        let context = format!("{profile:?}, seed {seed}, {lag:?}");
        let gpu =
            Gpu::new(Device::with_config(DeviceConfig::new(profile).seed(seed).lag(lag)), Config::default())
                .unwrap();
        let sources = (0..3).map(|byte| {
            let desc = BufferDesc::new(300_000, Usage::UNORDERED_ACCESS | Usage::COPY_SRC);
            let byte = 100 + byte;
            (gpu.create_buffer_with(&desc, &vec![byte; 300_000]).unwrap(), byte)
        });
        let sources = sources.collect();
        let (live, open, reads) = (Vec::new(), Vec::new(), Vec::new());
        Self { rng, live, next: 0, open, sources, reads, moves: 0, refused: 0, context, gpu }
    }

    fn index(&mut self) -> Option<usize> {
        (!self.live.is_empty()).then(|| self.rng.below(self.live.len() as u64) as usize)
    }

    /// Whether an open recording writes it: other writes until its submission would not be ordered.
    fn is_being_written(&self, serial: u64) -> bool {
        self.open.iter().any(|open| open.writes.iter().any(|(written, _)| *written == serial))
    }

    fn step(&mut self) {
        match self.rng.below(24) {
            0..=4 => self.create(),
            5..=8 => self.drop_one(),
            9 => self.drop_many(),
            10 | 11 => self.upload(),
            12..=14 => self.record(),
            15 | 16 => self.submit(),
            17 => drop(self.open.pop()),
            18 | 19 => self.read(),
            20 => self.pin(),
            22 if self.rng.below(4) == 0 => {
                // Things go to slower memory, and come back.
                let budget = [1 << 20, 6 << 20, 1 << 30][self.rng.below(3) as usize];
                self.gpu.device().set_budget(0, budget).unwrap();
            }
            21 => {
                let ended = self.gpu.begin_frame().and_then(|frame| frame.end());
                self.refused += u64::from(ended.is_err());
            }
            _ => self.compact(),
        }
    }

    fn create(&mut self) {
        let size = [300, 5_000, 70_000, 200_000][self.rng.below(4) as usize];
        let usage = [Usage::VERTEX, Usage::SHADER_READ, Usage::UNORDERED_ACCESS, Usage::INDIRECT];
        let usage = usage[self.rng.below(4) as usize];
        let stride = [1, 12, 20][self.rng.below(3) as usize];
        let desc = BufferDesc::new(size, usage).movable().stride(stride).name(format!("b{}", self.next));
        let bytes = vec![self.next as u8; size as usize];
        match self.gpu.create_buffer_with(&desc, &bytes) {
            Ok(buffer) => {
                self.live.push((self.next, Known { buffer, bytes }));
                self.next += 1;
            }
            Err(_) => self.refused += 1,
        }
    }

    fn drop_one(&mut self) {
        if let Some(index) = self.index() {
            self.live.swap_remove(index);
        }
    }

    fn drop_many(&mut self) {
        if self.live.len() > 60 {
            let rng = &mut self.rng;
            self.live.retain(|_| rng.below(5) == 0);
        }
    }

    fn upload(&mut self) {
        let Some(index) = self.index() else { return };
        let (serial, byte) = (self.live[index].0, self.rng.below(256) as u8);
        if self.is_being_written(serial) {
            return;
        }
        let known = &mut self.live[index].1;
        let size = known.bytes.len() as u64;
        let start = self.rng.below(size);
        let length = 1 + self.rng.below(size - start);
        let range = start as usize..(start + length) as usize;
        match self.gpu.upload(&known.buffer, start, &vec![byte; length as usize]) {
            Ok(_) => known.bytes[range].fill(byte),
            Err(_) => self.refused += 1,
        }
    }

    /// Opens a recording that writes and reads some, as commands of its own and as the program's.
    fn record(&mut self) {
        if self.open.len() > 3 {
            return;
        }
        let queue = [Queue::Graphics, Queue::Compute, Queue::Copy][self.rng.below(3) as usize];
        let Ok(recording) = self.gpu.record(queue, "random") else {
            self.refused += 1;
            return;
        };
        let mut pending = Pending { recording, writes: Vec::new() };
        for _ in 0..self.rng.below(5) {
            let Some(index) = self.index() else { break };
            let serial = self.live[index].0;
            if self.is_being_written(serial) || pending.writes.iter().any(|(written, _)| *written == serial) {
                continue;
            }
            let (source, byte) = &self.sources[self.rng.below(self.sources.len() as u64) as usize];
            let known = &self.live[index].1;
            if self.rng.below(3) == 0 {
                // A user of raw commands queries the place more than once.
                let (_, scratch) = pending.recording.split();
                let first = scratch.buffer(&known.buffer).unwrap();
                let again = scratch.buffer(&known.buffer).unwrap();
                assert_eq!((first.offset(), first.gpu_address()), (again.offset(), again.gpu_address()));
                assert!(std::ptr::eq(first.raw(), again.raw()), "{}", self.context);
            }
            let size = known.bytes.len() as u64;
            let copied = pending.recording.copy_buffer(source, 0, &known.buffer, 0, size);
            if copied.is_ok() {
                pending.writes.push((serial, *byte));
            }
        }
        self.open.push(pending);
    }

    fn submit(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let index = self.rng.below(self.open.len() as u64) as usize;
        let Pending { recording, writes } = self.open.swap_remove(index);
        match recording.submit() {
            Ok(_) => {
                for (serial, byte) in writes {
                    if let Some((_, known)) = self.live.iter_mut().find(|(other, _)| *other == serial) {
                        known.bytes.fill(byte);
                    }
                }
            }
            Err(_) => self.refused += 1,
        }
    }

    fn read(&mut self) {
        let Some(index) = self.index() else { return };
        let known = &self.live[index].1;
        match self.gpu.read_back(&known.buffer, 0, known.bytes.len() as u64) {
            Ok(read) => self.reads.push((read, known.bytes.clone())),
            Err(_) => self.refused += 1,
        }
        if self.rng.below(8) == 0 {
            self.check_reads();
        }
    }

    fn check_reads(&mut self) {
        for (read, expected) in self.reads.drain(..) {
            match read.wait(SOON) {
                Ok(found) => assert!(found == expected, "{}: {} B", self.context, found.len()),
                Err(_) => self.refused += 1,
            }
        }
    }

    fn pin(&mut self) {
        if self.rng.below(6) > 0 {
            return;
        }
        if let Some(index) = self.index() {
            let buffer = &self.live[index].1.buffer;
            let _ = (buffer.raw(), buffer.offset());
        }
    }

    fn compact(&mut self) {
        let budget = CompactionBudget {
            bytes: [10_000, 1 << 20, 1 << 30][self.rng.below(3) as usize],
            moves: [1, 7, 1000][self.rng.below(3) as usize],
            pieces: [1, 20, 10_000][self.rng.below(3) as usize],
        };
        match self.gpu.compact(budget) {
            Ok(report) => self.moves += report.moves as u64,
            Err(_) => self.refused += 1,
        }
    }

    /// Checks that all readbacks match the written bytes, and that everything is released.
    fn end(mut self) -> (u64, u64) {
        self.gpu.device().faults().clear();
        self.open.clear();
        self.check_reads();
        for _ in 0..200 {
            self.gpu.begin_frame().unwrap().end().unwrap();
            let budget = CompactionBudget { bytes: 1 << 30, moves: 1000, pieces: 100_000 };
            let report = self.gpu.compact(budget).unwrap();
            self.moves += report.moves as u64;
            if report.is_done {
                break;
            }
        }
        for (_, known) in &self.live {
            let found = self.gpu.read_back(&known.buffer, 0, known.bytes.len() as u64).unwrap();
            assert!(found.wait(SOON).unwrap() == known.bytes, "{}", self.context);
        }
        let Self { live, sources, moves, refused, context, gpu, .. } = self;
        drop((live, sources));
        let device = gpu.device().clone();
        assert!(device.run_until_idle());
        assert_eq!(device.take_hazards(), [], "{context}");
        let report = gpu.shutdown();
        assert!(report.is_clean(), "{context}: {report:?}");
        drop(gpu);
        device.check_clean().unwrap_or_else(|findings| panic!("{context}: {findings}"));
        (moves, refused)
    }
}

const PROFILES: [Profile; 4] =
    [Profile::DISCRETE, Profile::VULKAN_NVIDIA, Profile::D3D12_TIER1, Profile::VULKAN_MOBILE];

/// Buffers are created, written, read, pinned and dropped in any order while they move.
#[test]
fn random_programs_find_their_bytes() {
    let mut moves = 0;
    for seed in 0..48 {
        let mut world = World::new(PROFILES[seed as usize % PROFILES.len()], seed);
        (0..600).for_each(|_| world.step());
        moves += world.end().0;
    }
    assert!(moves > 500, "{moves}");
}

/// The same when calls of the driver fail: nothing is lost, nothing leaks.
#[test]
fn random_programs_lose_nothing_when_calls_fail() {
    let calls = [CallKind::Submit, CallKind::CreatePlaced, CallKind::CreateHeap, CallKind::CreateList];
    let mut refused = 0;
    for seed in 0..48 {
        let mut world = World::new(PROFILES[seed as usize % PROFILES.len()], seed);
        for step in 0..600 {
            if step % 40 == 0 {
                let call = calls[world.rng.below(calls.len() as u64) as usize];
                let fault = Fault::nth(1 + world.rng.below(4), FaultKind::OutOfHostMemory).of(call);
                world.gpu.device().faults().inject(fault);
            }
            world.step();
        }
        refused += world.end().1;
    }
    assert!(refused > 20, "{refused}");
}
