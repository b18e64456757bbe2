//! The render targets, and the copy of the picture to the CPU.

use tenure::device::Device;
use tenure::{
    Format, Gpu, Recording, State, Subresource, Texture, TextureDesc, Usage,
    resource::{ClearValue, ReadbackTexture},
};

use crate::{Picture, Result};

/// The samples of each pixel of the render targets.
pub const SAMPLES: u32 = 4;

const DEPTH: Format = Format::D32Float;

/// Multisampled render targets, and the picture that they are resolved to.
pub struct Targets<D: Device> {
    /// Width and height.
    pub size: [u32; 2],
    /// Colour: `Rgba8Srgb`, for a window `Bgra8Srgb`; [`SAMPLES`] samples.
    pub colour: Texture<D>,
    /// Depth: `D32Float`, [`SAMPLES`] samples.
    pub depth: Texture<D>,
    /// The picture, with one sample for each pixel.
    pub(super) pixels: Texture<D>,
    pub(super) readback: ReadbackTexture<D>,
}

impl<D: Device> Targets<D> {
    pub(super) fn new(gpu: &Gpu<D>, [width, height]: [u32; 2], format: Format) -> Result<Self> {
        let target = |format, usage| TextureDesc::d2(width, height, format, usage);
        let colour = target(format, Usage::RENDER_TARGET | Usage::COPY_SRC)
            .samples(SAMPLES)
            .clear(ClearValue::Color([0.0; 4]));
        let depth =
            target(DEPTH, Usage::DEPTH_STENCIL).samples(SAMPLES).clear(ClearValue::DepthStencil(0.0, 0));
        let pixels = target(format, Usage::COPY_SRC | Usage::COPY_DST);
        Ok(Self {
            size: [width, height],
            colour: gpu.create_texture(&colour.name("colour samples"))?,
            depth: gpu.create_texture(&depth.name("depth samples"))?,
            readback: gpu.create_readback_texture(&pixels.clone().name("picture to read"))?,
            pixels: gpu.create_texture(&pixels.name("picture"))?,
        })
    }

    pub(super) fn use_for_drawing(&self, recording: &mut Recording<D>) -> Result<()> {
        recording.use_resource(&self.colour, Subresource::All, State::RENDER_TARGET)?;
        Ok(recording.use_resource(&self.depth, Subresource::All, State::DEPTH_WRITE)?)
    }

    pub(super) fn use_for_resolving(&self, recording: &mut Recording<D>) -> Result<()> {
        recording.use_resource(&self.colour, Subresource::All, State::RESOLVE_SRC)?;
        Ok(recording.use_resource(&self.pixels, Subresource::All, State::RESOLVE_DST)?)
    }

    /// Records the copy of the picture to readback memory.
    pub(super) fn read_back(&self, recording: &mut Recording<D>) -> Result<()> {
        let layout = self.readback.layout(0).ok_or("the readback texture has no layout")?;
        let layout = tenure::resource::BufferLayout {
            offset: layout.offset,
            row_pitch: layout.row_pitch,
            rows: layout.rows,
        };
        let region = self.pixels.info().region(0, 0);
        Ok(recording.copy_texture_to_buffer(&self.pixels, region, self.readback.buffer(), layout)?)
    }

    /// The picture in readback memory.
    pub(super) fn picture(&self) -> Result<Picture> {
        let layout = self.readback.layout(0).ok_or("the readback texture has no layout")?;
        let row = |y: u32, bytes: &mut [u8]| {
            self.readback.buffer().read(layout.offset + u64::from(y) * layout.row_pitch, bytes)
        };
        Ok(Picture::from_rows(self.size, row)?)
    }
}
