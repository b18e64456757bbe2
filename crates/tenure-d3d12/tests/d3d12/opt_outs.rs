//! Drivers that place badly get committed resources.

use tenure_core::device::{Device as _, Features, Format, Usage};
use tenure_core::{BufferDesc, Config, Gpu, LocationKind, TextureDesc};
use tenure_d3d12::opt_out::{self, OptOut};
use tenure_d3d12::{Device, OptOuts, Options};

use crate::bench::{buffer, create, device, texture};

const fn row(buffers: bool) -> OptOut {
    OptOut { vendor: 0, devices: 0..=0, fixed_in: None, buffers, textures: true, fault: "for this test" }
}

static EVERYTHING: OptOut = row(true);
static TEXTURES: OptOut = row(false);

fn with(opt_outs: OptOuts) -> Device {
    create(Options { opt_outs, ..Options::default() })
}

#[test]
fn the_table_is_asked_by_number() {
    let device = device();
    let adapter = device.adapter();
    assert_eq!(device.opt_out(), opt_out::find(adapter.vendor, adapter.device, adapter.driver));
    let is_dedicated = device.properties().features.contains(Features::DEDICATED);
    assert_eq!(is_dedicated, device.opt_out().is_some());
    assert_eq!(with(OptOuts::Off).opt_out(), None);
}

#[test]
fn what_is_opted_out_prefers_to_be_committed() {
    let sampled = texture(64, Format::Rgba8Unorm, Usage::SHADER_READ);
    let vertices = buffer(64, Usage::VERTEX);
    for (opt_outs, expected) in [
        (OptOuts::Off, [false, false]),
        (OptOuts::Always(&TEXTURES), [false, true]),
        (OptOuts::Always(&EVERYTHING), [true, true]),
    ] {
        let device = with(opt_outs);
        let prefers = |desc| device.requirements(desc).unwrap().prefers_dedicated;
        assert_eq!([prefers(&vertices), prefers(&sampled)], expected, "{opt_outs:?}");
    }
}

/// Nothing is placed: there is not a single heap.
#[test]
fn the_manager_commits_everything_then() {
    let device = with(OptOuts::Always(&EVERYTHING));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let usages = [Usage::VERTEX, Usage::SHADER_READ, Usage::UNORDERED_ACCESS, Usage::INDIRECT];
    let buffers: Vec<_> = usages
        .into_iter()
        .flat_map(|usage| {
            [100, 100_000].map(|size| gpu.create_buffer(&BufferDesc::new(size, usage)).unwrap())
        })
        .collect();
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ);
    let image = gpu.create_texture(&desc).unwrap();
    assert_eq!(image.location(), LocationKind::Committed);
    let pages = gpu.create_pages("level", 1 << 20);
    let paged = pages.create_texture(&desc).unwrap();
    assert_eq!(device.live_objects().heaps, 0);
    drop((buffers, image, paged, pages));
    assert!(gpu.shutdown().is_clean());
    assert_eq!(device.live_objects().resources, 0);
}
