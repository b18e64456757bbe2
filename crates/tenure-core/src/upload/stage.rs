//! Staging: turns bytes and texels of the program into copies of a batch.

use std::sync::Arc;

use super::copies::{Copy, Target};
use super::in_place::{write_in_place, write_texels_in_place};
use super::{Upload, Uploads};
use crate::context::Context;
use crate::device::{
    BufferLayout, Device, DeviceError, QueueKind, QueueSerial, State, Subresource, TexelBlock, TextureRegion,
    TextureWrite, check,
};
use crate::memory::{AllocationFlags, Holder, MakeRoom, PlaceHolds};
use crate::resource::{Buffer, Texture, Tracked, Used};
use crate::staging::{Footprint, Part, TexelData, TexelPiece};
use crate::state::StateCell;
use crate::time::SyncPoint;
use crate::{Error, Name, TransientRule};

/// Alignment of staged buffer data in bytes, so that consecutive copies merge.
pub(super) const BYTE_ALIGNMENT: u64 = 4;

impl<D: Device> Uploads<D> {
    /// Writes bytes to a buffer in place, or stages them for it. `flags` are the flags of the buffer's creation, or
    /// none.
    pub(crate) fn upload(
        &self,
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        buffer: &Buffer<D>,
        (offset, bytes): (u64, &[u8]),
        flags: AllocationFlags,
    ) -> Result<Upload, Error> {
        let (size, capacity) = (bytes.len() as u64, buffer.size());
        let is_inside = offset.checked_add(size).is_some_and(|end| end <= capacity);
        if is_inside && size > 0 && write_in_place(context, buffer, offset, bytes, self)? {
            if let Some(written) = buffer.inner.placed_resource() {
                self.note_written(&written.states);
            }
            return Ok(Upload::DONE);
        }
        let to = destination(context, buffer, Subresource::All)?;
        if !is_inside {
            return Err(Error::OutOfRange { name: buffer.name().clone(), offset, size, capacity });
        }
        if bytes.is_empty() {
            return Ok(Upload::DONE);
        }
        if size <= largest_piece(context)
            && let Some(staged) = found(self.stage(context, room, size, BYTE_ALIGNMENT))?
        {
            let copy = self.fill_bytes(context, buffer, staged, (offset, bytes), to)?;
            return Ok(self.push_uploads(context, [copy], size));
        }
        drop(to);
        self.upload_in_pieces(context, room, buffer, (offset, bytes), flags)
    }

    /// The copy of staged bytes to a buffer.
    pub(super) fn fill_bytes(
        &self,
        context: &Arc<Context<D>>,
        buffer: &Buffer<D>,
        staged: Part<D>,
        (offset, bytes): (u64, &[u8]),
        to: (Tracked<D>, PlaceHolds<D>),
    ) -> Result<Copy<D>, Error> {
        if let Err(source) = staged.write(0, bytes) {
            self.unstage(context, staged);
            return Err(context.refused(buffer.name(), source));
        }
        let target = Target::Bytes { offset: buffer.place().offset() + offset, size: bytes.len() as u64 };
        Ok(Copy::new(staged, to, target, !self.has_copy_queue()))
    }

    /// Writes texels to a region of a texture in place, or stages them for it.
    pub(crate) fn upload_texture(
        &self,
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        texture: &Texture<D>,
        region: TextureRegion,
        data: TexelData<'_>,
    ) -> Result<Upload, Error> {
        let write = texture_write(context, texture, region, data);
        if let Some(write) = write
            && write_texels_in_place(context, texture, &[write], self)?
        {
            self.publish_written(context, texture)?;
            return Ok(Upload::DONE);
        }
        check_copy(context, texture, region)?;
        let to = destination(context, texture, subresource(texture, region))?;
        let texels = Texels::new(context, texture, region, data)?;
        let size = texels.rows.size;
        if size <= largest_piece(context)
            && let Some(staged) = found(self.stage(context, room, size, texels.alignment(context, texture)))?
        {
            let copy = self.fill_texels(context, texture, staged, &texels, to)?;
            return Ok(self.push_uploads(context, [copy], size));
        }
        drop(to);
        self.upload_texels_in_pieces(context, room, texture, &[texels], AllocationFlags::empty())
    }

