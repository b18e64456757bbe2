//! Copies from staging buffers to the resources of the world.

use tenure::device::{CommandList, Device, Permit};
use tenure::{
    Buffer, BufferDesc, Gpu, MemoryUse, Recording, State, Subresource, Texture, Usage, resource::BufferLayout,
};

use crate::Result;
use crate::tiles::Tiles;

/// A staging buffer. Drop it as soon as the copies are recorded: tenure frees it when the GPU has finished.
fn staging<D: Device>(gpu: &Gpu<D>, size: u64) -> Result<Buffer<D>> {
    let desc = BufferDesc::new(size, Usage::COPY_SRC).memory(MemoryUse::Upload);
    let alignment = gpu.device().properties().copy_offset_alignment;
    Ok(gpu.create_buffer(&desc.alignment(alignment).name("staging"))?)
}

/// Records copies that fill buffers, through one staging buffer.
pub(super) fn fill_buffers<'a, D: Device>(
    gpu: &Gpu<D>,
    recording: &mut Recording<D>,
    contents: impl Iterator<Item = (&'a Buffer<D>, &'a [u8])> + Clone,
) -> Result<()> {
    let size: u64 = contents.clone().map(|(buffer, _)| buffer.size()).sum();
    if size == 0 {
        return Ok(());
    }
    let staging = staging(gpu, size)?;
    recording.use_resource(&staging, Subresource::All, State::COPY_SRC)?;
    let mut offset = 0;
    for (buffer, bytes) in contents.clone() {
        staging.write(offset, bytes)?;
        recording.use_resource(buffer, Subresource::All, State::COPY_DST)?;
        offset += buffer.size();
    }
    // One batch of barriers for all copies: many of the buffers are ranges of the same API buffer.
    recording.barriers();
    let mut offset = staging.offset();
    for (buffer, _) in contents {
        recording.raw_mut(permit()).copy_buffer(
            staging.raw(),
            offset,
            buffer.raw(),
            buffer.offset(),
            buffer.size(),
        );
        offset += buffer.size();
    }
    Ok(())
}

/// Records copies that fill every mip of every layer of the texture.
pub(super) fn fill_tiles<D: Device>(
    gpu: &Gpu<D>,
    recording: &mut Recording<D>,
    tiles: &Tiles,
    texture: &Texture<D>,
) -> Result<()> {
    let properties = gpu.device().properties();
    let mut regions = Vec::new();
    let mut size = 0_u64;
    for layer in 0..Tiles::LAYERS {
        for mip in 0..Tiles::MIPS {
            let extent = texture.info().mip_extent(mip);
            let row_pitch = u64::from(extent[0] * 4).next_multiple_of(properties.copy_pitch_alignment);
            let offset = size.next_multiple_of(properties.copy_offset_alignment);
            regions.push((
                BufferLayout { offset, row_pitch, rows: extent[1] },
                texture.info().region(mip, layer),
            ));
            size = offset + row_pitch * u64::from(extent[1]);
        }
    }
    let staging = staging(gpu, size)?;
    for (layout, region) in regions {
        let texels = tiles.texels(region.layer, region.mip).ok_or("the texture has fewer mips")?;
        for (row, texels) in (0..).zip(texels.chunks(region.extent[0] as usize * 4)) {
            staging.write(layout.offset + row * layout.row_pitch, texels)?;
        }
        recording.copy_buffer_to_texture(&staging, layout, texture, region)?;
    }
    Ok(())
}

/// The permit for commands that [`Recording`] does not offer.
const fn permit<D: Device>() -> Permit<D> {
    // SAFETY: the buffers were put into the right state right before, and the copies lie within them.
    unsafe { Permit::new() }
}
