//! Mips that a list fills from larger ones.

use tenure_core::device::{DeviceError, QueueKind};
use tenure_core::state::StateError;
use tenure_core::{Error, Format, Queue, State, Subresource, Subresources, TextureDesc, TextureInfo, Usage};

use crate::Harness;
use crate::bench::Bench;
use crate::texels::{Texels, assert_texels, compressed, random, whole};
use test_random::Rng;

const USAGE: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC).union(Usage::COPY_DST);

/// Textures with sides that are powers of two, or not; layers, volumes, and colours in sRGB.
fn descs() -> Vec<TextureDesc> {
    vec![
        TextureDesc::d2(16, 8, Format::Rgba8Unorm, USAGE).mips(5).layers(3),
        TextureDesc::d2(2, 64, Format::R8Unorm, USAGE).mips(4),
        TextureDesc::d2(16, 16, Format::Rgba8Srgb, USAGE).mips(5),
        TextureDesc::d2(13, 7, Format::Rgba8Unorm, USAGE).mips(4),
        TextureDesc::d3(8, 4, 8, Format::Rgba8Unorm, USAGE).mips(4),
    ]
}

/// The mips of a part are filled, each from the one before; other subresources keep their texels. Without such a command the
/// request is refused, and nothing changes.
pub fn mips_are_averages_of_larger_ones<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(93);
    for desc in descs() {
        let (mips, last) = (desc.info.mips, desc.info.layers() - 1);
        let parts = [
            (Subresources::ALL, 0..mips, 0..=last),
            (Subresources::mips(1..3).of_layer(last), 1..3, last..=last),
            (Subresources::mip(1), 1..2, 0..=last),
        ];
        for (part, mips, layers) in parts {
            let (texture, before) = (bench.gpu.create_texture(&desc).unwrap(), random(&desc.info, &mut rng));
            bench.upload_texels(&texture, &before);
            let is_filled = mips.len() > 1 && bench.gpu.generates_mips(desc.info.format);
            bench.submit(Queue::Graphics, |recording| {
                let generated = recording.generate_mips(&texture, part);
                match is_filled || mips.len() == 1 {
                    true => generated.unwrap(),
                    false => unsupported(generated, desc.info.format),
                }
                recording.use_resource(&texture, Subresource::All, State::PIXEL_SHADER).unwrap();
            });
            let found = bench.download_texels(&texture);
            let what = format!("{part:?} of {:?}", desc.info);
            let is_made =
                |mip, layer| is_filled && mips.contains(&mip) && mip > mips.start && layers.contains(&layer);
            for index in 0..desc.info.subresources() {
                let (mip, layer) = (index % desc.info.mips, index / desc.info.mips);
                let texels = &found[index as usize];
                match is_made(mip, layer) {
                    true => assert_filtered(&desc.info, mip, (&found[index as usize - 1], texels), &what),
                    false => {
                        assert_eq!(texels, &before[index as usize], "{what}: mip {mip} of layer {layer}")
                    }
                }
            }
        }
    }
    transient(&bench, &mut rng);
    bench.end();
}

/// A transient texture gets mips in memory that another one had.
fn transient<H: Harness>(bench: &Bench<'_, H>, rng: &mut Rng) {
    let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, USAGE).mips(5).name("bloom");
    if !bench.gpu.generates_mips(desc.info.format) {
        return;
    }
    for _ in 0..3 {
        let texels = random(&desc.info, rng);
        let (staging, layout) = bench.staged_rows(&desc.info, desc.info.mip_extent(0), &texels[0]);
        let mut tickets = Vec::new();
        let done = bench.submit(Queue::Graphics, |recording| {
            drop(recording.transient_texture(&desc).unwrap());
            let bloom = recording.transient_texture(&desc).unwrap();
            recording.copy_buffer_to_texture(&staging, layout, &bloom, whole(&desc.info, 0, 0)).unwrap();
            recording.generate_mips(&bloom, Subresources::ALL).unwrap();
            let regions = (0..desc.info.mips).map(|mip| whole(&desc.info, mip, 0));
            tickets = regions.map(|region| recording.read_back_texture(&bloom, region).unwrap()).collect();
        });
        bench.wait(&done);
        let found: Texels = tickets.iter().map(|ticket| ticket.poll().unwrap().unwrap().to_vec()).collect();
        assert_eq!(found[0], texels[0]);
        for mip in 1..desc.info.mips {
            let pair = (&found[mip as usize - 1], &found[mip as usize]);
            assert_filtered(&desc.info, mip, (pair.0, pair.1), "transient");
        }
    }
}

