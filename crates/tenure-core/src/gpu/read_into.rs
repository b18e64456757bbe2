//! Readbacks of any size, in pieces.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::Gpu;
use crate::command::Commands;
use crate::context::{DividedTransfer, PieceWaits};
use crate::device::{Device, State, Subresource, TextureRegion};
use crate::memory::{AllocationFlags, Holder, PlaceHolds};
use crate::resource::Used;
use crate::staging::{FIRST_PAGE, TexelPieces};
use crate::{Buffer, Error, Readback, Texture};

/// Pieces being copied by the GPU, with their destinations.
struct Pieces<'a, D: Device> {
    gpu: &'a Gpu<D>,
    waiting: VecDeque<(Readback<D>, &'a mut [u8])>,
    /// Bytes of the waiting pieces.
    bytes: u64,
    /// The most bytes that may wait, and the size above which a piece is divided (reduced when memory is short).
    limit: u64,
    most: u64,
    begun: Instant,
    timeout: Duration,
    _transfer: DividedTransfer<'a>,
}

impl<'a, D: Device> Pieces<'a, D> {
    fn new(gpu: &'a Gpu<D>, timeout: Duration) -> Self {
        let limit = gpu.config().staging.max_pending;
        Self {
            gpu,
            waiting: VecDeque::new(),
            bytes: 0,
            limit,
            most: limit / 4,
            begun: Instant::now(),
            timeout,
            _transfer: gpu.shared.context.divided.begin(),
        }
    }

    /// Begins to read the next piece; `cut` returns it for a maximum size in bytes. When memory is short, waits for earlier
    /// pieces and for other threads, then tries smaller pieces.
    fn read<T>(
        &mut self,
        cut: impl Fn(u64) -> (T, u64),
        read: impl Fn(&mut Commands<D>, &T) -> Result<Readback<D>, Error>,
    ) -> Result<(T, Readback<D>), Error> {
        let context = &self.gpu.shared.context;
        let mut waits = PieceWaits::default();
        loop {
            let (piece, size) = cut(self.most);
            while self.bytes.saturating_add(size) > self.limit && self.finish_oldest()? {}
            let seen = context.divided.steps();
            let begun = self.gpu.read_back_as(|recording| read(recording, &piece));
            let error = match begun {
                Err(error @ Error::OutOfMemory(_)) => error,
                begun => return begun.map(|readback| (piece, readback)),
            };
            let waited = self.finish_oldest()?
                || context
                    .wait_for_piece(&mut waits, seen, self.left())
                    .map_err(|source| context.refused(&"readback".into(), source))?;
            if waited {
                continue;
            }
            self.most = size / 2;
            if cut(self.most).1 >= size {
                return Err(error);
            }
        }
    }

    fn push(&mut self, readback: Readback<D>, out: &'a mut [u8]) {
        self.bytes += readback.staged();
        self.waiting.push_back((readback, out));
    }

    /// Waits for the oldest piece and copies its bytes out; false when there is none.
    fn finish_oldest(&mut self) -> Result<bool, Error> {
        let Some((readback, out)) = self.waiting.pop_front() else { return Ok(false) };
        self.bytes -= readback.staged();
        readback.wait_into(out, self.left())?;
        drop(readback);
        self.gpu.shared.context.divided.step();
        Ok(true)
    }

    fn left(&self) -> Duration {
        self.timeout.saturating_sub(self.begun.elapsed())
    }

    fn finish(mut self) -> Result<(), Error> {
        while self.finish_oldest()? {}
        Ok(())
    }
}

