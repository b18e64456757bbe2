//! Tables: descriptors in a row that last (spec D2).

use std::sync::Arc;

use super::bind::{Bind, Share, Sources, gather, shares};
use super::static_part::StaticRange;
use super::visible::VisibleHeap;
use super::{DescriptorGarbage, exhausted::count};
use crate::device::{DescriptorKind, Device};
use crate::gpu::Shared;
use crate::registry::{ObjectKind, RecordKey};
use crate::time::Stamp;
use crate::{Error, Name};

/// Descriptors in a row where shaders find them by index, for as long as it lives.
///
/// It does not change, so that it cannot change while the GPU reads it: to change one, make another
/// and drop the old one. A slot of a bindless array is a table of one. It keeps its views, and those
/// their resources. Dropping it frees its row once no recording and no GPU work uses it any more.
/// `Send` and `Sync`.
///
/// ```
/// use tenure::device::{Format, SamplerDesc, Usage};
/// use tenure::{BufferDesc, BufferViewDesc, Config, Gpu, TextureDesc, TextureViewDesc};
/// use tenure::sim;
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// let grass = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("grass");
/// let grass = gpu.create_texture(&grass)?;
/// let lights = gpu.create_buffer(&BufferDesc::new(4800, Usage::SHADER_READ).stride(48).name("lights"))?;
/// let grass = gpu.create_texture_view(&grass, &TextureViewDesc::sampled())?;
/// let lights = gpu.create_buffer_view(&lights, &BufferViewDesc::structured(48))?;
/// let table = gpu.create_descriptor_table(&[(&grass).into(), (&lights).into()], "meadow")?;
/// drop((grass, lights)); // the table keeps them, and they the texture and the buffer
/// let _bind = (table.heap(), table.first());
/// assert_eq!(table.len(), 2);
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct DescriptorTable<D: Device> {
    name: Name,
    kind: DescriptorKind,
    range: StaticRange,
    record: RecordKey,
    born: Stamp,
    _kept: Box<[Share]>,
    /// Declared last, as in every handle.
    shared: Arc<Shared<D>>,
}

impl<D: Device> DescriptorTable<D> {
    pub(crate) fn create(shared: &Arc<Shared<D>>, binds: &[Bind<'_, D>], name: Name) -> Result<Self, Error> {
        shared.clock.check().map_err(|source| Error::device(&name, source))?;
        let mut sources = Sources::new();
        let kind = gather(shared, &name, binds, &mut sources)?;
        let kept = shares(&name, binds.iter().copied())?;
        let heap = shared.visible(&name, kind)?;
        let range = heap.take_static(shared, count(sources.len() as u64), &name)?;
        if let Err(error) = heap.fill(shared, &name, range.first, &sources) {
            heap.return_static(&range);
            return Err(error);
        }
        let record = shared.register(&name, ObjectKind::DescriptorTable, 0);
        let born = shared.clock.stamp();
        Ok(Self { name, kind, range, record, born, _kept: kept, shared: shared.clone() })
    }

    fn visible(&self) -> &VisibleHeap<D> {
        match self.shared.descriptors.visible.get(self.kind) {
            Some(heap) => heap,
            None => unreachable!("a heap stays as long as the manager"),
        }
    }

    /// The heap that shaders see.
    #[must_use]
    pub fn heap(&self) -> &D::DescriptorHeap {
        &self.visible().heap
    }

    /// The index of its first descriptor in the heap.
    #[must_use]
    pub const fn first(&self) -> u32 {
        self.range.first
    }

    /// Its descriptors; at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "none is empty")]
    pub const fn len(&self) -> u32 {
        self.range.count
    }

    /// Views or samplers.
    #[must_use]
    pub const fn kind(&self) -> DescriptorKind {
        self.kind
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }
}

impl<D: Device> Drop for DescriptorTable<D> {
    fn drop(&mut self) {
        self.shared.registry.remove(self.record);
        self.visible().note_dropped(&self.range);
        self.shared.release_descriptors(DescriptorGarbage::Table(self.kind, self.range), self.born);
    }
}