/// Formats, queues, usages and parts that have no mips to generate; the recording stays usable.
pub fn mips_are_refused_by_name<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(94);
    let refused = [Format::D32Float, Format::Rgba8Uint].into_iter().chain(compressed(bench.gpu.device()));
    for format in refused {
        assert!(!bench.gpu.generates_mips(format), "{format:?}");
        let target = if format.is_depth() { Usage::DEPTH_STENCIL } else { Usage::SHADER_READ };
        let desc = TextureDesc::d2(16, 16, format, target | Usage::COPY_SRC | Usage::COPY_DST).mips(2);
        let texture = bench.gpu.create_texture(&desc).unwrap();
        bench.submit(Queue::Graphics, |recording| {
            unsupported(recording.generate_mips(&texture, Subresources::ALL), format);
            recording.generate_mips(&texture, Subresources::mip(1)).unwrap();
        });
    }
    let samples = TextureDesc::d2(16, 16, Format::Rgba8Unorm, USAGE | Usage::RENDER_TARGET).samples(4);
    let samples = bench.gpu.create_texture(&samples).unwrap();
    bench.submit(Queue::Graphics, |recording| recording.generate_mips(&samples, Subresources::ALL).unwrap());

    let desc = TextureDesc::d2(8, 8, Format::Rgba8Unorm, USAGE).mips(4).layers(2);
    let (texture, texels) = (bench.gpu.create_texture(&desc).unwrap(), random(&desc.info, &mut rng));
    bench.upload_texels(&texture, &texels);
    bench.submit(Queue::Graphics, |recording| {
        for part in [Subresources::mips(1..5), Subresources::ALL.of_layer(2), Subresource::One(8).into()] {
            let found = recording.generate_mips(&texture, part);
            let is_missing = matches!(found, Err(Error::State { source: StateError::NoSuchPart { .. }, .. }));
            assert!(is_missing, "{part:?}: {found:?}");
        }
        recording.generate_mips(&texture, Subresources::mips(4..)).unwrap();
        recording.generate_mips(&texture, Subresources::ALL.of_layers(1..1)).unwrap();
        recording.generate_mips(&texture, Subresource::One(7)).unwrap();
    });
    if bench.gpu.generates_mips(Format::Rgba8Unorm) {
        let target = Usage::RENDER_TARGET | Usage::COPY_SRC;
        for (usage, missing) in [(target, State::COPY_DST), (Usage::SHADER_READ, State::COPY_SRC)] {
            let desc = TextureDesc::d2(8, 8, Format::Rgba8Unorm, usage).mips(2);
            let texture = bench.gpu.create_texture(&desc).unwrap();
            bench.submit(Queue::Graphics, |recording| {
                let found = recording.generate_mips(&texture, Subresources::ALL).unwrap_err();
                assert!(found.to_string().ends_with(&format!("not {missing}")), "{found}");
            });
        }
        let others = [(QueueKind::Compute, Queue::Compute), (QueueKind::Copy, Queue::Copy)];
        for (kind, queue) in others {
            if bench.properties().queues.iter().any(|queue| queue.kind == kind) {
                bench.submit(queue, |recording| {
                    let found = recording.generate_mips(&texture, Subresources::ALL).unwrap_err();
                    assert!(found.to_string().contains("on a graphics queue"), "{kind:?}: {found}");
                });
            }
        }
    }
    assert_texels(&bench.download_texels(&texture), &texels, "after refusals");
    drop((samples, texture));
    bench.end();
}

#[track_caller]
fn unsupported(found: Result<(), Error>, format: Format) {
    let Err(Error::Device { source: DeviceError::UnsupportedFormat { format: named, feature }, .. }) = &found
    else {
        panic!("{format:?}: {found:?}");
    };
    assert_eq!(*named, format);
    assert!(feature.starts_with("mip generation"), "{feature}");
}

/// Compares a mip with the larger one, filtered here, in steps of 8 bits: drivers round, and weigh texels in 1/256.
#[track_caller]
fn assert_filtered(info: &TextureInfo, mip: u32, (larger, found): (&[u8], &[u8]), what: &str) {
    let (from, to) = (info.mip_extent(mip - 1), info.mip_extent(mip));
    let channels = info.format.block().bytes as usize;
    let is_srgb = |channel| info.format == Format::Rgba8Srgb && channel < 3;
    let mut places = found.iter().enumerate();
    for (z, y, x) in (0..to[2]).flat_map(|z| (0..to[1]).flat_map(move |y| (0..to[0]).map(move |x| (z, y, x))))
    {
        for channel in 0..channels {
            let mut sum = 0.0;
            for (z, by_z) in taps(z, from[2], to[2]) {
                for (y, by_y) in taps(y, from[1], to[1]) {
                    for (x, by_x) in taps(x, from[0], to[0]) {
                        let index = ((z * from[1] + y) * from[0] + x) as usize * channels + channel;
                        let value = f64::from(larger[index]) / 255.0;
                        sum += by_z * by_y * by_x * if is_srgb(channel) { linear(value) } else { value };
                    }
                }
            }
            let (index, found) = places.next().expect("a byte for each channel");
            let expected = 255.0 * if is_srgb(channel) { encoded(sum) } else { sum };
            let apart = (f64::from(*found) - expected).abs();
            assert!(apart <= 2.0, "{what}: byte {index} of mip {mip} is {found}, not {expected}");
        }
    }
    assert_eq!(places.next(), None);
}

/// The two texels around the middle of a texel of the smaller mip, with their weights.
fn taps(at: u32, from: u32, to: u32) -> [(u32, f64); 2] {
    let middle = ((f64::from(at) + 0.5) * f64::from(from) / f64::from(to) - 0.5).max(0.0);
    let first = middle as u32;
    [(first, 1.0 - middle.fract()), ((first + 1).min(from - 1), middle.fract())]
}

fn linear(value: f64) -> f64 {
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

fn encoded(value: f64) -> f64 {
    if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 }
}