    /// Writes texels in place, or stages them, for every subresource of a texture, mip by mip and layer by layer, followed by
    /// the stencil of every subresource if the format has stencil. If any of them is invalid, nothing is uploaded.
    pub(crate) fn upload_all(
        &self,
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        texture: &Texture<D>,
        data: &[TexelData<'_>],
        flags: AllocationFlags,
    ) -> Result<Upload, Error> {
        let info = texture.info();
        let count = data.len() as u64;
        let planes = info.format.planes();
        let needed = u64::from(info.subresources()).saturating_mul(planes.len() as u64);
        if count != needed {
            let rule = "initial data is of every subresource, and of its stencil";
            let source = DeviceError::invalid_call(rule, count, needed);
            return Err(Error::device(texture.name(), source));
        }
        let layers = planes.iter().flat_map(|plane| (0..info.layers()).map(move |layer| (*plane, layer)));
        let regions = layers.flat_map(|(plane, layer)| {
            let region = move |mip| TextureRegion { plane, ..info.region(mip, layer) };
            (0..info.mips).map(region)
        });
        let writes =
            regions.clone().zip(data).map(|(region, data)| texture_write(context, texture, region, *data));
        let writes: Option<Vec<TextureWrite<'_>>> = writes.collect();
        if let Some(writes) = writes
            && write_texels_in_place(context, texture, &writes, self)?
        {
            self.publish_written(context, texture)?;
            return Ok(Upload::DONE);
        }
        let texels = regions.zip(data).map(|(region, data)| {
            check_copy(context, texture, region)?;
            Texels::new(context, texture, region, *data)
        });
        let texels = texels.collect::<Result<Vec<_>, _>>()?;
        let size = texels.iter().map(|texels| texels.rows.size).fold(0, u64::saturating_add);
        if size <= largest_piece(context)
            && let Some(copies) = found(self.stage_together(context, room, texture, &texels))?
        {
            return Ok(self.push_uploads(context, copies, size));
        }
        self.upload_texels_in_pieces(context, room, texture, &texels, flags)
    }

    /// Any queue may read a read-only buffer after its first write in place.
    fn note_written(&self, cell: &StateCell) {
        if let Some(declared) = cell.read_only().filter(|_| !cell.is_published()) {
            // A later copy comes after these reads.
            let reader = QueueSerial { queue: self.graphics, serial: 0 };
            cell.declare(Subresource::All, declared, &SyncPoint::NONE, Some(reader));
            self.lists.note_published(cell);
        }
    }

    /// Publishes a read-only texture after its first write in place.
    fn publish_written(&self, context: &Arc<Context<D>>, texture: &Texture<D>) -> Result<(), Error> {
        let Some((_, cell, _)) = texture.in_place() else { return Ok(()) };
        if let Some(declared) = cell.read_only().filter(|_| !cell.is_published()) {
            self.publish(context, destination(context, texture, Subresource::All)?, declared);
        }
        Ok(())
    }

    /// The copies of all texels; if one fails, none is added.
    fn stage_together(
        &self,
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        texture: &Texture<D>,
        texels: &[Texels<'_>],
    ) -> Result<Vec<Copy<D>>, Error> {
        let mut copies = Vec::with_capacity(texels.len());
        for texels in texels {
            let staged = destination(context, texture, subresource(texture, texels.region)).and_then(|to| {
                let staged =
                    self.stage(context, room, texels.rows.size, texels.alignment(context, texture))?;
                self.fill_texels(context, texture, staged, texels, to)
            });
            match staged {
                Ok(copy) => copies.push(copy),
                Err(error) => {
                    copies.into_iter().for_each(|copy| self.unstage(context, copy.into_part()));
                    return Err(error);
                }
            }
        }
        Ok(copies)
    }

    fn push_uploads(
        &self,
        context: &Context<D>,
        copies: impl IntoIterator<Item = Copy<D>>,
        bytes: u64,
    ) -> Upload {
        let (batch, pending) = self.push(context, copies, (1, bytes));
        if pending >= context.config.staging.max_pending {
            // After a refusal for lack of memory the copies stay pending, and the next submission reports it; any other error
            // is reported to the caller that waits for the upload.
            let _told_later = self.flush(context);
            context.reclaim_now();
        }
        Upload::of(batch)
    }

    /// The copy of staged texels to a texture.
    pub(super) fn fill_texels(
        &self,
        context: &Arc<Context<D>>,
        texture: &Texture<D>,
        staged: Part<D>,
        texels: &Texels<'_>,
        to: (Tracked<D>, PlaceHolds<D>),
    ) -> Result<Copy<D>, Error> {
        let (info, Texels { region, from, bytes, rows }) = (texture.info(), *texels);
        let written = rows.fill(from, bytes, |offset, bytes| staged.write(offset, bytes));
        if let Err(source) = written {
            self.unstage(context, staged);
            return Err(context.refused(texture.name(), source));
        }
        let subresource = subresource_index(texture, region);
        let has_extent = region.origin == [0; 3] && region.extent == info.mip_extent(region.mip);
        let is_whole = has_extent && info.format.planes().len() == 1;
        let (row_pitch, rows) = (rows.row_pitch, rows.rows);
        let target = Target::Texels { region, row_pitch, rows, subresource, is_whole };
        // Copy queues may support only coarse granularities, and never copy depth.
        let on_graphics = !self.has_copy_queue() || info.format.is_depth() || !has_extent;
        Ok(Copy::new(staged, to, target, on_graphics))
    }
}

/// Checked texels of the program: their destination, and their layout in staging memory and in the program's memory.
#[derive(Clone, Copy)]
pub(super) struct Texels<'a> {
    pub(super) region: TextureRegion,
    pub(super) from: BufferLayout,
    pub(super) bytes: &'a [u8],
    /// Their layout in staging memory.
    pub(super) rows: Footprint,
}

impl<'a> Texels<'a> {
    fn new<D: Device>(
        context: &Context<D>,
        texture: &Texture<D>,
        region: TextureRegion,
        data: TexelData<'a>,
    ) -> Result<Self, Error> {
        let block = region.block(texture.info().format);
        let from = source_layout(texture.name(), block, region.extent, data)?;
        let pitch = context.alignments.copy_pitch.max(block.bytes.into());
        let rows = Footprint::new(block, region.extent, pitch);
        let rows = rows.map_err(|source| Error::device(texture.name(), source))?;
        Ok(Self { region, from, bytes: data.bytes, rows })
    }

