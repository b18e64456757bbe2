//! Deferred copies, which share barriers and commands with later ones.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::api_resource::ApiResource;
use crate::device::{BufferLayout, BufferRegion, CommandList, Device, TextureRegion};

/// Maximum number of deferred copies: with more, the search for overlaps would cost more than a barrier.
pub(super) const MOST_KEPT: usize = 64;

/// The parts that a copy reads and writes.
#[derive(Clone, Copy)]
pub(crate) enum CopiedParts {
    /// Bytes of a buffer to another buffer.
    Bytes(BufferRegion),
    /// Texels in a buffer to a texture.
    ToTexture(BufferLayout, TextureRegion),
    /// Texels of a texture to a buffer.
    ToBuffer(TextureRegion, BufferLayout),
}

impl CopiedParts {
    /// The bytes that it writes to a buffer, if they are a range.
    const fn written(&self) -> Option<Range<u64>> {
        match self {
            Self::Bytes(BufferRegion { dst_offset, size, .. }) => Some(*dst_offset..*dst_offset + *size),
            Self::ToTexture(..) | Self::ToBuffer(..) => None,
        }
    }
}

/// A checked, deferred copy.
pub(crate) struct KeptCopy<D: Device> {
    pub(super) src: Arc<ApiResource<D>>,
    pub(super) dst: Arc<ApiResource<D>>,
    pub(super) parts: CopiedParts,
}

impl<D: Device> KeptCopy<D> {
    /// The two API objects, and the parts.
    pub(super) fn objects(&self) -> (&D::Resource, &D::Resource, CopiedParts) {
        (&self.src.object, &self.dst.object, self.parts)
    }

    /// Whether a copy to `dst` may write bytes or texels that this copy writes.
    pub(super) fn may_overlap(&self, dst: &Arc<ApiResource<D>>, parts: &CopiedParts) -> bool {
        let is_apart = || match (self.parts.written(), parts.written()) {
            (Some(one), Some(other)) => one.end <= other.start || other.end <= one.start,
            _ => false,
        };
        Arc::ptr_eq(&self.dst, dst) && !is_apart()
    }
}

/// Copies between two objects.
struct Group<'a, D: Device> {
    objects: Option<(&'a D::Resource, &'a D::Resource)>,
    bytes: SmallVec<[BufferRegion; 16]>,
    texels: SmallVec<[(BufferLayout, TextureRegion); 4]>,
}

impl<D: Device> Group<'_, D> {
    fn record(&mut self, list: &mut D::List) {
        let Some((src, dst)) = self.objects else { return };
        match *self.bytes.as_slice() {
            [] => {}
            [BufferRegion { src_offset, dst_offset, size }] => {
                list.copy_buffer(src, src_offset, dst, dst_offset, size);
            }
            ref regions => list.copy_buffer_regions(src, dst, regions),
        }
        match *self.texels.as_slice() {
            [] => {}
            [(layout, region)] => list.copy_buffer_to_texture(src, layout, dst, region),
            ref regions => list.copy_buffer_to_regions(src, dst, regions),
        }
        self.bytes.clear();
        self.texels.clear();
    }
}

/// Records copies that do not depend on each other: consecutive ones from one buffer to one object by one command.
pub(crate) fn record_copies<'a, D: Device>(
    list: &mut D::List,
    copies: impl Iterator<Item = (&'a D::Resource, &'a D::Resource, CopiedParts)>,
) {
    let mut group = Group::<D> { objects: None, bytes: SmallVec::new(), texels: SmallVec::new() };
    for (src, dst, parts) in copies {
        let is_same =
            |(from, to): (&D::Resource, &D::Resource)| std::ptr::eq(from, src) && std::ptr::eq(to, dst);
        if !group.objects.is_some_and(is_same) {
            group.record(list);
            group.objects = Some((src, dst));
        }
        match parts {
            CopiedParts::Bytes(region) => group.bytes.push(region),
            CopiedParts::ToTexture(layout, region) => group.texels.push((layout, region)),
            CopiedParts::ToBuffer(region, layout) => list.copy_texture_to_buffer(src, region, dst, layout),
        }
    }
    group.record(list);
}
