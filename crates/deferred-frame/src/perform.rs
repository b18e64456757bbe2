//! Recording a pass: copies replace shaders.
//!
//! The parts that a pass reads are copied to readback memory and checked when the frame is complete; the
//! parts that it writes are copied from an upload ring. A pass copies a few parts of each resource. APIs
//! copy depth only as whole mips, so depth is copied through a buffer, and the parts are copied from or to that.

use tenure::device::{CommandList as _, Device, Permit};
use tenure::{
    Buffer, Commands, Error, Recording, State, Subresource, Texture, UploadRing,
    device::QueueKind,
    resource::{BufferLayout, TextureInfo, TextureRegion},
    upload::RingSlice,
};

use crate::DeferredFrame;
use crate::accessed_parts::Part;
use crate::pattern::Mark;
use crate::script::{Piece, Step, row_pitch};

/// A resource of the frame, in any kind of memory.
pub(crate) enum Thing<'t, D: Device> {
    Texture(&'t Texture<D>),
    Buffer(&'t Buffer<D>),
}

impl<D: Device> Clone for Thing<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Thing<'_, D> {}

/// The data that all passes of a frame share.
pub(crate) struct Stage<'a, D: Device> {
    pub(crate) frame: &'a DeferredFrame,
    /// The number of the frame.
    pub(crate) number: u64,
    pub(crate) grain: u64,
    pub(crate) ring: &'a UploadRing<D>,
    /// The buffer through which depth textures are copied.
    pub(crate) depth: &'a Buffer<D>,
    /// The readback buffer of each queue.
    pub(crate) lanes: &'a [Option<Buffer<D>>],
}

