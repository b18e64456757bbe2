//! Uploads that are divided because they are large or memory is short.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::BatchState;
use super::copies::Copy;
use super::stage::{BYTE_ALIGNMENT, Texels, destination, largest_piece, subresource};
use super::uploads::{NAME, is_shortage};
use super::{Upload, Uploads};
use crate::Error;
use crate::context::{Context, DividedTransfer, PieceWaits};
use crate::device::{Device, DeviceError, Subresource};
use crate::memory::{AllocationFlags, MakeRoom};
use crate::resource::{Buffer, Texture};
use crate::staging::{FIRST_PAGE, Part, TexelPieces};
use crate::time::Clock;

/// An upload in pieces, which are staged and submitted one after the other.
struct Pieces<'a, D: Device> {
    uploads: &'a Uploads<D>,
    context: &'a Arc<Context<D>>,
    room: &'a dyn MakeRoom,
    /// Size in bytes above which a piece is divided; reduced when memory is short.
    most: u64,
    /// Whether the upload may wait for the GPU.
    waits: bool,
    /// Bytes reserved for the piece that is being staged.
    promised: u64,
    /// The batches that hold its pieces.
    batches: Vec<Arc<BatchState>>,
    _transfer: DividedTransfer<'a>,
}

impl<'a, D: Device> Pieces<'a, D> {
    fn new(
        uploads: &'a Uploads<D>,
        context: &'a Arc<Context<D>>,
        room: &'a dyn MakeRoom,
        flags: AllocationFlags,
    ) -> Self {
        let waits = !flags.intersects(AllocationFlags::NEVER_WAIT | AllocationFlags::NEVER_ALLOCATE)
            && !context.config.pools.max_wait.is_zero();
        let most = context.config.staging.max_pending;
        let (promised, batches) = (0, Vec::new());
        Self { uploads, context, room, most, waits, promised, batches, _transfer: context.divided.begin() }
    }

    /// Stages the next piece. `cut` returns the piece for a maximum size, with its size in bytes. When memory is
    /// short, waits for uploads in flight and for other threads, then tries smaller pieces.
    fn stage<T>(&mut self, align: u64, cut: impl Fn(u64) -> (T, u64)) -> Result<(Part<D>, T), Error> {
        let (begun, timeout) = (Instant::now(), self.context.config.frames.timeout);
        let mut waits = PieceWaits::default();
        loop {
            let (piece, size) = cut(self.most);
            if self.waits {
                self.redeem();
                self.uploads.wait_for_room(self.context, size)?;
                self.promised = size;
            }
            let seen = self.context.divided.steps();
            let error = match self.uploads.stage(self.context, self.room, size, align) {
                Err(error @ Error::OutOfMemory(_)) => error,
                staged => return staged.map(|staged| (staged, piece)),
            };
            let left = timeout.saturating_sub(begun.elapsed());
            if self.waits && !left.is_zero() && self.wait_for_memory(&mut waits, seen, left)? {
                continue;
            }
            self.most = size / 2;
            if cut(self.most).1 >= size {
                return Err(error);
            }
        }
    }

    /// Releases the reserved bytes: they are in a batch, or not needed.
    fn redeem(&mut self) {
        self.uploads.in_flight.redeem(std::mem::take(&mut self.promised));
    }

    fn wait_for_memory(&self, waits: &mut PieceWaits, seen: u64, timeout: Duration) -> Result<bool, Error> {
        let waited = self.uploads.wait_for_oldest(self.context)?
            || self
                .context
                .wait_for_piece(waits, seen, timeout)
                .map_err(|source| self.context.refused(&NAME.into(), source))?;
        Ok(waited)
    }

    fn push(&mut self, copy: Copy<D>, bytes: u64) -> Result<(), Error> {
        let begun = u64::from(self.batches.is_empty());
        let (batch, pending) = self.uploads.push(self.context, [copy], (begun, bytes));
        self.redeem();
        if !self.batches.last().is_some_and(|last| Arc::ptr_eq(last, &batch)) {
            self.batches.push(batch);
        }
        // The GPU copies one half while the other one is filled.
        if pending >= self.context.config.staging.max_pending / 2 {
            self.flush()?;
        }
        self.context.divided.step();
        Ok(())
    }

