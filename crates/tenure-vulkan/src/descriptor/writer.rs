//! Telling sets what their descriptors are, without allocating.

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::BindingKind;

use super::Descriptors;
use super::kinds::vk_type;
use super::slot::{Value, Written};

/// Descriptors handed to the driver at once.
pub(super) const BATCH: usize = 16;
/// Null descriptors handed to the driver at once.
const NULLS: usize = 64;

/// The binding of a set that a descriptor is written to.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteTarget {
    pub(super) set: vk::DescriptorSet,
    pub(super) binding: u32,
    pub(super) element: u32,
}

/// Collects descriptors and writes them, as soon as there is a batch of them. Dropped before it is
/// finished it writes no more.
pub(super) struct Writer<'a> {
    descriptors: &'a Descriptors,
    batch: SmallVec<[(WriteTarget, Written); BATCH]>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(descriptors: &'a Descriptors) -> Self {
        Self { descriptors, batch: SmallVec::new() }
    }

    /// Writes a descriptor, now or before [`finish`](Self::finish) returns.
    ///
    /// # Safety
    /// The set is alive, its layout has a descriptor of that kind at the target, and no other code uses
    /// it until `finish` returns. The objects that the descriptor names are alive.
    pub(super) unsafe fn write(&mut self, target: WriteTarget, written: Written) {
        if self.batch.len() == BATCH {
            self.flush();
        }
        self.batch.push((target, written));
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) {
        self.flush();
    }

    fn flush(&mut self) {
        let structures = |(_, written): &'_ (WriteTarget, Written)| match written.value {
            Value::Structure(structure) => structure,
            _ => vk::AccelerationStructureKHR::null(),
        };
        let structures: SmallVec<[_; BATCH]> = self.batch.iter().map(structures).collect();
        let chained = |structure| {
            vk::WriteDescriptorSetAccelerationStructureKHR::default()
                .acceleration_structures(core::slice::from_ref(structure))
        };
        let mut chained: SmallVec<[_; BATCH]> = structures.iter().map(chained).collect();
        let writes: SmallVec<[_; BATCH]> = self
            .batch
            .iter()
            .zip(&mut chained)
            .map(|((target, written), chained)| {
                let write = to(*target, written.kind);
                match &written.value {
                    Value::Structure(_) => write.descriptor_count(1).push_next(chained),
                    Value::Bytes(info) => write.buffer_info(core::slice::from_ref(info)),
                    Value::Texels(texels) => write.texel_buffer_view(core::slice::from_ref(&texels.view)),
                    Value::Image(info) => write.image_info(core::slice::from_ref(info)),
                }
            })
            .collect();
        if !writes.is_empty() {
            // SAFETY: the caller of `write` promised what is needed of each.
            unsafe { self.descriptors.api.device.update_descriptor_sets(&writes, &[]) };
        }
        drop(writes);
        self.batch.clear();
    }
}

fn to(target: WriteTarget, kind: BindingKind) -> vk::WriteDescriptorSet<'static> {
    vk::WriteDescriptorSet::default()
        .dst_set(target.set)
        .dst_binding(target.binding)
        .dst_array_element(target.element)
        .descriptor_type(vk_type(kind))
}

/// Makes `count` descriptors from `target` on null descriptors; there are none for samplers, alone or
/// combined, and input attachments.
///
/// # Safety
/// Null descriptors are enabled. The set is alive, its layout has such descriptors there, and no
/// other code uses them meanwhile.
pub(super) unsafe fn write_nulls(
    descriptors: &Descriptors,
    target: WriteTarget,
    kind: BindingKind,
    count: u32,
) {
    let layout = match kind {
        BindingKind::StorageTexture => vk::ImageLayout::GENERAL,
        _ => vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL,
    };
    let images = [vk::DescriptorImageInfo::default().image_layout(layout); NULLS];
    let buffers = [vk::DescriptorBufferInfo::default().range(vk::WHOLE_SIZE); NULLS];
    let texels = [vk::BufferView::null(); NULLS];
    let structures = [vk::AccelerationStructureKHR::null(); NULLS];
    let mut done = 0;
    while done < count {
        let left = usize::try_from(count - done).unwrap_or(NULLS).min(NULLS);
        let mut chained = vk::WriteDescriptorSetAccelerationStructureKHR::default();
        let write = to(WriteTarget { element: target.element + done, ..target }, kind);
        let write = match kind {
            BindingKind::Constants | BindingKind::DynamicConstants | BindingKind::Buffer => {
                write.buffer_info(buffers.get(..left).unwrap_or_default())
            }
            BindingKind::TypedBuffer | BindingKind::TypedStorageBuffer => {
                write.texel_buffer_view(texels.get(..left).unwrap_or_default())
            }
            BindingKind::Texture | BindingKind::StorageTexture => {
                write.image_info(images.get(..left).unwrap_or_default())
            }
            BindingKind::AccelerationStructure => {
                chained = chained.acceleration_structures(structures.get(..left).unwrap_or_default());
                write.descriptor_count(left as u32).push_next(&mut chained)
            }
            BindingKind::Sampler | BindingKind::CombinedSampler | BindingKind::InputAttachment => return,
        };
        // SAFETY: as the caller promises; null is allowed for these kinds.
        unsafe { descriptors.api.device.update_descriptor_sets(&[write], &[]) };
        done += left as u32;
    }
}
