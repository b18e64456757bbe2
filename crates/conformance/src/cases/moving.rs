//! Movable resources: every byte of moved resources is compared, also through shader reads.

use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::{
    Buffer, BufferDesc, CompactionBudget, CompactionConfig, Config, DescriptorTable, DescriptorTableDesc,
    Format, PoolConfig, Queue, State, Subresource, Texture, TextureDesc, TextureViewDesc, Usage, View,
};

use crate::bench::{Bench, assert_bytes};
use crate::texels::{Texels, assert_texels, compressed, random};
use crate::{Harness, Look, Through};
use test_random::Rng;

const BUDGET: CompactionBudget = CompactionBudget { bytes: 8 << 20, moves: 64, pieces: 1000 };

/// Nothing moves by itself.
fn by_hand<H: Harness>(harness: &H) -> Bench<'_, H> {
    let compaction = CompactionConfig::default().is_automatic(false);
    Bench::with(harness, Config::from(compaction))
}

/// One in eight of them.
fn sparse<T>(bench: &Bench<'_, impl Harness>, all: Vec<T>) -> Vec<T> {
    let kept = all.into_iter().enumerate().filter(|(index, _)| index % 8 == 3).map(|(_, kept)| kept);
    let kept = kept.collect();
    bench.finish();
    kept
}

impl<H: Harness> Bench<'_, H> {
    /// Ends frames until nothing is left to move; how much has moved.
    fn compact(&self) -> usize {
        let mut moves = 0;
        for _ in 0..1000 {
            let frame = self.gpu.begin_frame().unwrap();
            let report = self.gpu.compact(BUDGET).unwrap();
            frame.end().unwrap();
            moves += report.moves;
            if report.is_done {
                return moves;
            }
            self.harness.settle();
        }
        panic!("compaction does not end");
    }
}

/// Buffers of several sizes, strides and uses, with their contents.
fn buffers<H: Harness>(bench: &Bench<'_, H>, rng: &mut Rng) -> Vec<(Buffer<H::Device>, Vec<u8>)> {
    let uses = [Usage::VERTEX, Usage::SHADER_READ, Usage::INDIRECT, Usage::UNORDERED_ACCESS];
    let make = |index: usize| {
        let size = [60, 5_000, 70_000][index / 8 % 3];
        let desc = BufferDesc::new(size, uses[index % 4]).stride([1, 12][index / 4 % 2]).name("moved");
        let bytes = rng.bytes(size);
        (bench.gpu.create_buffer_with(&desc.movable(), &bytes).unwrap(), bytes)
    };
    (0..1200).map(make).collect()
}

/// Buffers keep their bytes, whatever they are used as.
pub fn buffers_that_move_keep_their_bytes<H: Harness>(harness: &H) {
    let bench = by_hand(harness);
    let mut rng = Rng::new(101);
    let all = buffers(&bench, &mut rng);
    let kept: Vec<_> = all.into_iter().filter(|_| rng.below(10) == 0).collect();
    bench.finish();
    assert!(bench.compact() > 0);
    assert!(kept.iter().any(|(buffer, _)| buffer.moves() > 0));
    for (buffer, bytes) in &kept {
        assert_bytes(&bench.download(buffer, 0, buffer.size()), bytes, "what has moved");
    }
    drop(kept);
    bench.end();
}

/// Shapes of textures that pools hold.
fn descs<H: Harness>(bench: &Bench<'_, H>) -> Vec<TextureDesc> {
    let usage = Usage::SHADER_READ;
    let mut descs = vec![
        TextureDesc::d2(100, 60, Format::Rgba8Unorm, usage).mips(6).layers(2),
        TextureDesc::d2(64, 64, Format::R32Uint, usage | Usage::UNORDERED_ACCESS),
        TextureDesc::d2(160, 90, Format::Rgba16Float, usage | Usage::RENDER_TARGET),
        TextureDesc::d3(20, 12, 7, Format::Rg8Unorm, usage).mips(3),
    ];
    let blocks = compressed(bench.gpu.device());
    descs.extend(blocks.map(|format| TextureDesc::d2(128, 64, format, usage).mips(8).layers(2)));
    descs
}

/// Textures keep the texels of all mips and layers.
pub fn textures_that_move_keep_their_texels<H: Harness>(harness: &H) {
    let bench = by_hand(harness);
    let mut rng = Rng::new(102);
    for desc in descs(&bench) {
        let desc = desc.movable().name("moved");
        let all = (0..96).map(|_| {
            let texels = random(&desc.info, &mut rng);
            let texture = bench.gpu.create_texture(&desc).unwrap();
            bench.upload_texels(&texture, &texels);
            (texture, texels)
        });
        let kept: Vec<(Texture<_>, Texels)> = sparse(&bench, all.collect());
        assert!(bench.compact() > 0, "{:?}", desc.info);
        for (texture, texels) in &kept {
            assert_texels(&bench.download_texels(texture), texels, &format!("{:?}", desc.info));
        }
        drop(kept);
        bench.finish();
    }
    bench.end();
}

/// A texture of one number, and the table that shows it.
struct Shown<H: Harness> {
    /// `None`: it is only shown.
    texture: Option<Texture<H::Device>>,
    view: View<H::Device>,
    table: DescriptorTable<H::Device>,
    number: u32,
}

