//! The first and the last bytes of resources in every kind of location, while other resources are created and
//! dropped.

use std::collections::{BTreeMap, VecDeque};

use tenure_core::device::{Device, Features, MemoryDevice as _, ResourceDesc};
use tenure_core::memory::{MemoryUse, type_order};
use tenure_core::time::SyncPoint;
use tenure_core::{
    Buffer, BufferDesc, BufferInfo, Config, Format, FrameConfig, LocationKind, PageAllocator,
    PageAllocatorDesc, PoolConfig, Queue, Recording, ReservedDesc, State, Subresource, TextureDesc,
    TileRegion, Usage,
};

use crate::Harness;
use crate::bench::{Bench, assert_bytes};
use crate::edges::{EDGES, Edge, Kind, Thing, map_all};
use test_random::Rng;

const OPERATIONS_A_FRAME: usize = 16;
const MOST_ALIVE: usize = 160;
const MOST_RESERVED: usize = 6;
const COPIES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);

struct Kept<D: Device> {
    thing: Thing<D>,
    kind: Kind,
    /// The first and the last bytes that the resource must have.
    edges: [Vec<u8>; 2],
}

/// A pending copy to the CPU.
struct Checked<D: Device> {
    readback: Buffer<D>,
    expected: Vec<u8>,
    what: String,
}

struct Program<'b, 'h, H: Harness> {
    bench: &'b Bench<'h, H>,
    rng: Rng,
    pages: PageAllocator<H::Device>,
    kept: Vec<Kept<H::Device>>,
    checked: Vec<Checked<H::Device>>,
    in_flight: VecDeque<(SyncPoint, Vec<Checked<H::Device>>)>,
    checks: BTreeMap<Kind, usize>,
}

