//! A program that makes any calls in any order, with a model of its written bytes.

use std::collections::HashMap;

use tenure_core::{
    Buffer, BufferDesc, BufferViewDesc, CompactionBudget, Config, DescriptorTable, DescriptorTableDesc,
    Format, Gpu, MovableId, Queue, Recording, State, Subresource, TexelData, Texture, TextureDesc,
    TextureViewDesc, Usage, View,
};
use tenure_sim::{Device, DeviceConfig, Lag, Paging, Profile};
use test_random::Rng;

use crate::buffers::{SOON, end, end_frame};

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;
pub(super) const ALL: CompactionBudget = CompactionBudget { bytes: 1 << 30, moves: 1000, pieces: 100_000 };

pub(super) fn paged(profile: Profile, seed: u64, config: Config) -> Gpu<Device> {
    let mut rng = Rng::new(seed);
    let lag = [Lag::None, Lag::Submissions(3), Lag::Random { max: 12 }][rng.below(3) as usize];
    let options = DeviceConfig::new(profile).lag(lag).seed(seed).paging(Paging::PCIE4_X16);
    Gpu::new(Device::with_config(options), config).unwrap()
}

pub(super) fn mesh(size: u64) -> BufferDesc {
    BufferDesc::new(size, Usage::SHADER_READ).movable().name("mesh")
}

pub(super) enum Thing {
    Buffer(Buffer<Device>),
    Texture(Texture<Device>, Vec<(u32, u32)>),
}

pub(super) struct Known {
    pub(super) thing: Thing,
    pub(super) byte: u8,
    /// The number of bytes written to a buffer.
    pub(super) written: u64,
    /// The size of a buffer's elements.
    stride: u32,
}

pub(super) struct World {
    pub(super) gpu: Gpu<Device>,
    pub(super) rng: Rng,
    pub(super) live: Vec<Known>,
    pub(super) shown: Vec<(View<Device>, Option<DescriptorTable<Device>>)>,
    pub(super) open: Vec<Recording<Device>>,
    pub(super) listed: HashMap<MovableId, u64>,
    pub(super) context: String,
    /// Many small things.
    pub(super) is_dense: bool,
    /// Others take the lists of moves.
    pub(super) shares: bool,
    pub(super) byte: u8,
}

impl Known {
    /// Compares its content with the written bytes. Returns its id and its number of moves.
    pub(super) fn look(&self, gpu: &Gpu<Device>, context: &str) -> (Option<MovableId>, u64) {
        match &self.thing {
            Thing::Buffer(buffer) => {
                let found = gpu.read_back(buffer, 0, self.written).unwrap().wait(SOON).unwrap();
                assert!(found.iter().all(|found| *found == self.byte), "{}", context);
                (buffer.movable_id(), buffer.moves())
            }
            Thing::Texture(texture, parts) => {
                for (mip, layer) in parts {
                    let region = texture.info().region(*mip, *layer);
                    let found = gpu.read_back_texture(texture, region).unwrap().wait(SOON).unwrap();
                    assert!(found.iter().all(|found| *found == self.byte), "{}", context);
                }
                (texture.movable_id(), texture.moves())
            }
        }
    }
}

impl Known {
    /// A buffer begins at a multiple of its stride, in its last place, too.
    fn begins_at_an_element(&self, context: &str) {
        if let Thing::Buffer(buffer) = &self.thing {
            assert!(buffer.first_element(self.stride).is_some(), "{context}");
        }
    }
}

impl World {
    pub(super) fn new(profile: Profile, seed: u64, config: Config) -> Self {
        let gpu = paged(profile, seed, config);
        Self {
            gpu,
            rng: Rng::new(seed ^ 0x5555),
            live: Vec::new(),
            shown: Vec::new(),
            open: Vec::new(),
            listed: HashMap::new(),
            context: format!("{profile:?} {seed}"),
            shares: false,
            is_dense: seed % 2 == 1,
            byte: 0,
        }
    }

