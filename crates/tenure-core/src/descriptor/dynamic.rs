//! Descriptors of one recording (spec D3).

use super::bind::{Bind, Sources, gather};
use super::exhausted::count;
use crate::device::{DescriptorKind, Device};
use crate::upload::Scratch;
use crate::{Error, Name};

/// Descriptors in a row for one submission, where shaders find them by index: from
/// [`Scratch::descriptors`].
///
/// It borrows the recording it was made for, so that it cannot be used once that is submitted. Callers
/// that cannot hold a borrow keep [`first`](Self::first), a plain number; what is used for too long is
/// found with [`Config::poison_descriptors`](crate::Config::poison_descriptors).
pub struct Descriptors<'r, D: Device> {
    heap: &'r D::DescriptorHeap,
    kind: DescriptorKind,
    first: u32,
    len: u32,
}

impl<D: Device> Clone for Descriptors<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Descriptors<'_, D> {}

impl<'r, D: Device> Descriptors<'r, D> {
    /// The heap that shaders see.
    #[must_use]
    pub const fn heap(&self) -> &'r D::DescriptorHeap {
        self.heap
    }

    /// The index of the first descriptor in the heap.
    #[must_use]
    pub const fn first(&self) -> u32 {
        self.first
    }

    /// How many there are; at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "none is empty")]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Views or samplers.
    #[must_use]
    pub const fn kind(&self) -> DescriptorKind {
        self.kind
    }
}

impl<'r, D: Device> Scratch<'r, D> {
    /// Puts descriptors in a row where shaders find them by index, for this submission: all of views
    /// and constants, or all of samplers. The views may be dropped right after.
    ///
    /// The lists that use them find them after
    /// [`Commands::set_descriptor_heaps`](crate::Commands::set_descriptor_heaps).
    ///
    /// O(descriptors): no lock and no allocation while a chunk of
    /// [`Config::descriptor_chunk`](crate::Config::descriptor_chunk) lasts, but for more than 16
    /// descriptors at once. Each recording has chunks of its own, so threads never meet. Rows of more
    /// than half a chunk are taken alone. What is taken goes back through the release queue when the
    /// recording ends; what is left of the last chunk serves a later recording, and no descriptor is
    /// handed out again before the submission that had it is complete.
    ///
    /// # Errors
    /// [`Error::NoDescriptors`] when a chunk is needed and not to be had; [`Error::Foreign`] for a
    /// view of another manager; [`Error::Device`] for no descriptors at all, views beside samplers,
    /// views of targets, `Unsupported` on a device without descriptor indexing, or a lost device.
    ///
    /// ```
    /// use tenure::device::Usage;
    /// use tenure::{BufferDesc, BufferViewDesc, Config, Gpu, Queue};
    /// use tenure::sim;
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mesh = gpu.create_buffer(&BufferDesc::new(4800, Usage::SHADER_READ).name("mesh"))?;
    /// let mesh = gpu.create_buffer_view(&mesh, &BufferViewDesc::raw())?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let (mut commands, scratch) = recording.split();
    /// commands.set_descriptor_heaps()?;
    /// let camera = scratch.constants(&[1.0_f32; 64])?;
    /// let table = scratch.descriptors(&[camera.into(), (&mesh).into()])?;
    /// let _draw = (commands.raw(), table.heap(), table.first());
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// They are gone with the recording. The last line is one too many, and the compiler says so:
    ///
    /// ```compile_fail
    /// # use tenure::{Config, Gpu, Queue};
    /// # use tenure::sim;
    /// # let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let scratch = recording.split().1;
    /// let table = scratch.descriptors(&[scratch.constants(&[1.0_f32; 64])?.into()])?;
    /// recording.submit()?;
    /// table.first();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn descriptors(&self, binds: &[Bind<'_, D>]) -> Result<Descriptors<'r, D>, Error> {
        let shared = self.shared;
        let name = Name::from(self.name);
        let mut sources = Sources::new();
        let kind = gather(shared, &name, binds, &mut sources)?;
        let heap = shared.visible(&name, kind)?;
        let len = count(sources.len() as u64);
        let first = self.chunks.take(shared, heap, self.name, len)?;
        heap.fill(shared, &name, first, &sources)?;
        Ok(Descriptors { heap: &heap.heap, kind, first, len })
    }
}