    /// Submits pending uploads. When memory is short, and inside an external submission, they stay pending, like small uploads.
    fn flush(&self) -> Result<(), Error> {
        if Clock::check_outside().is_err() {
            return Ok(());
        }
        let flushed = match self.waits {
            true => self.uploads.flush_patiently(self.context),
            false => self.uploads.flush(self.context).map(drop),
        };
        self.context.reclaim_now();
        match flushed {
            Err(error) if is_shortage(&error) => Ok(()),
            flushed => flushed,
        }
    }

    /// Ends the upload after its last piece. If the pieces are in several batches, submits the last batch, too.
    fn end(mut self) -> Result<Upload, Error> {
        if let [_, _, ..] = &*self.batches {
            self.flush()?;
        }
        let upload = Upload::of_all(std::mem::take(&mut self.batches));
        upload.error().cloned().map_or(Ok(upload), Err)
    }
}

impl<D: Device> Drop for Pieces<'_, D> {
    fn drop(&mut self) {
        self.redeem();
    }
}

impl<D: Device> Uploads<D> {
    /// Stages bytes for a buffer, piece by piece. The caller has checked the range.
    #[cold]
    pub(super) fn upload_in_pieces(
        &self,
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        buffer: &Buffer<D>,
        (mut offset, mut bytes): (u64, &[u8]),
        flags: AllocationFlags,
    ) -> Result<Upload, Error> {
        let mut pieces = Pieces::new(self, context, room, flags);
        let part = largest_piece(context);
        while !bytes.is_empty() {
            let (staged, size) = pieces.stage(BYTE_ALIGNMENT, |most| {
                // A smaller size would still need a whole page.
                let size = most.max(FIRST_PAGE).min(part);
                let size = usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len());
                (size, size as u64)
            })?;
            let (piece, rest) = bytes.split_at(size);
            let copy = match destination(context, buffer, Subresource::All) {
                Ok(to) => self.fill_bytes(context, buffer, staged, (offset, piece), to)?,
                Err(error) => {
                    self.unstage(context, staged);
                    return Err(error);
                }
            };
            pieces.push(copy, size as u64)?;
            offset += size as u64;
            bytes = rest;
        }
        pieces.end()
    }

    /// Stages texels of subresources, piece by piece. Any queue can copy a whole subresource, so one is divided only where it
    /// is larger than the limit of staged bytes, or memory is short.
    #[cold]
    pub(super) fn upload_texels_in_pieces(
        &self,
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        texture: &Texture<D>,
        texels: &[Texels<'_>],
        flags: AllocationFlags,
    ) -> Result<Upload, Error> {
        let mut pieces = Pieces::new(self, context, room, flags);
        let part = largest_piece(context);
        for texels in texels {
            let refuse = |source| Error::device(texture.name(), source);
            let align = texels.alignment(context, texture);
            let pitch = texels.rows.row_pitch;
            let mut left = TexelPieces::new(texture.info(), texels.region, pitch).map_err(refuse)?;
            while !left.is_over() {
                let (staged, piece) = pieces.stage(align, |most| {
                    let piece = left.next(most, most.min(part));
                    (piece, piece.rows.size)
                })?;
                let to = destination(context, texture, subresource(texture, texels.region));
                let some = texels.piece(&piece).ok_or_else(|| {
                    let limit = texels.bytes.len() as u64;
                    refuse(DeviceError::invalid_call("texels lie within their bytes", piece.rows.size, limit))
                });
                let copy = match to.and_then(|to| Ok((to, some?))) {
                    Ok((to, some)) => self.fill_texels(context, texture, staged, &some, to)?,
                    Err(error) => {
                        self.unstage(context, staged);
                        return Err(error);
                    }
                };
                pieces.push(copy, piece.rows.size)?;
                left.advance(&piece);
            }
        }
        pieces.end()
    }
}
