//! The manager's own pages (staged bytes, constants, readbacks) beside the program's mapped buffers.

use proptest::prelude::*;
use tenure_core::device::{Api, prelude::*};
use tenure_core::{
    Buffer, BufferDesc, Config, Error, FrameConfig, Gpu, MemoryUse, PoolConfig, Queue, QueueId, QueueKind,
    StagingConfig, State, Strategy as Placing, Subresource, UploadConfig, UploadRing, Usage,
};
use tenure_core::{LocationKind, UploadRingDesc};
use tenure_sim::{Device, Lag, Profile};

use super::{SECOND, device, end, finish, gpu};
use test_random::Rng;

/// A buffer and its expected contents.
struct Kept {
    buffer: Buffer<Device>,
    model: Vec<u8>,
    /// Whether copies may write it; otherwise only the CPU may.
    is_target: bool,
    /// Copies may read it.
    is_source: bool,
}

/// Buffers of all kinds of memory and location, uploads to them, and on every queue constants, slices of a
/// ring and readbacks beside them.
struct Program {
    gpu: Gpu<Device>,
    ring: UploadRing<Device>,
    rng: Rng,
    kept: Vec<Kept>,
}

impl Program {
    fn new(device: &Device, strategy: Placing, seed: u64) -> Self {
        let config = Config::default()
            .pools(PoolConfig::default().strategy(strategy).max_pooled_buffer(64 << 10))
            .staging(
                StagingConfig::default()
                    .upload_page(64 << 10)
                    .readback_page(64 << 10)
                    .build_scratch_page(64 << 10)
                    .constant_page(4 << 10)
                    .max_pending(256 << 10),
            )
            .uploads(UploadConfig::default().max_pooled(64 << 10))
            .frames(FrameConfig::default().idle(1));
        let gpu = gpu(device, config);
        // A request that does not fit has its own page.
        let ring = gpu.create_upload_ring(&UploadRingDesc::new(4 << 10).dedicate().name("ring")).unwrap();
        Self { gpu, ring, rng: Rng::new(seed), kept: Vec::new() }
    }

    fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.rng.below(count as u64)).unwrap()
    }

    fn bytes(&mut self, size: usize) -> Vec<u8> {
        (0..size).map(|_| self.rng.next() as u8).collect()
    }

    fn create(&mut self) {
        let memory = MemoryUse::ALL[self.pick(4)];
        let usage = [Usage::VERTEX, Usage::SHADER_READ, Usage::empty()][self.pick(3)];
        let most = if self.rng.below(4) == 0 { 100_000 } else { 9_000 };
        let size = 1 + self.pick(most);
        let desc = BufferDesc::new(size as u64, usage | Usage::COPY_SRC).memory(memory).name("kept");
        let desc = if self.rng.below(4) == 0 { desc.own_resource() } else { desc };
        let (buffer, model) = (self.gpu.create_buffer(&desc).unwrap(), self.bytes(size));
        let is_d3d12 = self.gpu.device().properties().api == Api::Direct3D12;
        let is_target = match self.gpu.upload(&buffer, 0, &model) {
            Ok(_) => true,
            Err(Error::FixedState { .. }) => {
                assert!(is_d3d12 && matches!(memory, MemoryUse::Upload | MemoryUse::GpuUpload));
                buffer.write(0, &model).unwrap();
                false
            }
            Err(other) => panic!("{other}"),
        };
        let is_source = !(is_d3d12 && memory == MemoryUse::Readback);
        self.kept.push(Kept { buffer, model, is_target, is_source });
    }

    fn upload(&mut self) {
        let index = self.pick(self.kept.len());
        let (len, is_target) = (self.kept[index].model.len(), self.kept[index].is_target);
        let start = self.pick(len);
        let size = 1 + self.pick(len - start);
        let part = self.bytes(size);
        if is_target {
            let kept = &mut self.kept[index];
            self.gpu.upload(&kept.buffer, start as u64, &part).unwrap();
            kept.model[start..start + size].copy_from_slice(&part);
        }
    }

    /// Checks the contents of one buffer, with constants that the same commands read.
    fn expect(&mut self) {
        let count = self.gpu.device().properties().queues.len();
        let queue = QueueId(u8::try_from(self.pick(count)).unwrap());
        let is_copy = self.gpu.device().properties().queues[queue.index()].kind == QueueKind::Copy;
        let constants = self.bytes(300);
        let index = self.pick(self.kept.len());
        let kept = &self.kept[index];
        let mut recording = self.gpu.record(Queue::Id(queue), "expect").unwrap();
        if kept.is_source {
            recording.use_resource(&kept.buffer, Subresource::All, State::COPY_SRC).unwrap();
            recording.barriers();
            let (raw, offset) = (kept.buffer.raw(), kept.buffer.offset());
            recording.raw().use_buffer(raw, offset, kept.model.len() as u64, State::COPY_SRC);
            recording.raw().expect_bytes(raw, offset, &kept.model);
        }
        if !is_copy {
            let (commands, scratch) = recording.split();
            let constant = scratch.constant_bytes(&constants).unwrap();
            let (offset, size) = (constant.offset(), constant.size());
            commands.raw().use_buffer(constant.raw(), offset, size, State::VERTEX_OR_CONSTANT);
            commands.raw().expect_bytes(constant.raw(), offset, &constants);
        }
        recording.submit().unwrap();
    }

    /// Copies from a ring to a buffer.
    fn copy_slice(&mut self) {
        let index = self.pick(self.kept.len());
        let part = self.bytes(self.kept[index].model.len());
        let kept = &mut self.kept[index];
        if !kept.is_target {
            return;
        }
        let mut recording = self.gpu.record(Queue::Graphics, "slice").unwrap();
        let (commands, scratch) = recording.split();
        match self.ring.allocate(scratch, part.len() as u64, 4) {
            Ok(slice) => {
                slice.write(0, &part).unwrap();
                commands.copy_slice(&slice, 0, &kept.buffer, 0, part.len() as u64).unwrap();
            }
            // Before the first frame ends, this recording's own bytes fill the ring.
            Err(Error::HeldByRecording { .. }) => return,
            Err(error) => panic!("{error}"),
        }
        recording.submit().unwrap();
        kept.model = part;
    }

    fn read_back(&mut self) {
        let index = self.pick(self.kept.len());
        let kept = &self.kept[index];
        if kept.is_source {
            let readback = self.gpu.read_back(&kept.buffer, 0, kept.model.len() as u64).unwrap();
            assert_eq!(readback.wait(SECOND).unwrap(), kept.model);
        }
    }

    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            match self.rng.below(12) {
                0 | 1 if self.kept.len() < 10 => self.create(),
                _ if self.kept.is_empty() => self.create(),
                2 => {
                    let index = self.pick(self.kept.len());
                    drop(self.kept.swap_remove(index));
                }
                3 | 4 => self.expect(),
                5 => self.gpu.begin_frame().unwrap().end().unwrap(),
                6 => drop(self.gpu.flush_uploads().unwrap()),
                7 => self.copy_slice(),
                8 => self.read_back(),
                _ => self.upload(),
            }
        }
    }

    /// The CPU reads the GPU's copies in mapped buffers.
    fn check_mapped(&mut self) {
        self.gpu.flush_uploads().unwrap();
        finish(&self.gpu);
        for kept in self.kept.iter().filter(|kept| kept.buffer.memory().is_mapped()) {
            let mut found = vec![0; kept.model.len()];
            kept.buffer.read(0, &mut found).unwrap();
            assert_eq!(found, kept.model);
        }
    }
}