impl<D: Device> Gpu<D> {
    /// Copies the bytes at `offset` of a buffer to `out`, and blocks until they have arrived. The copy is divided
    /// into pieces of at most a quarter of [`StagingConfig::max_pending`](crate::StagingConfig::max_pending), each
    /// with its own submission, so it may exceed the size of readback memory. When memory is short, the call waits
    /// for memory that the GPU still uses and for large transfers of other threads, then continues with smaller
    /// pieces.
    ///
    /// Submissions of other threads may execute between two pieces.
    ///
    /// # Errors
    /// [`Error::Timeout`] when `timeout` has passed, and the errors of [`read_back`](Self::read_back); `out` may be
    /// partly written then. [`Error::OutOfMemory`] when 64 KiB of readback memory do not become available in time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{BufferDesc, Config, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let desc = BufferDesc::new(1 << 20, Usage::SHADER_READ | Usage::COPY_SRC).name("simulation");
    /// let simulation = gpu.create_buffer_with(&desc, &vec![7; 1 << 20])?;
    /// let mut bytes = vec![0; 1 << 20];
    /// gpu.read_back_into(&simulation, 0, &mut bytes, Duration::from_secs(1))?;
    /// assert!(bytes.iter().all(|byte| *byte == 7));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn read_back_into(
        &self,
        buffer: &Buffer<D>,
        offset: u64,
        out: &mut [u8],
        timeout: Duration,
    ) -> Result<(), Error> {
        let (size, capacity) = (out.len() as u64, buffer.size());
        if offset.checked_add(size).is_none_or(|end| end > capacity) {
            return Err(Error::OutOfRange { name: buffer.name().clone(), offset, size, capacity });
        }
        if out.is_empty() {
            let mut holds = PlaceHolds::new(Holder::NO_RECORDING);
            let source = Used::from(buffer);
            return source
                .check(&self.shared.context, Subresource::All, State::COPY_SRC, &mut holds)
                .map(drop);
        }
        let (mut pieces, mut offset, mut left) = (Pieces::new(self, timeout), offset, out);
        while !left.is_empty() {
            let cut = |most: u64| {
                // A smaller size would still need a whole page.
                let size = left.len().min(usize::try_from(most.max(FIRST_PAGE)).unwrap_or(usize::MAX));
                (size, size as u64)
            };
            let (size, readback) = pieces.read(cut, |recording, size| {
                recording.read_back_as(buffer, (offset, *size as u64), AllocationFlags::NEVER_WAIT)
            })?;
            let (piece, rest) = left.split_at_mut(size);
            pieces.push(readback, piece);
            left = rest;
            offset += size as u64;
        }
        pieces.finish()
    }

    /// Copies texels of a texture to `out`, without padding, and blocks until they have arrived: as
    /// [`read_back_into`](Self::read_back_into), in pieces of whole slices, or of rows of blocks. Depth and stencil are copied
    /// a whole mip at a time.
    ///
    /// # Errors
    /// The errors of [`read_back_into`](Self::read_back_into), with [`Error::OutOfMemory`] when one row of blocks, or one mip
    /// of depth or stencil, does not fit; [`Error::WrongLength`] unless `out` has the size of the texels.
    #[inline(never)]
    pub fn read_back_texture_into(
        &self,
        texture: &Texture<D>,
        region: TextureRegion,
        out: &mut [u8],
        timeout: Duration,
    ) -> Result<(), Error> {
        let (name, info) = (texture.name(), texture.info());
        let refuse = |source| Error::device(name, source);
        region.check(info).map_err(refuse)?;
        let pitch = self.shared.context.alignments.copy_pitch.max(region.block(info.format).bytes.into());
        let mut pieces = Pieces::new(self, timeout);
        let mut texels = TexelPieces::new(info, region, pitch).map_err(refuse)?;
        let (needed, given) = (texels.all().tight(), out.len() as u64);
        if given != needed {
            return Err(Error::WrongLength { name: name.clone(), needed, given });
        }
        let mut left = out;
        while !texels.is_over() {
            let cut = |most| {
                let piece = texels.next(most, most);
                (piece, piece.rows.size)
            };
            let (piece, readback) = pieces.read(cut, |recording, piece| {
                recording.read_back_texture_as(texture, piece.region, AllocationFlags::NEVER_WAIT)
            })?;
            // The texels were counted above.
            let size = usize::try_from(piece.rows.tight()).unwrap_or(usize::MAX).min(left.len());
            let (out, rest) = left.split_at_mut(size);
            pieces.push(readback, out);
            left = rest;
            texels.advance(&piece);
        }
        pieces.finish()
    }
}