    fn create_buffer(&mut self) {
        let size = [1, 300, 12 * KIB, 100 * KIB, 333_333, 900 * KIB, 3 * MIB, 17 * MIB];
        let rare = u64::from(self.rng.below(6) > 0);
        let size = size[self.rng.below(size.len() as u64 - rare) as usize];
        let usage = [
            Usage::SHADER_READ,
            Usage::SHADER_READ | Usage::UNORDERED_ACCESS,
            Usage::SHADER_READ | Usage::VERTEX,
        ];
        let usage = usage[self.rng.below(3) as usize];
        let mut desc = BufferDesc::new(size, usage).movable().name("mesh");
        let stride = [1, 12, 20][self.rng.below(3) as usize];
        desc = desc.stride(stride);
        if self.rng.below(2) == 0 {
            desc = desc.evictable();
        }
        if self.rng.below(4) == 0 {
            desc = desc.own_resource().alignment(1 << self.rng.below(17));
        }
        self.byte = self.byte.wrapping_add(1);
        let written = if self.rng.below(4) == 0 { 1 + size / 2 } else { size }.min(size);
        if let Ok(buffer) = self.gpu.create_buffer_with(&desc, &vec![self.byte; written as usize]) {
            self.live.push(Known { thing: Thing::Buffer(buffer), byte: self.byte, written, stride });
        }
    }

    fn create_small(&mut self) {
        self.byte = self.byte.wrapping_add(1);
        if self.rng.below(3) == 0 {
            let desc =
                TextureDesc::d2(128, 128, Format::Rgba8Unorm, Usage::SHADER_READ).movable().name("grass");
            let desc = if self.rng.below(3) == 0 { desc.evictable() } else { desc };
            if let Ok(texture) =
                self.gpu.create_texture_with(&desc, &[TexelData::new(&vec![self.byte; 64 << 10])])
            {
                self.live.push(Known {
                    thing: Thing::Texture(texture, vec![(0, 0)]),
                    byte: self.byte,
                    written: 0,
                    stride: 1,
                });
            }
            return;
        }
        let size = [3 * KIB, 20 * KIB, 70 * KIB][self.rng.below(3) as usize];
        let desc = if self.rng.below(3) == 0 { mesh(size).evictable() } else { mesh(size) };
        if let Ok(buffer) = self.gpu.create_buffer_with(&desc, &vec![self.byte; size as usize]) {
            self.live.push(Known { thing: Thing::Buffer(buffer), byte: self.byte, written: size, stride: 1 });
        }
    }

    fn create_texture(&mut self) {
        let side = [1, 16, 64, 256, 300, 1024][self.rng.below(6) as usize];
        let format = [Format::Rgba8Unorm, Format::R8Unorm, Format::D32Float, Format::Rgba16Float]
            [self.rng.below(4) as usize];
        let usage = match format {
            Format::D32Float => Usage::DEPTH_STENCIL | Usage::SHADER_READ,
            _ => [Usage::SHADER_READ, Usage::SHADER_READ | Usage::RENDER_TARGET][self.rng.below(2) as usize],
        };
        let mut desc = TextureDesc::d2(side, side, format, usage).movable().name("grass");
        let levels = if side == 1 { 1 } else { 1 + self.rng.below(5) as u32 };
        desc = desc.mips(levels.min(32 - side.leading_zeros())).layers(1 + self.rng.below(3) as u32);
        if self.rng.below(2) == 0 {
            desc = desc.evictable();
        }
        self.byte = self.byte.wrapping_add(1);
        if let Ok(texture) = self.gpu.create_texture(&desc) {
            let mut known =
                Known { thing: Thing::Texture(texture, Vec::new()), byte: self.byte, written: 0, stride: 1 };
            for _ in 0..self.rng.below(4) {
                Self::fill_part(&self.gpu, &mut self.rng, &mut known);
            }
            self.live.push(known);
        }
    }