fn random_program(profile: Profile, strategy: Placing, seed: u64) {
    let device = device(profile, Lag::Random { max: 6 });
    let mut program = Program::new(&device, strategy, seed);
    program.run(200);
    program.check_mapped();
    let Program { gpu, ring, kept, .. } = program;
    drop((ring, kept));
    end(gpu, &device);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_upload_holds_beside_any_buffer(seed: u64, profile in 0..Profile::ALL.len(), strategy in 0..3_usize) {
        let strategy = [Placing::Pooled, Placing::Placed, Placing::Committed][strategy];
        random_program(Profile::ALL[profile], strategy, seed);
    }
}

/// Bytes staged after an upload to a mapped buffer are not in that buffer's API resource.
#[test]
fn an_upload_to_a_mapped_buffer_is_not_staged_beside_it() {
    for &profile in Profile::ALL {
        for memory in [MemoryUse::Upload, MemoryUse::GpuUpload] {
            let device = device(profile, Lag::Manual);
            let gpu = gpu(&device, Config::default());
            let desc = |size| {
                let usage = Usage::VERTEX | Usage::COPY_SRC;
                BufferDesc::new(size, usage).memory(memory).name("mapped")
            };
            // Creates a block with room for all later resources.
            drop(gpu.create_buffer(&desc(4 << 20)).unwrap());
            gpu.reclaim().unwrap();
            let mapped = gpu.create_buffer(&desc(4096)).unwrap();
            assert_eq!(mapped.location(), LocationKind::Range);
            mapped.write(0, &[1; 4096]).unwrap();
            let mesh = gpu.create_buffer(&BufferDesc::new(4096, Usage::VERTEX | Usage::COPY_SRC)).unwrap();
            if gpu.upload(&mapped, 100, &[2; 100]).is_ok() {
                // It has a page of its own, in the same batch.
                gpu.upload(&mesh, 0, &[3; 4096]).unwrap();
                gpu.upload(&mapped, 300, &[4; 100]).unwrap();
                gpu.flush_uploads().unwrap();
                finish(&gpu);
                let mut found = [0; 500];
                mapped.read(0, &mut found).unwrap();
                assert_eq!((found[99], found[100], found[299], found[399], found[400]), (1, 2, 1, 4, 1));
            }
            drop((mapped, mesh));
            end(gpu, &device);
        }
    }
}

/// A readback goes to a page, which must not be part of its source buffer.
#[test]
fn readback_buffers_can_be_read_back() {
    for &profile in Profile::ALL {
        let device = device(profile, Lag::None);
        if device.properties().api == Api::Direct3D12 {
            // Readback heaps are only written by copies.
            continue;
        }
        let gpu = gpu(&device, Config::default());
        let desc = BufferDesc::new(4096, Usage::COPY_SRC).memory(MemoryUse::Readback).name("results");
        drop(gpu.create_buffer(&desc.clone().size(4 << 20)).unwrap());
        gpu.reclaim().unwrap();
        let results = gpu.create_buffer(&desc).unwrap();
        gpu.upload(&results, 0, &[7; 4096]).unwrap();
        let readback = gpu.read_back(&results, 0, 4096).unwrap();
        assert_eq!(readback.wait(SECOND).unwrap(), [7; 4096]);
        drop((results, readback));
        end(gpu, &device);
    }
}