impl<H: Harness> Program<'_, '_, H> {
    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.rng.below(choices.len() as u64)).unwrap()]
    }

    fn buffer_desc(&mut self, usage: Usage, bits: u64) -> BufferDesc {
        BufferDesc::new(1 + self.rng.size(bits), usage | COPIES).name("thing")
    }

    fn texture_desc(&mut self) -> TextureDesc {
        let usage = self.pick(&[
            Usage::SHADER_READ,
            Usage::SHADER_READ,
            Usage::SHADER_READ | Usage::UNORDERED_ACCESS,
            Usage::RENDER_TARGET,
        ]);
        let format = self.pick(&[Format::Rgba8Unorm, Format::Rgba16Float, Format::R32Float]);
        let mut side = || 2 + u32::try_from(self.rng.below(150)).unwrap();
        let (width, height) = (side(), side());
        let mips = 1 + u32::try_from(self.rng.below(3)).unwrap().min(width.max(height).ilog2());
        let layers = 1 + u32::try_from(self.rng.below(3)).unwrap();
        TextureDesc::d2(width, height, format, usage | COPIES).mips(mips).layers(layers).name("thing")
    }

    /// A resource of a random kind.
    fn make(&mut self, recording: &mut Recording<H::Device>) -> Thing<H::Device> {
        let gpu = &self.bench.gpu;
        match self.rng.below(12) {
            0 | 1 => Thing::Buffer(gpu.create_buffer(&self.buffer_desc(Usage::VERTEX, 14)).unwrap()),
            2 => Thing::Buffer(gpu.create_buffer(&self.buffer_desc(Usage::SHADER_READ, 16)).unwrap()),
            3 => Thing::Buffer(gpu.create_buffer(&self.buffer_desc(Usage::UNORDERED_ACCESS, 16)).unwrap()),
            4 => {
                let size = (130 << 10) + self.rng.below(100_000);
                let desc = BufferDesc::new(size, Usage::INDEX | COPIES).name("thing");
                Thing::Buffer(gpu.create_buffer(&desc).unwrap())
            }
            5..8 => Thing::Texture(gpu.create_texture(&self.texture_desc()).unwrap()),
            8 => {
                let desc = TextureDesc::d2(700, 500, Format::Rgba8Unorm, Usage::SHADER_READ | COPIES);
                Thing::Texture(gpu.create_texture(&desc.name("thing")).unwrap())
            }
            9 => self.make_in_page(),
            10 => self.make_adopted(recording),
            _ => self.make_reserved(),
        }
    }

    fn make_in_page(&mut self) -> Thing<H::Device> {
        if self.rng.below(2) == 0 {
            let desc = self.buffer_desc(Usage::VERTEX, 15);
            Thing::Buffer(self.pages.create_buffer(&desc).unwrap())
        } else {
            let desc = self.texture_desc();
            Thing::Texture(self.pages.create_texture(&desc).unwrap())
        }
    }

    /// A resource that the program created without tenure and passes to it.
    fn make_adopted(&mut self, recording: &mut Recording<H::Device>) -> Thing<H::Device> {
        let gpu = &self.bench.gpu;
        let commit = |resource: &ResourceDesc| {
            let needs = gpu.device().requirements(resource).unwrap();
            let order = type_order(gpu.device().properties(), MemoryUse::GpuOnly);
            let memory = order.into_iter().find(|memory| needs.memory_types >> memory.0 & 1 == 1).unwrap();
            gpu.device().create_committed(resource, memory).unwrap()
        };
        if self.rng.below(2) == 0 {
            let desc = self.buffer_desc(Usage::VERTEX, 15);
            let object = commit(&ResourceDesc::Buffer(BufferInfo::new(desc.size, desc.usage)));
            Thing::Buffer(gpu.adopt_buffer(object, &desc, State::COMMON).unwrap())
        } else {
            let desc = self.texture_desc();
            let object = commit(&ResourceDesc::Texture(desc.info.clone()));
            let texture = gpu.adopt_texture(object, &desc, State::COMMON).unwrap();
            if desc.info.usage.contains(Usage::RENDER_TARGET) {
                recording.discard(&texture, Subresource::All).unwrap();
            }
            Thing::Texture(texture)
        }
    }

    /// A reserved resource with all its tiles mapped; a resource of another kind if the device has none, or if
    /// enough are alive.
    fn make_reserved(&mut self) -> Thing<H::Device> {
        let features = self.bench.properties().features;
        let sparse = |kept: &&Kept<_>| kept.kind.0 == LocationKind::Reserved;
        if self.kept.iter().filter(sparse).count() >= MOST_RESERVED {
            return self.make_in_page();
        }
        if self.rng.below(2) == 0 && features.contains(Features::RESERVED_BUFFERS) {
            let tiles = 1 + u32::try_from(self.rng.below(4)).unwrap();
            let size = u64::from(tiles) * self.bench.properties().tile_size;
            let desc = ReservedDesc::buffer(size, Usage::SHADER_READ | COPIES).name("thing");
            let reserved = self.bench.gpu.create_reserved(&desc).unwrap();
            reserved.map(Queue::Graphics, TileRegion::buffer(0, tiles)).unwrap();
            Thing::SparseBuffer(reserved, size)
        } else if features.contains(Features::RESERVED_TEXTURES) {
            let usage = Usage::SHADER_READ | COPIES;
            let info = TextureDesc::d2(300, 200, Format::Rgba8Unorm, usage).mips(3).info;
            let desc = ReservedDesc::texture(info.clone()).name("thing");
            let reserved = self.bench.gpu.create_reserved(&desc).unwrap();
            map_all(&reserved);
            Thing::SparseTexture(reserved, info)
        } else {
            self.make_in_page()
        }
    }

    fn create(&mut self, recording: &mut Recording<H::Device>) {
        let thing = self.make(recording);
        let kind = thing.kind();
        let edges = EDGES.map(|edge| self.write(recording, &thing, edge));
        self.kept.push(Kept { thing, kind, edges });
    }

    fn pitch(&self) -> u64 {
        self.bench.properties().copy_pitch_alignment
    }

    /// Fills an edge with new bytes through a staging buffer, which is dropped at once.
    fn write(
        &mut self,
        recording: &mut Recording<H::Device>,
        thing: &Thing<H::Device>,
        edge: Edge,
    ) -> Vec<u8> {
        let bytes = self.rng.bytes(thing.edge_size(edge));
        let staging = self.bench.staging(&bytes);
        thing.fill(recording, &staging, edge, self.pitch());
        bytes
    }

    /// Records a copy of an edge to the CPU; the bytes are compared when the copy is complete.
    fn check(&mut self, recording: &mut Recording<H::Device>, index: usize, edge: Edge) {
        let (thing, kind) = (&self.kept[index].thing, self.kept[index].kind);
        let expected = self.kept[index].edges[edge as usize].clone();
        let readback = self.bench.readback(expected.len() as u64);
        thing.copy_out(recording, &readback, edge, self.pitch());
        *self.checks.entry(kind).or_default() += 1;
        let what = format!("the {edge:?} bytes of a {:?} {}", kind.0, kind.1);
        self.checked.push(Checked { readback, expected, what });
    }

    fn operation(&mut self, recording: &mut Recording<H::Device>) {
        let alive = self.kept.len();
        if alive == 0 {
            return self.create(recording);
        }
        let index = usize::try_from(self.rng.below(alive as u64)).unwrap();
        let edge = self.pick(&EDGES);
        match self.rng.below(10) {
            0..4 if alive < MOST_ALIVE => self.create(recording),
            0..5 => {
                // A resource keeps its bytes until it is dropped.
                EDGES.into_iter().for_each(|edge| self.check(recording, index, edge));
                self.kept.swap_remove(index);
            }
            5 => {
                let mut kept = self.kept.swap_remove(index);
                kept.edges[edge as usize] = self.write(recording, &kept.thing, edge);
                self.kept.push(kept);
            }
            _ => self.check(recording, index, edge),
        }
    }

    fn frame(&mut self) {
        let frame = self.bench.gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "locations").unwrap();
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
        for Checked { readback, expected, what } in arrived {
            let mut found = vec![0; expected.len()];
            readback.read(0, &mut found).unwrap();
            assert_bytes(&found, &expected, &what);
        }
    }

    fn finish(mut self) -> BTreeMap<Kind, usize> {
        let mut recording = self.bench.gpu.record(Queue::Graphics, "last checks").unwrap();
        for index in 0..self.kept.len() {
            EDGES.into_iter().for_each(|edge| self.check(&mut recording, index, edge));
        }
        let done = recording.submit().unwrap();
        self.in_flight.push_back((done, std::mem::take(&mut self.checked)));
        while !self.in_flight.is_empty() {
            self.arrive();
        }
        std::mem::take(&mut self.checks)
    }
}