    fn fill_part(gpu: &Gpu<Device>, rng: &mut Rng, known: &mut Known) {
        let byte = known.byte;
        let Thing::Texture(texture, parts) = &mut known.thing else { return };
        let mip = rng.below(texture.info().mips.into()) as u32;
        let layer = rng.below(texture.info().layers().into()) as u32;
        let region = texture.info().region(mip, layer);
        let block = region.block(texture.info().format);
        let [w, h, d] = region.extent;
        let data = vec![byte; (w * h * d * block.bytes) as usize];
        if gpu.upload_texture(texture, region, TexelData::new(&data)).is_ok()
            && !parts.contains(&(mip, layer))
        {
            parts.push((mip, layer));
        }
    }

    fn index(&mut self) -> Option<usize> {
        (!self.live.is_empty()).then(|| self.rng.below(self.live.len() as u64) as usize)
    }

    fn draw(&mut self, queue: Queue) -> Option<Recording<Device>> {
        let mut recording = self.gpu.record(queue, "draw").ok()?;
        let start = self.index()?;
        let n = self.rng.below(12) as usize;
        let step = 1 + self.rng.below(4) as usize;
        for known in self.live.iter().cycle().skip(start).step_by(step).take(n) {
            match &known.thing {
                Thing::Buffer(buffer) => {
                    if recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).is_err() {
                        continue;
                    }
                    let (commands, scratch) = recording.split();
                    if let Ok(place) = scratch.buffer(buffer) {
                        commands.raw().use_buffer(
                            place.raw(),
                            place.offset(),
                            known.written,
                            State::NON_PIXEL_SHADER,
                        );
                    }
                }
                Thing::Texture(texture, parts) => {
                    for (mip, layer) in parts {
                        let part = Subresource::One(layer * texture.info().mips + mip);
                        if recording.use_resource(texture, part, State::NON_PIXEL_SHADER).is_err() {
                            continue;
                        }
                        let (commands, scratch) = recording.split();
                        if let Ok(object) = scratch.texture(texture) {
                            commands.raw().use_texture(object, part, State::NON_PIXEL_SHADER);
                        }
                    }
                }
            }
        }
        for (view, table) in self.shown.iter().take(self.rng.below(4) as usize) {
            let (_, scratch) = recording.split();
            if let Some(table) = table {
                let _maybe = scratch.table(table);
            }
            let _maybe = scratch.view(view);
        }
        Some(recording)
    }

    fn show(&mut self) {
        let Some(index) = self.index() else { return };
        let view = match &self.live[index].thing {
            Thing::Buffer(buffer) if buffer.size() >= 256 => {
                self.gpu.create_buffer_view(buffer, &BufferViewDesc::raw().range(0, 256))
            }
            Thing::Texture(texture, _) => self.gpu.create_texture_view(texture, &TextureViewDesc::sampled()),
            _ => return,
        };
        if let Ok(view) = view {
            let mut binds = vec![(&view).into()];
            for (other, _) in self.shown.iter().take(3) {
                binds.push(other.into());
            }
            let table = self.gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds)).ok();
            drop(binds);
            self.shown.push((view, table));
        }
    }

    pub(super) fn step(&mut self) {
        let queue = [Queue::Graphics, Queue::Compute, Queue::Copy][self.rng.below(3) as usize];
        match self.rng.below(32) {
            0..=3 if self.is_dense => (0..12).for_each(|_| self.create_small()),
            0..=3 => self.create_buffer(),
            4..=6 => self.create_texture(),
            7..=9 => {
                if let Some(index) = self.index() {
                    self.live.swap_remove(index);
                }
            }
            10 if self.live.len() > if self.is_dense { 200 } else { 50 } => {
                let rng = &mut self.rng;
                self.live.retain(|_| rng.below(4) == 0)
            }
            11 | 12 => self.show(),
            13 if !self.shown.is_empty() => {
                let at = self.rng.below(self.shown.len() as u64) as usize;
                self.shown.swap_remove(at);
            }
            14 if self.open.len() < 4 => {
                let made = self.draw(queue);
                self.open.extend(made);
            }
            15 => {
                if !self.open.is_empty() {
                    let at = self.rng.below(self.open.len() as u64) as usize;
                    let recording = self.open.swap_remove(at);
                    match self.rng.below(8) {
                        0 => drop(recording),
                        _ => drop(recording.submit()),
                    }
                }
            }
            16..=18 => {
                let mib = [1, 8, 20, 40, 2000][self.rng.below(5) as usize];
                self.gpu.device().set_budget(0, mib * MIB).unwrap();
            }
            19 => {
                let cap = [None, Some(20 * MIB), Some(60 * MIB)][self.rng.below(3) as usize];
                self.gpu.set_memory_cap(0, cap).unwrap();
            }
            20 | 21 => {
                if let Some(at) = self.index() {
                    let known = &mut self.live[at];
                    match &mut known.thing {
                        Thing::Buffer(buffer) => {
                            let byte = self.byte.wrapping_add(101);
                            if self.gpu.upload(buffer, 0, &vec![byte; known.written as usize]).is_ok() {
                                known.byte = byte;
                            }
                        }
                        Thing::Texture(..) => Self::fill_part(&self.gpu, &mut self.rng, known),
                    }
                }
            }
            22 => {
                if self.rng.below(8) == 0
                    && let Some(at) = self.index()
                {
                    match &self.live[at].thing {
                        Thing::Buffer(b) => {
                            let _ = b.raw();
                        }
                        Thing::Texture(t, _) => {
                            let _ = t.raw();
                        }
                    }
                }
            }
            23 => {
                let budget = CompactionBudget {
                    bytes: [10_000, 1 << 20, 1 << 30][self.rng.below(3) as usize],
                    moves: [1, 7, 1000][self.rng.below(3) as usize],
                    pieces: [1, 20, 10_000][self.rng.below(3) as usize],
                };
                let _maybe = self.gpu.compact(budget);
            }
            24 if !self.shares => self.note_listed(),
            25 => {
                self.gpu.trim();
            }
            _ => {
                if let Ok(frame) = self.gpu.begin_frame() {
                    if let Some(recording) = self.draw(Queue::Graphics) {
                        let _maybe = frame.submit(recording);
                    }
                    let _maybe = frame.end();
                }
            }
        }
    }

    fn note_listed(&mut self) {
        for moved in self.gpu.take_moved() {
            let before = self.listed.insert(moved.id, moved.moves).unwrap_or(0);
            assert!(moved.moves > before, "{}", self.context);
        }
    }

    pub(super) fn end(mut self) -> u64 {
        self.gpu.device().faults().clear();
        self.open.clear();
        self.gpu.set_memory_cap(0, None).unwrap();
        self.gpu.device().set_budget(0, 4096 * MIB).unwrap();
        (0..100).for_each(|_| end_frame(&self.gpu));
        self.note_listed();
        let moves = self.gpu.compaction_stats().moves;
        for known in &self.live {
            let (id, moves) = known.look(&self.gpu, &self.context);
            if moves > 0 {
                assert_eq!(self.listed.get(&id.unwrap()), Some(&moves), "{}", self.context);
            }
        }
        let bytes = self.gpu.compaction_stats().bytes;
        (0..200).for_each(|_| end_frame(&self.gpu));
        let idle = self.gpu.compaction_stats().bytes - bytes;
        assert!(idle < 64 * MIB, "{}: {idle} B moved while idle", self.context);
        let bytes = self.gpu.compaction_stats().bytes;
        (0..200).for_each(|_| end_frame(&self.gpu));
        assert_eq!(self.gpu.compaction_stats().bytes, bytes, "{}: it never ends", self.context);
        let Self { gpu, live, shown, context, .. } = self;
        live.iter().for_each(|known| known.begins_at_an_element(&context));
        drop((live, shown));
        assert!(gpu.device().run_until_idle());
        assert_eq!(gpu.device().take_hazards(), [], "{context}");
        end(gpu);
        moves
    }
}
