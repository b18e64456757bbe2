//! Page allocators, for resources that are freed together.

use tenure_core::{BufferDesc, Format, LocationKind, PageAllocatorDesc, TextureDesc, Usage};

use crate::Harness;
use crate::bench::{Bench, assert_bytes};
use crate::texels::{assert_texels, random};
use test_random::Rng;

const USAGE: Usage = Usage::VERTEX.union(Usage::COPY_SRC);

/// A page is reused when its last resource was freed, and not before.
pub fn pages_are_reset_as_a_whole<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let pages = bench.gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("level"));
    assert_eq!(pages.stats().pages, 0, "memory was allocated before the first resource");
    let desc = BufferDesc::new(100_000, USAGE);
    let mut level: Vec<_> = (0..6).map(|_| pages.create_buffer(&desc).unwrap()).collect();
    let full = pages.stats();
    assert_eq!((full.pages, full.live), (1, 6));
    assert!(full.used >= 600_000 && full.reserved >= full.used);
    let survivor = level.pop().unwrap();
    drop(level);
    bench.finish();
    let one = pages.stats();
    assert_eq!((one.pages, one.live, one.used), (1, 1, full.used), "one live resource must keep its page");
    drop(survivor);
    bench.finish();
    let empty = pages.stats();
    assert_eq!((empty.pages, empty.live, empty.used), (1, 0, 0), "the page must be empty");
    let again = pages.create_buffer(&desc).unwrap();
    assert_eq!(pages.stats().pages, 1, "the page was not reused");
    let reserved = bench.gpu.stats().reserved;
    drop(pages);
    bench.finish();
    assert_eq!(bench.gpu.stats().reserved, reserved, "the page was freed with its allocator");
    drop(again);
    bench.finish();
    bench.finish();
    assert_eq!(bench.gpu.stats().reserved, 0, "the page was not freed with its last resource");
    bench.end();
}

/// Buffers and textures in pages hold their bytes.
pub fn pages_keep_their_bytes<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let pages = bench.gpu.create_pages(&PageAllocatorDesc::new(512 << 10).name("level"));
    let mut rng = Rng::new(81);
    for _ in 0..2 {
        let (mut buffers, mut textures) = (Vec::new(), Vec::new());
        for _ in 0..8 {
            let buffer = pages.create_buffer(&BufferDesc::new(rng.size(17), USAGE)).unwrap();
            assert_eq!(buffer.location(), LocationKind::Page);
            let bytes = rng.bytes(buffer.size());
            bench.upload(&buffer, 0, &bytes);
            buffers.push((buffer, bytes));
            let sampled = Usage::SHADER_READ | Usage::COPY_SRC;
            let desc = TextureDesc::d2(50, 40, Format::Rgba8Unorm, sampled).mips(2);
            let texture = pages.create_texture(&desc).unwrap();
            let texels = random(&desc.info, &mut rng);
            bench.upload_texels(&texture, &texels);
            textures.push((texture, texels));
        }
        for (buffer, bytes) in &buffers {
            assert_bytes(&bench.download(buffer, 0, buffer.size()), bytes, "a buffer in a page");
        }
        for (texture, texels) in &textures {
            assert_texels(&bench.download_texels(texture), texels, "a texture in a page");
        }
        drop((buffers, textures));
        bench.finish();
        assert_eq!(pages.stats().used, 0);
    }
    drop(pages);
    bench.end();
}
