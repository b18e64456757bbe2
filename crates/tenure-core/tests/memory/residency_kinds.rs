//! Evictable resources beside everything else that a submission uses: acceleration structures, tables of shaders,
//! tiles, images of a swap chain, transient and adopted resources, pages.

use tenure_core::device::{MemoryTypeId, ResourceDesc, prelude::*};
use tenure_core::{
    AccelerationStructure, AccelerationStructureDesc, Buffer, BufferDesc, BufferInfo, Config, Format, Gpu,
    PageAllocator, PageAllocatorDesc, Queue, Recording, Reserved, ReservedDesc, State, Subresource,
    SwapchainDesc, TextureDesc, TileRegion, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Paging, Profile, Swapchain};
use test_random::Rng;

const MIB: u64 = 1 << 20;

fn evictable(size: u64, usage: Usage) -> BufferDesc {
    BufferDesc::new(size, usage).name("evictable").evictable()
}

/// Notes a use of a buffer, and has the simulated device see one.
fn read(recording: &mut Recording<Device>, buffer: &Buffer<Device>) {
    recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    recording.barriers();
    recording.raw().use_buffer(buffer.raw(), buffer.offset(), 64, State::NON_PIXEL_SHADER);
}

/// A structure, and its vertices, which may leave while nothing is built of them.
struct Rock {
    vertices: Buffer<Device>,
    structure: AccelerationStructure<Device>,
}

struct Scene {
    rng: Rng,
    rocks: Vec<Rock>,
    tables: Vec<Buffer<Device>>,
    paged: Vec<Buffer<Device>>,
    adopted: Buffer<Device>,
    tiles: Reserved<Device>,
    pages: PageAllocator<Device>,
    chain: Swapchain,
    gpu: Gpu<Device>,
}

impl Scene {
    fn new(profile: Profile, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let lag = [Lag::None, Lag::Submissions(3), Lag::Random { max: 9 }][rng.below(3) as usize];
        let options = DeviceConfig::new(profile).seed(seed).lag(lag).budgets([24 * MIB]);
        let device = Device::with_config(options.paging(Paging::PCIE4_X16));
        let info = BufferInfo::new(MIB, Usage::SHADER_READ | Usage::COPY_DST);
        let object = device.create_committed(&ResourceDesc::Buffer(info), MemoryTypeId(0)).unwrap();
        let gpu = Gpu::new(device, Config::default()).unwrap();
        let adopted = BufferDesc::new(MIB, Usage::SHADER_READ).name("adopted").evictable();
        let adopted = gpu.adopt_buffer(object, &adopted, State::COMMON).unwrap();
        let tiles = gpu.create_reserved(&ReservedDesc::buffer(MIB, Usage::SHADER_READ)).unwrap();
        let chain = Swapchain::new(&gpu, &SwapchainDesc::new([256, 256])).unwrap();
        let pages = gpu.create_pages(&PageAllocatorDesc::new(MIB));
        let (rocks, tables, paged) = (Vec::new(), Vec::new(), Vec::new());
        let mut scene = Self { rng, rocks, tables, paged, adopted, tiles, pages, chain, gpu };
        scene.gpu.upload(&scene.adopted, 0, &vec![1; MIB as usize]).unwrap();
        (0..8).for_each(|_| scene.add());
        scene
    }

    fn filled(&self, desc: &BufferDesc) -> Buffer<Device> {
        self.gpu.create_buffer_with(desc, &vec![3; desc.size as usize]).unwrap()
    }

    fn add(&mut self) {
        match self.rng.below(4) {
            0 => {
                let desc = evictable(4096, Usage::SHADER_BINDING_TABLE);
                self.tables.push(self.filled(&desc));
            }
            1 => {
                let buffer = self.pages.create_buffer(&evictable(100 << 10, Usage::SHADER_READ)).unwrap();
                self.gpu.upload(&buffer, 0, &[2; 64]).unwrap();
                self.paged.push(buffer);
            }
            _ => {
                let size = [40 << 10, MIB, 3 * MIB][self.rng.below(3) as usize];
                let vertices = self.filled(&evictable(size, Usage::SHADER_READ));
                let desc = AccelerationStructureDesc::bottom(64 << 10).name("rock");
                let structure = self.gpu.create_acceleration_structure(&desc).unwrap();
                self.rocks.push(Rock { vertices, structure });
            }
        }
    }

    fn drop_some(&mut self) {
        let nth = self.rng.below(64) as usize;
        if self.rocks.len() > 4 {
            self.rocks.swap_remove(nth % self.rocks.len());
        }
        if self.tables.len() > 2 {
            self.tables.swap_remove(nth % self.tables.len());
        }
        if self.paged.len() > 2 {
            self.paged.swap_remove(nth % self.paged.len());
        }
    }

