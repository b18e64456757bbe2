//! Things that are last used together come to lie together, where blocks have to leave the memory.

use std::collections::BTreeMap;

use tenure_core::device::{State, Subresource};
use tenure_core::{
    Buffer, BufferDesc, CompactionConfig, Config, Format, Gpu, Queue, TexelData, TextureDesc, Usage,
};
use tenure_sim::{Device, Lag, Options, Paging, Profile};
use test_random::Rng;

use crate::buffers::{SOON, end, end_frame};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn gpu(profile: Profile, config: Config) -> Gpu<Device> {
    let options = Options::new(profile).lag(Lag::Submissions(2)).paging(Paging::PCIE4_X16);
    Gpu::new(Device::with_options(options), config).unwrap()
}

/// Uses buffers in a frame.
fn draw<'a>(gpu: &Gpu<Device>, buffers: impl Iterator<Item = &'a Buffer<Device>>) {
    let frame = gpu.begin_frame().unwrap();
    let mut recording = frame.record(Queue::Graphics, "draw").unwrap();
    for buffer in buffers {
        recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        let (commands, scratch) = recording.split();
        let place = scratch.buffer(buffer).unwrap();
        commands.raw().use_buffer(place.raw(), place.offset(), place.size(), State::NON_PIXEL_SHADER);
    }
    frame.submit(recording).unwrap();
    frame.end().unwrap();
}

/// Buffers of which every eighth is used in the same frames, with their content. Each block has things of four groups.
struct World {
    gpu: Gpu<Device>,
    buffers: Vec<Buffer<Device>>,
}

const GROUPS: usize = 8;

/// For two thirds of all.
const BUDGET: u64 = 22 * MIB;

impl World {
    fn new(config: Config) -> Self {
        let gpu = gpu(Profile::DISCRETE, config);
        let desc = BufferDesc::new(256 * KIB, Usage::SHADER_READ).evictable().movable();
        let buffers = (0..128_u8).map(|number| {
            let desc = desc.clone().name(format!("{number}"));
            gpu.create_buffer_with(&desc, &vec![number; 256 << 10]).unwrap()
        });
        let buffers = buffers.collect();
        end_frame(&gpu);
        Self { gpu, buffers }
    }

    /// Each group is used in some frames, one after the other.
    fn round(&self) {
        for group in 0..GROUPS {
            for _ in 0..20 {
                draw(&self.gpu, self.buffers.iter().skip(group).step_by(GROUPS));
            }
        }
    }

    /// The groups that have things in each block.
    fn groups_by_block(&self) -> BTreeMap<(String, Option<usize>), Vec<usize>> {
        let mut found = BTreeMap::<_, Vec<_>>::new();
        for object in self.gpu.report().objects {
            let Ok(number) = object.name.parse::<usize>() else { continue };
            let block = (format!("{:?}", object.pool), object.block);
            let groups = found.entry(block).or_default();
            if !groups.contains(&(number % GROUPS)) {
                groups.push(number % GROUPS);
            }
        }
        found
    }

    fn paged_in(&self) -> u64 {
        self.gpu.device().paging_stats().bytes_in()
    }

    fn end(self) {
        let Self { gpu, buffers } = self;
        gpu.device().set_budget(0, 4096 * MIB).unwrap();
        for (number, buffer) in buffers.iter().enumerate() {
            let found = gpu.read_back(buffer, 0, buffer.size()).unwrap().wait(SOON).unwrap();
            assert!(found.iter().all(|byte| usize::from(*byte) == number), "{number}");
        }
        drop(buffers);
        end(gpu);
    }
}

/// Where two thirds of everything fit, a program that uses one group after the other pages in less once each has blocks of its
/// own; then nothing moves any more.
#[test]
fn what_is_used_together_shares_blocks() {
    let off = CompactionConfig { is_automatic: false, ..CompactionConfig::default() };
    let [gathers, stays] = [Config::default(), Config::from(off)].map(|config| {
        let world = World::new(config);
        world.gpu.device().set_budget(0, BUDGET).unwrap();
        (0..3).for_each(|_| world.round());
        let (before, moved) = (world.paged_in(), world.gpu.compaction_stats().bytes);
        (0..3).for_each(|_| world.round());
        assert_eq!(world.gpu.compaction_stats().bytes, moved, "nothing moves twice");
        let (paged, mixed) = (world.paged_in() - before, world.groups_by_block());
        let mixed = mixed.values().filter(|groups| groups.len() > 1).count();
        world.end();
        (paged, moved, mixed)
    });
    let (paged, moved, mixed) = gathers;
    assert!((24 * MIB..=36 * MIB).contains(&moved), "each about once: {moved}");
    assert_eq!((stays.1, stays.2), (0, 32));
    assert!(mixed < 8, "what has no company stays where it is: {mixed}");
    assert!(paged < stays.0 / 10 * 9, "{paged} of {}", stays.0);
}