/// The kinds of location that the program must have used.
fn expected(features: Features) -> Vec<Kind> {
    let mut kinds = vec![(LocationKind::Range, "buffer")];
    for what in ["buffer", "texture"] {
        kinds.extend([
            (LocationKind::Placed, what),
            (LocationKind::Committed, what),
            (LocationKind::Page, what),
            (LocationKind::Adopted, what),
        ]);
    }
    let reserved = [("buffer", Features::RESERVED_BUFFERS), ("texture", Features::RESERVED_TEXTURES)];
    let offered = reserved.into_iter().filter(|(_, feature)| features.contains(*feature));
    kinds.extend(offered.map(|(what, _)| (LocationKind::Reserved, what)));
    kinds
}

/// Buffers and textures in every kind of location keep their first and last bytes as long as they live, through
/// thousands of random creations, writes, reads and drops.
pub fn edges_survive_in_every_location<H: Harness>(harness: &H) {
    let config = Config::default()
        .pools(PoolConfig::default().max_pooled_buffer(128 << 10).max_texture_block(1 << 20))
        .frames(FrameConfig::default().idle(2));
    let bench = Bench::with(harness, config);
    let pages = bench.gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("pages"));
    let program = Program {
        bench: &bench,
        rng: Rng::new(13),
        pages,
        kept: Vec::new(),
        checked: Vec::new(),
        in_flight: VecDeque::new(),
        checks: BTreeMap::new(),
    };
    let checks = run(program, harness.effort().operations);
    for kind in expected(bench.properties().features) {
        let count = checks.get(&kind).copied().unwrap_or(0);
        assert!(count >= 10, "{kind:?} was compared {count} times only: {checks:?}");
    }
    bench.end();
}

fn run<H: Harness>(mut program: Program<'_, '_, H>, operations: usize) -> BTreeMap<Kind, usize> {
    for _ in 0..operations / OPERATIONS_A_FRAME {
        program.frame();
    }
    program.finish()
}