impl<D: Device> Stage<'_, D> {
    /// Records the commands of a pass. The resources are in the states of the step, before and after.
    pub(crate) fn perform<'t>(
        &self,
        step: &Step,
        kind: QueueKind,
        recording: &mut Recording<D>,
        find: impl Fn(usize) -> Result<Thing<'t, D>, Error>,
    ) -> Result<(), Error>
    where
        D: 't,
    {
        let (commands, scratch) = recording.split();
        for resource in &step.first {
            if let Thing::Texture(texture) = find(*resource)?
                && State::to_discard(texture.info().usage, kind).is_some()
            {
                commands.discard(texture, Subresource::All)?;
            }
        }
        if let Some(Some(lane)) = self.lanes.get(step.queue.index())
            && !step.loads.is_empty()
        {
            self.load(&step.loads, commands, lane, &find)?;
        }
        if !step.stores.is_empty() {
            let slice = self.ring.allocate(scratch, step.staged, self.grain)?;
            slice.write(0, &self.patterns(step))?;
            self.store(&step.stores, commands, &slice, &find)?;
        }
        for (resource, state) in &step.states {
            use_all(commands, find(*resource)?, *state)?;
        }
        commands.barriers();
        Ok(())
    }

    /// The bytes that a pass writes.
    fn patterns(&self, step: &Step) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(step.staged).unwrap_or(0)];
        for piece in &step.stores {
            let range = piece.at as usize..(piece.at + piece.bytes) as usize;
            if let Some(out) = bytes.get_mut(range) {
                fill(self.frame, self.number, piece, out);
            }
        }
        bytes
    }

    fn load<'t>(
        &self,
        loads: &[Piece],
        commands: &mut Commands<D>,
        lane: &Buffer<D>,
        find: &impl Fn(usize) -> Result<Thing<'t, D>, Error>,
    ) -> Result<(), Error>
    where
        D: 't,
    {
        for pieces in loads.chunk_by(|one, other| one.resource == other.resource) {
            if let Some(piece) = pieces.first() {
                use_all(commands, find(piece.resource)?, State::COPY_SRC)?;
            }
        }
        commands.use_resource(lane, Subresource::All, State::COPY_DST)?;
        commands.barriers();
        for pieces in loads.chunk_by(|one, other| one.resource == other.resource) {
            let Some(piece) = pieces.first() else { continue };
            match find(piece.resource)? {
                Thing::Texture(texture) if texture.info().format.is_depth() => {
                    self.load_depth(pieces, commands, texture, lane)?;
                }
                Thing::Texture(texture) => {
                    for (piece, region) in texels(pieces) {
                        let layout = self.layout(lane.offset() + piece.at);
                        commands.raw_mut(permit()).copy_texture_to_buffer(
                            texture.raw(),
                            region,
                            lane.raw(),
                            layout,
                        );
                    }
                }
                Thing::Buffer(buffer) => {
                    for (piece, offset) in bytes(pieces) {
                        let (from, to) = (buffer.offset() + offset, lane.offset() + piece.at);
                        commands.raw_mut(permit()).copy_buffer(
                            buffer.raw(),
                            from,
                            lane.raw(),
                            to,
                            piece.bytes,
                        );
                    }
                }
            }
        }
        Ok(())
    }

    fn load_depth(
        &self,
        pieces: &[Piece],
        commands: &mut Commands<D>,
        texture: &Texture<D>,
        lane: &Buffer<D>,
    ) -> Result<(), Error> {
        commands.use_resource(self.depth, Subresource::All, State::COPY_DST)?;
        commands.barriers();
        let (region, layout) = self.whole(texture.info());
        commands.raw_mut(permit()).copy_texture_to_buffer(texture.raw(), region, self.depth.raw(), layout);
        commands.use_resource(self.depth, Subresource::All, State::COPY_SRC)?;
        commands.use_resource(lane, Subresource::All, State::COPY_DST)?;
        commands.barriers();
        for (piece, region) in texels(pieces) {
            let (from, to) = (self.texel(texture.info(), region), lane.offset() + piece.at);
            commands.raw_mut(permit()).copy_buffer(self.depth.raw(), from, lane.raw(), to, piece.bytes);
        }
        Ok(())
    }

    fn store<'t>(
        &self,
        stores: &[Piece],
        commands: &mut Commands<D>,
        slice: &RingSlice<'_, D>,
        find: &impl Fn(usize) -> Result<Thing<'t, D>, Error>,
    ) -> Result<(), Error>
    where
        D: 't,
    {
        for pieces in stores.chunk_by(|one, other| one.resource == other.resource) {
            let Some(piece) = pieces.first() else { continue };
            use_all(commands, find(piece.resource)?, State::COPY_DST)?;
        }
        commands.barriers();
        for pieces in stores.chunk_by(|one, other| one.resource == other.resource) {
            let Some(piece) = pieces.first() else { continue };
            match find(piece.resource)? {
                Thing::Texture(texture) if texture.info().format.is_depth() => {
                    self.store_depth(pieces, commands, slice, texture)?;
                }
                Thing::Texture(texture) => {
                    for (piece, region) in texels(pieces) {
                        let layout = self.layout(slice.offset() + piece.at);
                        commands.raw_mut(permit()).copy_buffer_to_texture(
                            slice.raw(),
                            layout,
                            texture.raw(),
                            region,
                        );
                    }
                }
                Thing::Buffer(buffer) => {
                    for (piece, offset) in bytes(pieces) {
                        let (from, to) = (slice.offset() + piece.at, buffer.offset() + offset);
                        commands.raw_mut(permit()).copy_buffer(
                            slice.raw(),
                            from,
                            buffer.raw(),
                            to,
                            piece.bytes,
                        );
                    }
                }
            }
        }
        Ok(())
    }

    fn store_depth(
        &self,
        pieces: &[Piece],
        commands: &mut Commands<D>,
        slice: &RingSlice<'_, D>,
        texture: &Texture<D>,
    ) -> Result<(), Error> {
        commands.use_resource(self.depth, Subresource::All, State::COPY_DST)?;
        commands.barriers();
        for (piece, region) in texels(pieces) {
            let (from, to) = (slice.offset() + piece.at, self.texel(texture.info(), region));
            commands.raw_mut(permit()).copy_buffer(slice.raw(), from, self.depth.raw(), to, piece.bytes);
        }
        commands.use_resource(self.depth, Subresource::All, State::COPY_SRC)?;
        commands.barriers();
        let (region, layout) = self.whole(texture.info());
        commands.raw_mut(permit()).copy_buffer_to_texture(self.depth.raw(), layout, texture.raw(), region);
        Ok(())
    }

    /// The layout of one row of texels at an offset.
    const fn layout(&self, offset: u64) -> BufferLayout {
        BufferLayout { offset, row_pitch: self.grain, rows: 1 }
    }

    /// The region of a whole texture of one mip, and its layout in the buffer `depth`.
    fn whole(&self, info: &TextureInfo) -> (TextureRegion, BufferLayout) {
        let row_pitch = row_pitch(info, self.grain);
        (info.region(0, 0), BufferLayout { offset: self.depth.offset(), row_pitch, rows: info.height })
    }

    /// The offset of a region's first texel in the buffer `depth`.
    fn texel(&self, info: &TextureInfo, region: TextureRegion) -> u64 {
        let [x, y, _] = region.origin.map(u64::from);
        let texel = u64::from(info.format.block().bytes);
        self.depth.offset() + y * row_pitch(info, self.grain) + x * texel
    }
}

/// Writes to `out` the bytes that a piece has in a frame.
pub(crate) fn fill(frame: &DeferredFrame, number: u64, piece: &Piece, out: &mut [u8]) {
    let Some((_, desc)) = frame.resources().get(piece.resource) else { return };
    let mark = Mark { frame: number, pass: piece.writer, resource: piece.resource, part: piece.number };
    mark.fill(desc, out);
}

/// Requests a state for all of a resource.
pub(crate) fn use_all<D: Device>(
    commands: &mut Commands<D>,
    thing: Thing<'_, D>,
    state: State,
) -> Result<(), Error> {
    match thing {
        Thing::Texture(texture) => commands.use_resource(texture, Subresource::All, state),
        Thing::Buffer(buffer) => commands.use_resource(buffer, Subresource::All, state),
    }
}

fn texels(pieces: &[Piece]) -> impl Iterator<Item = (&Piece, TextureRegion)> {
    pieces.iter().filter_map(|piece| match piece.part {
        Part::Texels(region) => Some((piece, region)),
        Part::Bytes { .. } => None,
    })
}

fn bytes(pieces: &[Piece]) -> impl Iterator<Item = (&Piece, u64)> {
    pieces.iter().filter_map(|piece| match piece.part {
        Part::Bytes { offset, .. } => Some((piece, offset)),
        Part::Texels(_) => None,
    })
}

/// The permit for commands that [`Recording`] does not offer.
const fn permit<D: Device>() -> Permit<D> {
    // SAFETY: the copied resources are in the right state, and the renderer keeps them alive.
    unsafe { Permit::new() }
}
