//! All formats: their texels, their sRGB formats, and how a device refuses those that it lacks.

use tenure_core::device::{Api, Compression, prelude::*};
use tenure_core::{
    BufferLayout, DeviceError, Error, Format, Queue, Texture, TextureDesc, TextureViewDesc, Usage,
};

use crate::Harness;
use crate::bench::Bench;
use crate::texels::{assert_texels, random, rows, whole};
use test_random::Rng;

const SAMPLED: Usage = Usage::SHADER_READ.union(Usage::COPY_SRC).union(Usage::COPY_DST);

/// Textures of every colour format that the device has keep all their mips through copies, also where
/// blocks are not whole, and have views in their sRGB twin. Any other format is refused by name.
pub fn colours_keep_their_texels<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let mut rng = Rng::new(71);
    let mut held = Vec::new();
    for format in Format::ALL.iter().copied().filter(|format| !format.is_depth()) {
        if bench.gpu.supports_format(format, SAMPLED) {
            bench.check_colour(format, &mut rng);
            held.push(format);
        } else {
            bench.check_refusal(format, SAMPLED);
        }
    }
    check_count(&held);
    bench.end();
}

/// Uses that no device, or not this one, has a format for are refused by name. Vulkan alone lets a device have storage
/// images of depth, as an NVIDIA H200 does.
pub fn formats_are_refused_by_name<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let may_store_depth = bench.gpu.device().properties().api == Api::Vulkan;
    for format in Format::ALL.iter().copied() {
        for usage in [Usage::RENDER_TARGET, Usage::UNORDERED_ACCESS, Usage::DEPTH_STENCIL] {
            let has = bench.gpu.supports_format(format, usage);
            let is_colour_use = usage != Usage::DEPTH_STENCIL;
            let is_stored_depth = may_store_depth && format.is_depth() && usage == Usage::UNORDERED_ACCESS;
            assert!(!has || is_stored_depth || format.is_depth() != is_colour_use, "{format:?} for {usage}");
            assert!(!has || !format.is_compressed(), "{format:?} for {usage}");
            let side = format.block();
            let desc = TextureDesc::d2(side.width * 4, side.height * 4, format, usage);
            match bench.gpu.create_texture(&desc) {
                Ok(_) => assert!(has, "{format:?} for {usage}"),
                Err(error) => assert!(!has && is_clear(&error, format, usage), "{error}"),
            }
        }
    }
    bench.end();
}

/// The nearest depth-stencil format exists, with stencil where it was asked for.
pub fn depth_formats_have_a_substitute<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    for wanted in Format::ALL.iter().copied() {
        let found = bench.gpu.depth_stencil_format(wanted, Usage::SHADER_READ);
        assert_eq!(found.is_some(), wanted.is_depth(), "{wanted:?}");
        let Some(found) = found else { continue };
        assert!(found.has_stencil() || !wanted.has_stencil(), "{wanted:?}: {found:?}");
        let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
        assert!(!bench.gpu.supports_format(wanted, usage) || found == wanted, "{wanted:?}: {found:?}");
        let target = bench.gpu.create_texture(&TextureDesc::d2(16, 16, found, usage)).unwrap();
        drop(bench.gpu.create_texture_view(&target, &TextureViewDesc::depth_stencil()).unwrap());
    }
    bench.end();
}

/// A format is refused because the device lacks it, or because it is never good for the use.
fn is_clear(error: &Error, format: Format, usage: Usage) -> bool {
    match error {
        Error::Device { source: DeviceError::UnsupportedFormat { format: named, .. }, .. } => {
            *named == format && error.to_string().contains(&format!("{format:?}"))
        }
        Error::Device { source: DeviceError::InvalidDesc { field: "usage", .. }, .. } => {
            usage != Usage::UNORDERED_ACCESS
        }
        _ => false,
    }
}

