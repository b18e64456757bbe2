//! Pseudorandom descriptions of resources, the same in each run.

use tenure::device::ResourceDesc;
use tenure::resource::BufferInfo;
use tenure::{Format, TextureDesc, Usage};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A random number less than `end`, which must not be 0.
    fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.next() % u64::from(end)).unwrap_or(0)
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> Option<T> {
        choices.get(self.below(u32::try_from(choices.len()).unwrap_or(1).max(1)) as usize).copied()
    }
}

const BUFFERS: [Usage; 6] = [
    Usage::VERTEX.union(Usage::COPY_DST),
    Usage::INDEX.union(Usage::COPY_DST),
    Usage::CONSTANT,
    Usage::SHADER_READ.union(Usage::COPY_DST),
    Usage::UNORDERED_ACCESS.union(Usage::COPY_SRC),
    Usage::INDIRECT.union(Usage::UNORDERED_ACCESS),
];

const COLORS: [Usage; 4] = [
    Usage::SHADER_READ.union(Usage::COPY_DST),
    Usage::SHADER_READ,
    Usage::RENDER_TARGET.union(Usage::SHADER_READ),
    Usage::UNORDERED_ACCESS.union(Usage::SHADER_READ),
];

fn buffer(random: &mut Random) -> ResourceDesc {
    let bits = random.below(27);
    let size = (1_u64 << bits) + u64::from(random.below(1 << bits));
    ResourceDesc::Buffer(BufferInfo::new(size, random.of(&BUFFERS).unwrap_or(Usage::VERTEX)))
}

fn texture(random: &mut Random) -> ResourceDesc {
    let format = random.of(Format::ALL).unwrap_or(Format::Rgba8Unorm);
    let (block, is_compressed) = (format.block(), format.compression().is_some());
    let mut side = |unit: u32| {
        let bits = random.below(12);
        let odd = if random.below(3) == 0 { random.below(1 << bits) } else { 0 };
        ((1_u32 << bits) + odd).next_multiple_of(unit.max(1))
    };
    let (width, height) = (side(block.width), side(block.height));
    let usage = match (format.is_depth(), is_compressed) {
        (true, _) => Usage::DEPTH_STENCIL.union(Usage::SHADER_READ),
        (_, true) => COLORS[0],
        _ => random.of(&COLORS).unwrap_or(COLORS[0]),
    };
    let is_target = usage.intersects(Usage::RENDER_TARGET | Usage::DEPTH_STENCIL);
    let full = u32::BITS - width.max(height).leading_zeros();
    let desc = match random.below(8) {
        0 if is_target => TextureDesc::d2(width, height, format, usage).samples(4),
        1 if !is_target && !is_compressed => {
            let side = |length: u32| length.min(128);
            TextureDesc::d3(side(width), side(height), 1 + random.below(64), format, usage)
        }
        2 => TextureDesc::d2(width, height, format, usage).layers(1 + random.below(8)),
        3 => TextureDesc::d2(width, width, format, usage).layers(6).mips(1),
        4 | 5 => TextureDesc::d2(width, height, format, usage).mips(full),
        _ => TextureDesc::d2(width, height, format, usage),
    };
    ResourceDesc::Texture(desc.info)
}

/// `count` descriptions, a third of them buffers. Each device refuses some.
pub(super) fn descriptions(count: u32) -> impl Iterator<Item = ResourceDesc> {
    let mut random = Random(41);
    (0..count).map(move |number| if number % 3 == 0 { buffer(&mut random) } else { texture(&mut random) })
}

/// A description in words.
pub(super) fn in_words(desc: &ResourceDesc) -> String {
    let usage =
        |usage: Usage| usage.iter_names().map(|(name, _)| name.to_lowercase()).collect::<Vec<_>>().join(" ");
    match desc {
        ResourceDesc::Buffer(info) => format!("buffer of {} B, {}", info.size, usage(info.usage)),
        ResourceDesc::Texture(info) => format!(
            "{:?} {:?} {}x{}x{}, mips {}, samples {}, {}",
            info.dimension,
            info.format,
            info.width,
            info.height,
            info.depth_or_layers,
            info.mips,
            info.samples,
            usage(info.usage),
        ),
    }
}
