//! A program that creates resources with every placement and uses them, and continues after a failed step.

use tenure_core::device::{Features, Permit, prelude::*};
use tenure_core::memory::PoolKind;
use tenure_core::{
    Buffer, BufferDesc, BufferLayout, Config, Error, Format, FrameConfig, Gpu, MemoryUse, PageAllocator,
    PageAllocatorDesc, Plane, PoolConfig, Queue, Reserved, ReservedDesc, State, Subresource, Texture,
    TextureDesc, TextureRegion, TileRegion, UploadConfig, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

const KIB: u64 = 1 << 10;
/// Texels of a side of every texture that is filled.
const SIDE: u32 = 64;

/// Bytes that tell resources apart.
fn pattern(seed: usize, size: u64) -> Vec<u8> {
    (0..size).map(|index| (index as usize * 7 + seed * 31 + 1) as u8).collect()
}

/// Something created, and whether its bytes have arrived in it.
struct Kept<T> {
    handle: T,
    seed: usize,
    is_filled: bool,
}

/// The error of a failed step.
pub(crate) struct Refusal {
    pub(crate) step: &'static str,
    /// Whether the step creates a resource; otherwise it submits.
    pub(crate) is_creation: bool,
    pub(crate) error: Error,
}

/// The program. Field order is drop order: handles before the manager.
pub(crate) struct Program {
    buffers: Vec<Kept<Buffer<Device>>>,
    textures: Vec<Kept<Texture<Device>>>,
    /// These are not filled by copies.
    targets: Vec<Texture<Device>>,
    structures: Vec<Buffer<Device>>,
    reserved: Vec<Kept<Reserved<Device>>>,
    pages: PageAllocator<Device>,
    pub(crate) refusals: Vec<Refusal>,
    seeds: usize,
    pub(crate) gpu: Gpu<Device>,
}

/// Limits low enough for small resources to reach every row of the policy.
fn config() -> Config {
    Config::default()
        .pools(PoolConfig::default().max_pooled_buffer(80 * KIB).max_texture_block(128 * KIB))
        .uploads(UploadConfig::default().max_pooled(80 * KIB).max_block(256 * KIB))
        .frames(FrameConfig::default().idle(1))
}

impl Program {
    pub(crate) fn new(profile: Profile) -> Self {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(3)));
        let gpu = Gpu::new(device, config()).unwrap();
        Self {
            buffers: Vec::new(),
            textures: Vec::new(),
            targets: Vec::new(),
            structures: Vec::new(),
            reserved: Vec::new(),
            pages: gpu.create_pages(&PageAllocatorDesc::new(512 * KIB).name("pages")),
            refusals: Vec::new(),
            seeds: 0,
            gpu,
        }
    }

    /// Notes a failure, as long as it is a shortage.
    fn note<T>(&mut self, step: &'static str, is_creation: bool, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.refusals.push(Refusal { step, is_creation, error })).ok()
    }

    /// Everything, once.
    pub(crate) fn run(&mut self) {
        self.buffers();
        self.textures();
        self.paged();
        self.tiles();
        self.frame();
        self.turn_over();
        self.buffers();
        self.frame();
    }

    fn buffers(&mut self) {
        let gpu_only = [
            ("small slot", 1000, Usage::VERTEX),
            ("second of a slot", 3000, Usage::INDEX),
            ("another slot", 61 * KIB, Usage::VERTEX),
            ("read-only range", 66 * KIB, Usage::SHADER_READ),
            ("indirect range", 320, Usage::INDIRECT),
            ("placed", 5000, Usage::UNORDERED_ACCESS),
            ("committed", 90 * KIB, Usage::VERTEX),
        ];
        for (step, size, usage) in gpu_only {
            self.buffer(step, &BufferDesc::new(size, usage | Usage::COPY_SRC));
        }
        self.structure();
        for (step, size) in
            [("small upload", 300), ("large upload", 70 * KIB), ("committed upload", 90 * KIB)]
        {
            let desc = BufferDesc::new(size, Usage::CONSTANT | Usage::COPY_SRC);
            self.buffer(step, &desc.memory(MemoryUse::Upload));
        }
    }

    fn structure(&mut self) {
        let features = self.gpu.device().properties().features;
        if !features.contains(Features::ACCELERATION_STRUCTURES) {
            return;
        }
        let desc = BufferDesc::new(70 * KIB, Usage::empty()).usage(Usage::ACCELERATION_STRUCTURE);
        let created = self.gpu.create_buffer(&desc.name("acceleration structure"));
        let structure = self.note("acceleration structure", true, created);
        self.structures.extend(structure);
    }

    fn buffer(&mut self, step: &'static str, desc: &BufferDesc) {
        let created = self.gpu.create_buffer(&desc.clone().name(step));
        if let Some(buffer) = self.note(step, true, created) {
            self.keep_buffer(step, buffer);
        }
    }

    fn keep_buffer(&mut self, step: &'static str, handle: Buffer<Device>) {
        self.seeds += 1;
        let mut kept = Kept { handle, seed: self.seeds, is_filled: false };
        let filled = self.fill_buffer(&mut kept);
        self.note(step, false, filled);
        self.buffers.push(kept);
    }

    fn fill_buffer(&self, kept: &mut Kept<Buffer<Device>>) -> Result<(), Error> {
        let bytes = pattern(kept.seed, kept.handle.size());
        match kept.handle.write(0, &bytes) {
            Err(Error::NotMapped { .. }) => {
                let staging = self.staging(&bytes)?;
                let mut recording = self.gpu.record(Queue::Graphics, "fill")?;
                recording.copy_buffer(&staging, 0, &kept.handle, 0, bytes.len() as u64)?;
                recording.submit()?;
            }
            written => written?,
        }
        kept.is_filled = true;
        Ok(())
    }

    fn staging(&self, bytes: &[u8]) -> Result<Buffer<Device>, Error> {
        let desc = BufferDesc::new(bytes.len() as u64, Usage::COPY_SRC).memory(MemoryUse::Upload);
        let staging = self.gpu.create_buffer(&desc.alignment(512).name("staging"))?;
        staging.write(0, bytes)?;
        Ok(staging)
    }

    fn textures(&mut self) {
        let sampled = Usage::SHADER_READ | Usage::COPY_SRC;
        let square = |usage| TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage);
        for (step, desc) in [
            ("small texture", square(sampled)),
            ("large texture", square(sampled).layers(5)),
            ("unordered texture", square(sampled | Usage::UNORDERED_ACCESS)),
            ("committed texture", square(sampled).layers(12)),
        ] {
            let created = self.gpu.create_texture(&desc.name(step));
            if let Some(texture) = self.note(step, true, created) {
                self.keep_texture(step, texture);
            }
        }
        for (step, desc) in [
            ("target", TextureDesc::d2(200, 200, Format::Rgba8Unorm, Usage::RENDER_TARGET)),
            ("depth", TextureDesc::d2(200, 200, Format::D32Float, Usage::DEPTH_STENCIL)),
            ("samples", TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4)),
        ] {
            let created = self.gpu.create_texture(&desc.name(step));
            let target = self.note(step, true, created);
            self.targets.extend(target);
        }
    }

    fn keep_texture(&mut self, step: &'static str, handle: Texture<Device>) {
        self.seeds += 1;
        let mut kept = Kept { handle, seed: self.seeds, is_filled: false };
        let filled = self.fill_texture(&mut kept);
        self.note(step, false, filled);
        self.textures.push(kept);
    }

    fn layers(texture: &Texture<Device>) -> impl Iterator<Item = TextureRegion> + use<> {
        let extent = [SIDE, SIDE, 1];
        (0..texture.info().layers()).map(move |layer| TextureRegion {
            mip: 0,
            layer,
            plane: Plane::First,
            origin: [0; 3],
            extent,
        })
    }

    fn fill_texture(&self, kept: &mut Kept<Texture<Device>>) -> Result<(), Error> {
        // Rows of 256 B suit every device.
        let layout = BufferLayout { offset: 0, row_pitch: u64::from(SIDE) * 4, rows: SIDE };
        let staging = self.staging(&pattern(kept.seed, u64::from(SIDE * SIDE) * 4))?;
        let mut recording = self.gpu.record(Queue::Copy, "fill")?;
        for region in Self::layers(&kept.handle) {
            recording.copy_buffer_to_texture(&staging, layout, &kept.handle, region)?;
        }
        recording.submit()?;
        kept.is_filled = true;
        Ok(())
    }

    fn paged(&mut self) {
        let desc = BufferDesc::new(20 * KIB, Usage::VERTEX | Usage::COPY_SRC).name("page");
        let created = self.pages.create_buffer(&desc);
        if let Some(buffer) = self.note("paged buffer", true, created) {
            self.keep_buffer("paged buffer", buffer);
        }
        let sampled = Usage::SHADER_READ | Usage::COPY_SRC;
        let desc = TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, sampled).name("page");
        let created = self.pages.create_texture(&desc);
        if let Some(texture) = self.note("paged texture", true, created) {
            self.keep_texture("paged texture", texture);
        }
    }

    fn tiles(&mut self) {
        let properties = self.gpu.device().properties();
        if !properties.features.contains(Features::RESERVED_BUFFERS) {
            return;
        }
        let desc = ReservedDesc::buffer(8 * properties.tile_size, Usage::SHADER_READ | Usage::COPY_SRC);
        let created = self.gpu.create_reserved(&desc.name("sparse"));
        // Pools are not involved: the driver's error is passed on.
        if let Some(handle) = self.note("reserved", false, created) {
            self.seeds += 1;
            let mut kept = Kept { handle, seed: self.seeds, is_filled: false };
            let filled = self.fill_tiles(&mut kept);
            self.note("tiles", false, filled);
            self.reserved.push(kept);
        }
    }

    /// Maps two tiles and fills the second.
    fn fill_tiles(&self, kept: &mut Kept<Reserved<Device>>) -> Result<(), Error> {
        let tile = kept.handle.layout().tile_size;
        kept.handle.map(Queue::Graphics, TileRegion::buffer(2, 2))?;
        let staging = self.staging(&pattern(kept.seed, tile))?;
        let mut recording = self.gpu.record(Queue::Graphics, "fill")?;
        recording.use_resource(&staging, Subresource::All, State::COPY_SRC)?;
        recording.use_resource(&kept.handle, Subresource::All, State::COPY_DST)?;
        recording.barriers();
        recording.raw_mut(Permit::checked()).copy_buffer(
            staging.raw(),
            staging.offset(),
            kept.handle.raw(),
            3 * tile,
            tile,
        );
        recording.submit()?;
        kept.is_filled = true;
        Ok(())
    }

    fn frame(&mut self) {
        for _ in 0..3 {
            let frame = self.gpu.begin_frame().unwrap();
            let submitted =
                frame.record(Queue::Graphics, "frame").and_then(|recording| frame.submit(recording));
            frame.end().unwrap();
            self.note("frame", false, submitted);
        }
    }

    /// Drops every second resource while the GPU may still use it.
    fn turn_over(&mut self) {
        let mut index = 0;
        self.buffers.retain(|_| {
            index += 1;
            index % 2 == 0
        });
        self.targets.pop();
        if self.textures.len() > 1 {
            self.textures.remove(0);
        }
    }

    /// With a working driver again: fills the rest, and checks that all bytes are right.
    pub(crate) fn verify(&mut self) {
        let mut buffers = std::mem::take(&mut self.buffers);
        for kept in buffers.iter_mut().filter(|kept| !kept.is_filled) {
            self.fill_buffer(kept).unwrap();
        }
        let mut textures = std::mem::take(&mut self.textures);
        for kept in textures.iter_mut().filter(|kept| !kept.is_filled) {
            self.fill_texture(kept).unwrap();
        }
        let mut reserved = std::mem::take(&mut self.reserved);
        for kept in reserved.iter_mut().filter(|kept| !kept.is_filled) {
            self.fill_tiles(kept).unwrap();
        }
        buffers.iter().for_each(|kept| self.verify_buffer(kept));
        textures.iter().for_each(|kept| self.verify_texture(kept));
        reserved.iter().for_each(|kept| self.verify_tiles(kept));
    }

    fn readback(&self, size: u64) -> Buffer<Device> {
        let desc = BufferDesc::new(size, Usage::COPY_DST).memory(MemoryUse::Readback);
        self.gpu.create_buffer(&desc.alignment(512).name("readback")).unwrap()
    }

    fn arrived(&self, readback: &Buffer<Device>, expected: &[u8], what: &str) {
        let device = self.gpu.device();
        assert!(device.run_until_idle());
        let mut found = vec![0; expected.len()];
        readback.read(0, &mut found).unwrap();
        assert!(found == expected, "{what} lost its bytes");
    }

    fn verify_buffer(&self, kept: &Kept<Buffer<Device>>) {
        let size = kept.handle.size();
        let readback = self.readback(size);
        let mut recording = self.gpu.record(Queue::Graphics, "verify").unwrap();
        recording.copy_buffer(&kept.handle, 0, &readback, 0, size).unwrap();
        recording.submit().unwrap();
        self.arrived(&readback, &pattern(kept.seed, size), kept.handle.name().as_str());
    }

    fn verify_texture(&self, kept: &Kept<Texture<Device>>) {
        let size = u64::from(SIDE * SIDE) * 4;
        let layout = BufferLayout { offset: 0, row_pitch: u64::from(SIDE) * 4, rows: SIDE };
        for region in Self::layers(&kept.handle) {
            let readback = self.readback(size);
            let mut recording = self.gpu.record(Queue::Graphics, "verify").unwrap();
            recording.copy_texture_to_buffer(&kept.handle, region, &readback, layout).unwrap();
            recording.submit().unwrap();
            self.arrived(&readback, &pattern(kept.seed, size), kept.handle.name().as_str());
        }
    }

    fn verify_tiles(&self, kept: &Kept<Reserved<Device>>) {
        let tile = kept.handle.layout().tile_size;
        let readback = self.readback(tile);
        let mut recording = self.gpu.record(Queue::Graphics, "verify").unwrap();
        recording.use_resource(&kept.handle, Subresource::All, State::COPY_SRC).unwrap();
        recording.use_resource(&readback, Subresource::All, State::COPY_DST).unwrap();
        recording.barriers();
        recording.raw_mut(Permit::checked()).copy_buffer(
            kept.handle.raw(),
            3 * tile,
            readback.raw(),
            readback.offset(),
            tile,
        );
        recording.submit().unwrap();
        self.arrived(&readback, &pattern(kept.seed, tile), "reserved");
    }

    /// Drops everything and shuts down; all remaining objects are in the device.
    pub(crate) fn end(self) -> tenure_core::ShutdownReport {
        let Self { buffers, textures, targets, structures, reserved, pages, gpu, .. } = self;
        drop((buffers, textures, targets, structures, reserved, pages));
        if gpu.device().status().is_ok() {
            assert!(gpu.device().run_until_idle());
            gpu.reclaim().unwrap();
            nothing_is_taken(&gpu);
        }
        gpu.shutdown()
    }
}

/// Checks that no pool has a live range, except for the slots that small buffers keep for some frames.
fn nothing_is_taken(gpu: &Gpu<Device>) {
    let pools = gpu.report().pools;
    let slots = |memory: u8| -> usize {
        let of_memory = pools.iter().filter(|pool| pool.stats.memory_type == memory);
        of_memory.filter(|pool| pool.stats.kind == PoolKind::SmallBuffers).map(|pool| pool.blocks.len()).sum()
    };
    for pool in &pools {
        let is_of_slots = pool.stats.kind == PoolKind::SmallBufferSlots;
        let kept = if is_of_slots { slots(pool.stats.memory_type) as u64 } else { 0 };
        assert_eq!(pool.stats.allocations, kept, "{:?}", pool.stats);
    }
}