/// Prints how many formats ran, and fails where a device has suspiciously few.
fn check_count(held: &[Format]) {
    let of = |family: Option<Compression>| {
        let count = |formats: &[Format]| {
            formats.iter().filter(|format| !format.is_depth() && format.compression() == family).count()
        };
        (count(held), count(Format::ALL))
    };
    let (plain, all_plain) = of(None);
    println!("{plain} of {all_plain} uncompressed colour formats");
    assert!(plain + 4 >= all_plain, "only {plain} of {all_plain} uncompressed colour formats");
    for family in [Compression::Bc, Compression::Etc2, Compression::Astc] {
        let (found, all) = of(Some(family));
        println!("{found} of {all} formats of {family:?}");
        assert!(found == 0 || found == all, "{found} of {all} formats of {family:?}");
    }
}

impl<H: Harness> Bench<'_, H> {
    fn check_refusal(&self, format: Format, usage: Usage) {
        let block = format.block();
        let desc = TextureDesc::d2(block.width * 4, block.height * 4, format, usage);
        let error = self.gpu.create_texture(&desc).err();
        assert!(error.as_ref().is_some_and(|error| is_clear(error, format, usage)), "{format:?}: {error:?}");
    }

    /// A texture with all mips whose sides are not whole blocks, or whole ones where the device wants that.
    fn create_uneven(&self, format: Format) -> Texture<H::Device> {
        let block = format.block();
        let desc = |width, height| {
            let desc = TextureDesc::d2(width, height, format, SAMPLED).mips(6).name(format!("{format:?}"));
            desc.view_formats(format.srgb_twin())
        };
        let (width, height) = (5 * block.width + block.width.div_ceil(2), 9 * block.height - 1);
        let (width, height) = (width.max(37), height.max(33));
        match self.gpu.create_texture(&desc(width, height)) {
            Err(Error::Device { source: DeviceError::Unsupported { feature }, .. }) => {
                assert!(format.is_compressed() && feature.contains("whole blocks"), "{format:?}: {feature}");
                self.gpu.create_texture(&desc(block.width * 10, block.height * 9)).unwrap()
            }
            made => made.unwrap(),
        }
    }

    fn check_colour(&self, format: Format, rng: &mut Rng) {
        let (source, copy) = (self.create_uneven(format), self.create_uneven(format));
        let texels = random(source.info(), rng);
        self.upload_texels(&source, &texels);
        self.copy_all(&source, &copy);
        assert_texels(&self.download_texels(&copy), &texels, &format!("{format:?}"));
        self.gpu.create_texture_view(&copy, &TextureViewDesc::sampled()).unwrap();
        if let Some(twin) = format.srgb_twin() {
            self.gpu.create_texture_view(&copy, &TextureViewDesc::sampled().format(twin)).unwrap();
        }
        self.gpu.reclaim().unwrap();
    }

    /// Copies all mips of one texture to another on the GPU, through a buffer.
    fn copy_all(&self, from: &Texture<H::Device>, to: &Texture<H::Device>) {
        let info = from.info();
        let (pitch_alignment, mut size) = (self.properties().copy_pitch_alignment.max(16), 0);
        let mut layouts = Vec::new();
        for mip in 0..info.mips {
            let (down, row) = rows(info, info.mip_extent(mip));
            let row_pitch = row.next_multiple_of(pitch_alignment);
            layouts.push(BufferLayout { offset: size, row_pitch, rows: down });
            size = (size + row_pitch * u64::from(down)).next_multiple_of(512);
        }
        let between = self.between(size);
        self.submit(Queue::Graphics, |recording| {
            for (mip, layout) in (0..).zip(&layouts) {
                recording.copy_texture_to_buffer(from, whole(info, mip, 0), &between, *layout).unwrap();
            }
            for (mip, layout) in (0..).zip(&layouts) {
                recording.copy_buffer_to_texture(&between, *layout, to, whole(info, mip, 0)).unwrap();
            }
        });
    }
}