/// Where everything fits nothing is gathered, and what is pinned stays.
#[test]
fn nothing_is_gathered_without_need_or_leave() {
    let world = World::new(Config::default());
    (0..2).for_each(|_| world.round());
    assert_eq!(world.gpu.compaction_stats().bytes, 0);
    let pinned = &world.buffers[5];
    let (before, offset) = (pinned.moves(), pinned.offset());
    world.gpu.device().set_budget(0, BUDGET).unwrap();
    (0..3).for_each(|_| world.round());
    assert!(world.gpu.compaction_stats().bytes > 16 * MIB);
    assert_eq!((pinned.moves(), pinned.offset()), (before, offset));
    world.end();
}

/// What moves is listed once, wherever it moves to.
#[test]
fn what_was_gathered_is_listed() {
    let world = World::new(Config::default());
    world.gpu.device().set_budget(0, BUDGET).unwrap();
    (0..3).for_each(|_| world.round());
    let listed = world.gpu.take_moved();
    let moved = world.buffers.iter().filter(|buffer| buffer.moves() > 0);
    let (mut listed, mut moved): (Vec<_>, Vec<_>) = (
        listed.iter().map(|found| (Some(found.id), found.moves)).collect(),
        moved.map(|buffer| (buffer.movable_id(), buffer.moves())).collect(),
    );
    listed.sort_unstable();
    moved.sort_unstable();
    assert!(!listed.is_empty() && listed == moved, "{listed:?} {moved:?}");
    assert_eq!(world.gpu.take_moved(), []);
    world.end();
}

/// Random programs of small things whose memory is short now and then: nothing is lost, wherever it is gathered.
fn random(profile: Profile, seed: u64) -> u64 {
    let mut rng = Rng::new(seed);
    let gpu = gpu(profile, Config::default());
    let (mut buffers, mut textures) = (Vec::new(), Vec::new());
    let mut open = Vec::new();
    for step in 0..600_u64 {
        let byte = step as u8;
        for _ in 0..if step < 40 { 4 } else { u64::from(rng.below(4) == 0) } {
            let size = [700, 20 * KIB, 130 * KIB, 500 * KIB, 2 * MIB][rng.below(5) as usize];
            let desc = BufferDesc::new(size, Usage::SHADER_READ).movable().evictable().name("mesh");
            // Some have content in a part of them alone.
            let written = if rng.below(4) == 0 { size / 2 } else { size };
            let made = gpu.create_buffer_with(&desc, &vec![byte; written as usize]).unwrap();
            buffers.push((made, byte, written));
            let desc =
                TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::RENDER_TARGET);
            let desc = desc.movable().evictable().name("grass");
            let texels = vec![byte; 256 << 10];
            textures.push((gpu.create_texture_with(&desc, &[TexelData::new(&texels)]).unwrap(), byte));
        }
        match rng.below(8) {
            0 => drop(buffers.swap_remove(rng.below(buffers.len() as u64) as usize)),
            1 => drop(textures.swap_remove(rng.below(textures.len() as u64) as usize)),
            2 => gpu.device().set_budget(0, [8, 20, 40, 2000][rng.below(4) as usize] * MIB).unwrap(),
            3 if open.len() < 3 => open.push(gpu.record(Queue::Graphics, "open").unwrap()),
            3 => drop(open.pop().map(|recording| recording.submit().unwrap())),
            _ => {}
        }
        // Some in a row, which come and go together.
        let first = (step / 30 * 17) as usize;
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "draw").unwrap();
        for (buffer, ..) in buffers.iter().cycle().skip(first % buffers.len()).step_by(3).take(6) {
            recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        }
        for (texture, _) in textures.iter().cycle().skip(first % textures.len()).step_by(5).take(6) {
            recording.use_resource(texture, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
        }
        frame.submit(recording).unwrap();
        frame.end().unwrap();
    }
    open.clear();
    gpu.device().set_budget(0, 4096 * MIB).unwrap();
    let moves = gpu.compaction_stats().moves;
    for (buffer, byte, written) in &buffers {
        let found = gpu.read_back(buffer, 0, *written).unwrap().wait(SOON).unwrap();
        assert!(found.iter().all(|found| found == byte), "{profile:?} {seed}");
    }
    for (texture, byte) in &textures {
        let found = gpu.read_back_texture(texture, texture.info().region(0, 0)).unwrap().wait(SOON).unwrap();
        assert!(found.iter().all(|found| found == byte), "{profile:?} {seed}");
    }
    drop((buffers, textures));
    assert_eq!(gpu.device().take_hazards(), [], "{profile:?} {seed}");
    end(gpu);
    moves
}

#[test]
fn random_programs_keep_their_content() {
    let profiles = [Profile::DISCRETE, Profile::VULKAN_NVIDIA, Profile::D3D12_TIER1, Profile::D3D12_ENHANCED];
    let moves: u64 = (0..8).map(|seed| random(profiles[seed as usize % profiles.len()], seed)).sum();
    assert!(moves > 200, "{moves}");
}