    /// Builds structures of some vertices, and traces through them.
    fn build(&mut self, recording: &mut Recording<Device>) {
        let first = self.rng.below(self.rocks.len() as u64) as usize;
        let built: Vec<_> = self.rocks.iter().cycle().skip(first).take(2.min(self.rocks.len())).collect();
        let world = self.gpu.create_acceleration_structure(&AccelerationStructureDesc::top(4096)).unwrap();
        recording.use_structures(built.iter().map(|rock| &rock.structure)).unwrap();
        for rock in &built {
            read(recording, &rock.vertices);
            build(recording, &rock.structure, &[]);
        }
        recording.use_structures(built.iter().map(|rock| &rock.structure).chain([&world])).unwrap();
        build(recording, &world, &built.iter().map(|rock| &rock.structure).collect::<Vec<_>>());
        recording.use_structures([&world]).unwrap();
        self.tables.iter().for_each(|table| read(recording, table));
        recording.raw().trace_rays(world.raw());
    }

    /// A transient resource is never evictable, whatever its description.
    fn use_transient(recording: &mut Recording<Device>) {
        let desc = TextureDesc::d2(512, 512, Format::Rgba8Unorm, Usage::RENDER_TARGET).evictable();
        let target = recording.transient_texture(&desc).unwrap();
        recording.use_resource(&*target, Subresource::All, State::RENDER_TARGET).unwrap();
    }

    fn frame(&mut self) {
        let frame = self.gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "frame").unwrap();
        let image = self.chain.acquire().unwrap();
        if let Some(image) = &image {
            image.begin(&mut recording).unwrap();
            recording.use_resource(image.texture(), Subresource::All, State::RENDER_TARGET).unwrap();
            recording.barriers();
            recording.raw().use_texture(image.texture().raw(), Subresource::All, State::RENDER_TARGET);
        }
        if !self.rocks.is_empty() {
            self.build(&mut recording);
        }
        if self.rng.below(2) == 0 {
            Self::use_transient(&mut recording);
        }
        read(&mut recording, &self.adopted);
        self.paged.iter().for_each(|buffer| recording.make_resident(buffer).unwrap());
        if self.rng.below(4) == 0 {
            self.tiles.map(Queue::Graphics, TileRegion::buffer(0, 1 + self.rng.below(8) as u32)).unwrap();
            recording.use_resource(&self.tiles, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        }
        image.iter().for_each(|image| image.finish(&mut recording).unwrap());
        frame.submit(recording).unwrap();
        image.into_iter().for_each(|image| self.chain.present(image).unwrap());
        frame.end().unwrap();
    }

    fn step(&mut self) {
        match self.rng.below(8) {
            0 | 1 => self.add(),
            2 => self.drop_some(),
            3 => self.gpu.device().set_budget(0, (1 + self.rng.below(30)) * MIB).unwrap(),
            4 => {
                // Neither failure fails a submission: the call is repeated, or the block stays.
                let call = [CallKind::MakeResident, CallKind::Evict][self.rng.below(2) as usize];
                self.gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(call));
            }
            _ => {}
        }
        self.frame();
    }
}

fn build(
    recording: &mut Recording<Device>,
    structure: &AccelerationStructure<Device>,
    instances: &[&AccelerationStructure<Device>],
) {
    let (commands, scratch) = recording.split();
    let room = scratch.build_scratch(1000).unwrap();
    let instances: Vec<_> = instances.iter().map(|instance| instance.raw()).collect();
    let room = (room.raw(), room.offset(), room.size());
    commands.raw().build_acceleration_structure(structure.raw(), room, structure.size() / 2, &instances);
}

/// Random frames under a budget that changes at random, on devices that evict and on one that knows priorities.
#[test]
fn frames_of_every_kind_are_clean_under_paging() {
    for profile in [Profile::D3D12_TIER2, Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA] {
        let mut evictions = 0;
        for seed in 0..8 {
            let mut scene = Scene::new(profile, seed);
            (0..120).for_each(|_| scene.step());
            let calls = scene.gpu.device().calls();
            evictions += calls.made(CallKind::Evict) + calls.made(CallKind::SetPriority);
            let Scene { rocks, tables, paged, adopted, tiles, pages, chain, gpu, .. } = scene;
            let device = gpu.device().clone();
            device.faults().clear();
            drop((rocks, tables, paged, adopted, tiles, pages, chain));
            device.run_until_idle();
            (0..40).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
            gpu.trim();
            assert_eq!(gpu.memory().heaps[0].evicted, 0, "{profile:?}, seed {seed}");
            assert!(gpu.shutdown().is_clean(), "{profile:?}, seed {seed}");
            drop(gpu);
            device.check_clean().unwrap_or_else(|findings| panic!("{profile:?}, seed {seed}: {findings}"));
        }
        assert!(evictions > 50, "{evictions} with {profile:?}: the budgets are too large to test anything");
    }
}