    /// A piece of the texels, or `None` if it is outside of them.
    pub(super) fn piece(&self, piece: &TexelPiece) -> Option<Self> {
        let row = u64::from(piece.slice) * u64::from(self.from.rows) + u64::from(piece.row);
        let start = usize::try_from(row.checked_mul(self.from.row_pitch)?).ok()?;
        Some(Self { region: piece.region, rows: piece.rows, bytes: self.bytes.get(start..)?, ..*self })
    }

    /// Alignment of their offset in staging memory, in bytes.
    pub(super) fn alignment<D: Device>(&self, context: &Context<D>, texture: &Texture<D>) -> u64 {
        context.alignments.copy_offset.max(texture.info().format.copy_alignment(self.region.plane))
    }
}

/// Bytes of the largest piece of a divided upload; an upload up to this size is not divided unless memory is short.
pub(super) fn largest_piece<D: Device>(context: &Context<D>) -> u64 {
    context.config.staging.max_pending / 4
}

/// Turns a shortage into `None`: smaller pieces may still fit.
fn found<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::OutOfMemory(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A copy from staging memory to the region.
fn check_copy<D: Device>(
    context: &Context<D>,
    texture: &Texture<D>,
    region: TextureRegion,
) -> Result<(), Error> {
    let features = context.device().properties().features;
    region
        .check_copy(texture.info(), features, QueueKind::Graphics)
        .and_then(|()| check::copy_to_plane(features, region.plane))
        .map_err(|source| Error::device(texture.name(), source))
}

fn subresource_index<D: Device>(texture: &Texture<D>, region: TextureRegion) -> u32 {
    region.layer.saturating_mul(texture.info().mips).saturating_add(region.mip)
}

pub(super) fn subresource<D: Device>(texture: &Texture<D>, region: TextureRegion) -> Subresource {
    Subresource::One(subresource_index(texture, region))
}

/// The destination of an upload, if it is allowed as one.
pub(super) fn destination<'a, D: Device>(
    context: &Arc<Context<D>>,
    resource: impl Into<Used<'a, D>>,
    part: Subresource,
) -> Result<(Tracked<D>, PlaceHolds<D>), Error> {
    let (used, mut holds) = (resource.into(), PlaceHolds::new(Holder::NO_RECORDING));
    context.clock.check().map_err(|source| Error::device(used.name(), source))?;
    if used.aliased_range().is_some() {
        let rule = TransientRule::NoUploads;
        return Err(Error::Transient { name: used.name().clone(), rule });
    }
    let tracked = used.check(context, part, State::COPY_DST, &mut holds)?;
    let model = context.device().properties().state_model;
    let checked = tracked.as_ref().check(part, State::COPY_DST, model, QueueKind::Graphics);
    match checked {
        Ok(()) => Ok((tracked, holds)),
        Err(source) => Err(Error::State { name: used.name().clone(), source }),
    }
}

/// The in-place write of texels that could also be staged; `None` if staging would refuse them, or if the device has another
/// row layout.
fn texture_write<'a, D: Device>(
    context: &Context<D>,
    texture: &Texture<D>,
    region: TextureRegion,
    data: TexelData<'a>,
) -> Option<TextureWrite<'a>> {
    texture.in_place()?;
    let (info, features) = (texture.info(), context.device().properties().features);
    region.check_copy(info, features, QueueKind::Graphics).ok()?;
    let block = region.block(info.format);
    let BufferLayout { row_pitch, rows, .. } =
        source_layout(texture.name(), block, region.extent, data).ok()?;
    let is_whole = row_pitch.is_multiple_of(block.bytes.into());
    is_whole.then_some(TextureWrite { region, row_pitch, rows, bytes: data.bytes })
}

/// The layout of the program's texels, if their number is sufficient.
fn source_layout(
    name: &Name,
    block: TexelBlock,
    extent: [u32; 3],
    data: TexelData<'_>,
) -> Result<BufferLayout, Error> {
    let refuse = |source| Error::device(name, source);
    let tight = Footprint::new(block, extent, 1).map_err(refuse)?;
    let row_pitch = data.row_pitch.unwrap_or(tight.row);
    let layout = BufferLayout { offset: 0, row_pitch, rows: data.rows.unwrap_or(tight.rows) };
    let Some(size) = layout.bytes(block, extent) else {
        let rule = "the pitch of texels holds a row, their rows a slice, and all of them can be counted";
        return Err(refuse(DeviceError::invalid_call(rule, row_pitch, tight.row)));
    };
    let given = data.bytes.len() as u64;
    if size > given {
        return Err(Error::WrongLength { name: name.clone(), needed: size, given });
    }
    Ok(layout)
}
