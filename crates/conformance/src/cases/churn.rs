//! The contents of buffers, compared with a model while other buffers are created and dropped.

use std::collections::VecDeque;

use tenure_core::time::SyncPoint;
use tenure_core::{
    Buffer, BufferDesc, Config, FrameConfig, PoolConfig, Queue, Recording, UploadConfig, UploadSuballocator,
    Usage,
};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use test_random::Rng;

const OPERATIONS_A_FRAME: usize = 24;

/// A buffer and the bytes that it must hold.
struct Kept<H: Harness> {
    buffer: Buffer<H::Device>,
    model: Vec<u8>,
}

/// A pending copy to the CPU, and the bytes that it must bring.
struct Checked<H: Harness> {
    readback: Buffer<H::Device>,
    expected: Vec<u8>,
}

/// A program that creates, copies and drops buffers of all kinds in random order.
struct Program<'b, 'h, H: Harness> {
    bench: &'b Bench<'h, H>,
    rng: Rng,
    kept: Vec<Kept<H>>,
    /// Copies recorded in this frame.
    checked: Vec<Checked<H>>,
    /// Copies of earlier frames, with the sync points to wait for.
    in_flight: VecDeque<(SyncPoint, Vec<Checked<H>>)>,
}

impl<H: Harness> Program<'_, '_, H> {
    fn desc(&mut self) -> BufferDesc {
        let usages = [
            Usage::VERTEX,
            Usage::INDEX,
            Usage::VERTEX,
            Usage::SHADER_READ,
            Usage::CONSTANT,
            Usage::INDIRECT,
            Usage::UNORDERED_ACCESS,
        ];
        let usage = usages[usize::try_from(self.rng.below(7)).unwrap()];
        let size = if self.rng.below(60) == 0 { self.rng.size(18) } else { self.rng.size(14) };
        let stride = u32::try_from(self.rng.below(40)).unwrap();
        BufferDesc::new(size, usage | Usage::COPY_SRC).stride(stride).name("kept")
    }

    fn write(
        bench: &Bench<'_, H>,
        recording: &mut Recording<H::Device>,
        buffer: &Buffer<H::Device>,
        offset: u64,
        bytes: &[u8],
    ) {
        let staging = bench.staging(bytes);
        recording.copy_buffer(&staging, 0, buffer, offset, bytes.len() as u64).unwrap();
    }

    fn create(&mut self, recording: &mut Recording<H::Device>) {
        let desc = self.desc();
        let buffer = self.bench.gpu.create_buffer(&desc).unwrap();
        let model = self.rng.bytes(desc.size);
        Self::write(self.bench, recording, &buffer, 0, &model);
        self.kept.push(Kept { buffer, model });
    }

    fn any(&mut self) -> Option<usize> {
        let count = self.kept.len() as u64;
        (count > 0).then(|| usize::try_from(self.rng.below(count)).unwrap())
    }

    fn overwrite(&mut self, recording: &mut Recording<H::Device>) {
        let Some(index) = self.any() else { return };
        let size = self.kept[index].model.len() as u64;
        let offset = self.rng.below(size);
        let count = 1 + self.rng.below(size - offset);
        let bytes = self.rng.bytes(count);
        let kept = &mut self.kept[index];
        Self::write(self.bench, recording, &kept.buffer, offset, &bytes);
        let start = usize::try_from(offset).unwrap();
        kept.model[start..start + bytes.len()].copy_from_slice(&bytes);
    }

    fn check(&mut self, recording: &mut Recording<H::Device>) {
        let Some(index) = self.any() else { return };
        let kept = &self.kept[index];
        let size = kept.buffer.size();
        let readback = self.bench.readback(size);
        recording.copy_buffer(&kept.buffer, 0, &readback, 0, size).unwrap();
        self.checked.push(Checked { readback, expected: kept.model.clone() });
    }

    fn operation(&mut self, recording: &mut Recording<H::Device>) {
        match self.rng.below(10) {
            0..4 if self.kept.len() < 300 => self.create(recording),
            0..6 => {
                if let Some(index) = self.any() {
                    self.kept.swap_remove(index);
                }
            }
            6..8 => self.overwrite(recording),
            _ => self.check(recording),
        }
    }

    fn frame(&mut self) {
        let frame = self.bench.gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "churn").unwrap();
        for _ in 0..OPERATIONS_A_FRAME {
            self.operation(&mut recording);
        }
        let done = frame.submit(recording).unwrap();
        self.in_flight.push_back((done, std::mem::take(&mut self.checked)));
        frame.end().unwrap();
        while self.in_flight.len() > 2 {
            self.arrive();
        }
    }

    fn arrive(&mut self) {
        let Some((done, arrived)) = self.in_flight.pop_front() else { return };
        self.bench.wait(&done);
        for Checked { readback, expected } in arrived {
            assert_bytes(&contents(&readback), &expected, "contents after churn");
        }
    }

    fn check_everything(&mut self) {
        while !self.in_flight.is_empty() {
            self.arrive();
        }
        for Kept { buffer, model } in self.kept.drain(..) {
            let found = self.bench.download(&buffer, 0, buffer.size());
            assert_bytes(&found, &model, buffer.name().as_str());
        }
    }
}

fn churn<H: Harness>(harness: &H, config: Config, seed: u64) {
    let bench = Bench::with(harness, config);
    let mut program = Program {
        bench: &bench,
        rng: Rng::new(seed),
        kept: Vec::new(),
        checked: Vec::new(),
        in_flight: VecDeque::new(),
    };
    for _ in 0..harness.effort().operations / OPERATIONS_A_FRAME {
        program.frame();
    }
    program.check_everything();
    drop(program);
    bench.end();
}

/// Buffers keep their contents through thousands of random creations, drops, writes and reads.
pub fn contents_survive_their_neighbours<H: Harness>(harness: &H) {
    churn(harness, Config::default(), 11);
}

/// Buffers keep their contents with large slots and with buddy allocators for uploads.
pub fn contents_survive_with_large_slots_and_buddy_allocators<H: Harness>(harness: &H) {
    let config = Config::default()
        .pools(PoolConfig::default().small_buffer_slot(1 << 20).min_block(64 << 10))
        .uploads(UploadConfig::default().suballocator(UploadSuballocator::Buddy))
        .frames(FrameConfig::default().idle(1).in_flight(2));
    churn(harness, config, 12);
}