fn shown<H: Harness>(bench: &Bench<'_, H>, number: u32) -> Shown<H> {
    let desc = TextureDesc::d2(64, 64, Format::R32Uint, Usage::SHADER_READ).movable().name("shown");
    let texels = number.to_le_bytes().repeat(64 * 64);
    let texture = bench.gpu.create_texture(&desc).unwrap();
    bench.upload_texels(&texture, &vec![texels]);
    let view = bench.gpu.create_texture_view(&texture, &TextureViewDesc::sampled()).unwrap();
    let binds = [(&view).into()];
    let table = bench.gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds)).unwrap();
    bench.submit(Queue::Graphics, |recording| {
        recording.use_resource(&texture, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    });
    Shown { texture: Some(texture), view, table, number }
}

/// Shaders find textures through their tables and views, also textures without another declared use.
pub fn shaders_find_moved_textures<H: Harness>(harness: &H) {
    let bench = by_hand(harness);
    if !bench.has_heaps() {
        return bench.end();
    }
    let mut kept = sparse(&bench, (0..160).map(|number| shown(&bench, number + 1)).collect());
    kept.iter_mut().step_by(2).for_each(|shown| shown.texture = None);
    for is_moved in [false, true] {
        if is_moved {
            assert!(bench.compact() > 0);
        }
        let out = bench.output(2 * kept.len());
        bench.submit(Queue::Graphics, |recording| {
            let (commands, scratch) = recording.split();
            bench.open(commands, &out);
            for (shown, index) in kept.iter().zip(0..) {
                let row = scratch.table(&shown.table).unwrap();
                let lasting = Through::Heap { heap: row.heap(), index: row.first() };
                bench.probe(commands, lasting, Look::Texture, (&out, 2 * index));
                let row = scratch.descriptors(&[(&shown.view).into()]).unwrap();
                let dynamic = Through::Heap { heap: row.heap(), index: row.first() };
                bench.probe(commands, dynamic, Look::Texture, (&out, 2 * index + 1));
            }
        });
        let found = bench.results(&out);
        for (shown, found) in kept.iter().zip(found.chunks(2)) {
            assert_eq!(found, [[shown.number; 4]; 2], "moved: {is_moved}");
        }
    }
    assert!(kept.iter().filter_map(|shown| shown.texture.as_ref()).all(|texture| !texture.is_pinned()));
    drop(kept);
    bench.end();
}

/// One thread's part: each buffer holds the byte that was written to it last.
/// It goes on until something has moved: on a busy machine the other thread may come late.
fn stream<H: Harness>(bench: &Bench<'_, H>, seed: u64, moves: &AtomicUsize) {
    let mut rng = Rng::new(seed);
    let mut live: Vec<(Buffer<H::Device>, u8)> = Vec::new();
    for _ in (0..20_000).take_while(|step| *step < 250 || moves.load(Ordering::Relaxed) == 0) {
        let byte = rng.below(256) as u8;
        if live.len() < 30 || rng.below(2) == 0 {
            let size = [700, 30_000, 90_000][rng.below(3) as usize];
            let desc = BufferDesc::new(size, Usage::SHADER_READ).movable().name("stream");
            let data = vec![byte; usize::try_from(size).unwrap()];
            live.push((bench.gpu.create_buffer_with(&desc, &data).unwrap(), byte));
        }
        let index = rng.below(live.len() as u64) as usize;
        let (buffer, last) = &mut live[index];
        match rng.below(6) {
            0 => {
                *last = byte;
                let data = vec![byte; usize::try_from(buffer.size()).unwrap()];
                bench.gpu.upload(buffer, 0, &data).unwrap();
            }
            1 => {
                // Commands recorded by the program itself.
                bench.submit(Queue::Graphics, |recording| {
                    recording.use_resource(&*buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
                    let (_, scratch) = recording.split();
                    assert_eq!(scratch.buffer(buffer).unwrap().size(), buffer.size());
                });
            }
            2 => {
                let found = bench.gpu.read_back(buffer, 0, buffer.size()).unwrap();
                let found = found.wait(crate::bench::LONG).unwrap();
                assert!(found.iter().all(|found| found == last), "seed {seed}");
            }
            _ => {
                live.swap_remove(index);
            }
        }
        if live.len() > 60 {
            live.retain(|_| rng.below(5) == 0);
        }
    }
    for (buffer, last) in &live {
        let found = bench.gpu.read_back(buffer, 0, buffer.size()).unwrap().wait(crate::bench::LONG).unwrap();
        assert!(found.iter().all(|found| found == last), "seed {seed}");
    }
}

/// Four threads create, write, read and drop resources that move meanwhile.
pub fn threads_find_moved_resources<H: Harness>(harness: &H) {
    let pools = PoolConfig::default().shards(1);
    let bench = Bench::with(harness, Config::from(pools));
    let (running, moves) = (AtomicUsize::new(4), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (bench, running, moves) = (&bench, &running, &moves);
            scope.spawn(move || {
                stream(bench, seed, moves);
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        scope.spawn(|| {
            while running.load(Ordering::Relaxed) > 0 {
                let frame = bench.gpu.begin_frame().unwrap();
                moves.fetch_add(bench.gpu.compact(BUDGET).unwrap().moves, Ordering::Relaxed);
                frame.end().unwrap();
            }
        });
    });
    assert!(moves.load(Ordering::Relaxed) > 0);
    bench.end();
}
