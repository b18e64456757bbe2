//! Checks of the contract for all backends: each rule, and its error, is written once here.
//!
//! A backend calls them before it calls its API, also in release builds. They neither allocate nor call the driver, and take
//! time linear in their arguments.

use std::ops::Range;

use super::{
    Allowed, BufferLayout, CallRule, DescriptorHeapDesc, DescriptorKind, DeviceError, Features, FieldValue,
    Format, HeapCategory, HeapDesc, MemoryTypeId, Plane, QueueId, QueueKind, Requirements, ResourceDesc,
    SetBinding, State, Subresource, TexelBlock, TextureAccess, TextureInfo, TextureRegion, TextureView,
    TextureWrite, TileRegion, Usage,
};

type Checked = Result<(), DeviceError>;

/// Checks that `size` bytes from `offset` on end within `limit` bytes.
///
/// # Errors
/// `rule`, with the end and the limit.
#[inline]
pub fn range(rule: CallRule, offset: u64, size: u64, limit: u64) -> Checked {
    match offset.checked_add(size) {
        Some(end) if end <= limit => Ok(()),
        end => Err(DeviceError::invalid_call(rule, end.unwrap_or(u64::MAX), limit)),
    }
}

/// Checks that a value is a multiple of another. No value is a multiple of 0.
///
/// # Errors
/// `rule`, with both.
#[inline]
pub fn multiple(rule: CallRule, value: u64, of: u64) -> Checked {
    if of != 0 && value.is_multiple_of(of) {
        return Ok(());
    }
    Err(DeviceError::invalid_call(rule, value, of))
}

/// Checks that a value does not exceed a limit.
///
/// # Errors
/// `rule`, with both.
#[inline]
pub fn at_most(rule: CallRule, value: u64, limit: u64) -> Checked {
    if value <= limit { Ok(()) } else { Err(DeviceError::invalid_call(rule, value, limit)) }
}

/// Checks that a resource with the memory types `allowed`, one bit each, can be created in `memory`.
///
/// # Errors
/// [`CallRule::MemoryTypeAllowed`].
pub fn memory_type(allowed: u32, memory: MemoryTypeId) -> Checked {
    let bit = 1_u32.checked_shl(u32::from(memory.0)).unwrap_or(0);
    if allowed & bit != 0 {
        return Ok(());
    }
    Err(DeviceError::invalid_call(CallRule::MemoryTypeAllowed, u32::from(memory.0), allowed))
}

/// Checks the size of a heap. Valid alignments depend on the backend.
///
/// # Errors
/// [`CallRule::HeapSize`], [`CallRule::HeapTooLarge`].
pub fn heap_size(desc: &HeapDesc, max_heap_size: u64) -> Checked {
    if desc.size == 0 {
        return Err(DeviceError::invalid_call(CallRule::HeapSize, desc.size, desc.alignment));
    }
    multiple(CallRule::HeapSize, desc.size, desc.alignment)?;
    at_most(CallRule::HeapTooLarge, desc.size, max_heap_size)
}

/// Checks that a resource of the category `own` may be placed in a heap of the category `heap`, on a device with or without
/// heaps for all categories.
///
/// # Errors
/// [`CallRule::HeapForEverything`], [`CallRule::HeapCategory`].
pub fn category(own: HeapCategory, heap: HeapCategory, has_mixed_heaps: bool) -> Checked {
    let rule = match heap {
        HeapCategory::Any if has_mixed_heaps => return Ok(()),
        HeapCategory::Any => CallRule::HeapForEverything,
        heap if heap == own => return Ok(()),
        _ => CallRule::HeapCategory,
    };
    Err(DeviceError::invalid_call(rule, heap, own))
}

/// Checks the placement of a resource with the requirements `needs` at `offset` of `heap_size` bytes of `memory`.
///
/// # Errors
/// [`CallRule::RequiresDedicated`], [`CallRule::MemoryTypeAllowed`], [`CallRule::OffsetAligned`],
/// [`CallRule::InsideHeap`].
pub fn placement(needs: &Requirements, (memory, heap_size): (MemoryTypeId, u64), offset: u64) -> Checked {
    if needs.requires_dedicated {
        return Err(DeviceError::broken_rule(CallRule::RequiresDedicated));
    }
    memory_type(needs.memory_types, memory)?;
    multiple(CallRule::OffsetAligned, offset, needs.alignment)?;
    range(CallRule::InsideHeap, offset, needs.size, heap_size)
}

/// Checks that a region is not empty and lies within `extent` tiles.
///
/// # Errors
/// [`CallRule::TileRegionInside`].
pub fn tile_region(region: &TileRegion, extent: [u32; 3]) -> Checked {
    for ((origin, size), limit) in region.origin.into_iter().zip(region.extent).zip(extent) {
        let end = u64::from(origin) + u64::from(size);
        if size == 0 || end > u64::from(limit) {
            return Err(DeviceError::invalid_call(CallRule::TileRegionInside, end, limit));
        }
    }
    Ok(())
}

/// Checks the mapping of `tiles` tiles of `tile` bytes each to a heap of `heap_size` bytes from `offset` on.
///
/// # Errors
/// [`CallRule::TileOffsetAligned`], [`CallRule::TilesInsideHeap`].
pub fn tiles_in_heap(tiles: u64, tile: u64, offset: u64, heap_size: u64) -> Checked {
    multiple(CallRule::TileOffsetAligned, offset, tile)?;
    range(CallRule::TilesInsideHeap, offset, tiles.saturating_mul(tile), heap_size)
}

/// Checks that a list for the queue `made_for` is submitted to `queue`.
///
/// # Errors
/// [`CallRule::ListQueue`].
#[inline]
pub fn list_queue(queue: QueueId, made_for: QueueId) -> Checked {
    if queue == made_for {
        return Ok(());
    }
    Err(DeviceError::invalid_call(CallRule::ListQueue, u32::from(queue.0), u32::from(made_for.0)))
}

/// Checks that a submission that signals `signal` follows the one that signals `submitted`.
///
/// # Errors
/// [`CallRule::SerialOrder`].
#[inline]
pub fn serial(signal: u64, submitted: u64) -> Checked {
    if submitted.checked_add(1) == Some(signal) {
        return Ok(());
    }
    Err(DeviceError::invalid_call(CallRule::SerialOrder, signal, submitted.saturating_add(1)))
}

/// Checks that a write state is not combined with others, and that the queue supports the state.
///
/// # Errors
/// [`DeviceError::InvalidState`].
#[inline]
pub fn state(queue: QueueKind, state: State) -> Checked {
    if !state.is_valid() {
        return Err(DeviceError::write_state_alone(state));
    }
    let allowed = State::allowed_on(queue);
    if allowed.contains(state) {
        return Ok(());
    }
    Err(DeviceError::InvalidState { rule: CallRule::QueueKnowsState, state, allowed })
}

/// Checks that a resource has the subresource.
///
/// # Errors
/// [`CallRule::SubresourceExists`].
#[inline]
pub fn subresource(desc: &ResourceDesc, subresource: Subresource) -> Checked {
    subresource_of(subresource, desc.subresources())
}

fn subresource_of(subresource: Subresource, count: u32) -> Checked {
    match subresource {
        Subresource::One(index) if index >= count => {
            Err(DeviceError::invalid_call(CallRule::SubresourceExists, index, count))
        }
        _ => Ok(()),
    }
}

/// Checks that a resource was created for a use.
///
/// # Errors
/// [`DeviceError::MissingUsage`].
#[inline]
pub const fn usage(has: Usage, needs: Usage) -> Checked {
    if has.contains(needs) { Ok(()) } else { Err(DeviceError::MissingUsage { needs, has }) }
}

/// Checks the usage of a reserved (sparse) resource. Its tiles are mapped individually: it has no memory to share, and cannot
/// be a transient attachment, which has no memory to map.
///
/// # Errors
/// [`DeviceError::InvalidDesc`] with the usage.
pub fn reserved_usage(desc: &ResourceDesc) -> Checked {
    let usage = desc.usage();
    let rule = if usage.contains(Usage::SHARED) {
        Allowed::Rule("without SHARED, because the resource is reserved")
    } else if usage.contains(Usage::TRANSIENT_ATTACHMENT) {
        Allowed::Rule("without TRANSIENT_ATTACHMENT, because the texture is reserved")
    } else {
        return Ok(());
    };
    Err(DeviceError::invalid_desc("usage", usage, rule))
}

/// Checks that a copy within one buffer does not overlap itself.
///
/// # Errors
/// [`CallRule::CopyOverlap`].
pub fn copy_within(src_offset: u64, dst_offset: u64, size: u64) -> Checked {
    let apart = src_offset.abs_diff(dst_offset);
    if apart >= size {
        return Ok(());
    }
    Err(DeviceError::invalid_call(CallRule::CopyOverlap, apart, size))
}

/// Checks that texels in such blocks lie in a buffer of `capacity` bytes in this layout, with offset and row pitch at multiples
/// of the two alignments.
///
/// # Errors
/// [`CallRule::CopyOffsetAligned`], [`CallRule::RowPitchAligned`], [`CallRule::RowsHoldTexels`],
/// [`CallRule::InsideResource`].
pub fn copy_layout(
    layout: BufferLayout,
    [offset_alignment, pitch_alignment]: [u64; 2],
    (block, extent): (TexelBlock, [u32; 3]),
    capacity: u64,
) -> Checked {
    multiple(CallRule::CopyOffsetAligned, layout.offset, offset_alignment.max(1))?;
    multiple(CallRule::RowPitchAligned, layout.row_pitch, pitch_alignment.max(1))?;
    let short = || DeviceError::invalid_call(CallRule::RowsHoldTexels, layout.row_pitch, layout.rows);
    let bytes = layout.bytes(block, extent).ok_or_else(short)?;
    range(CallRule::InsideResource, layout.offset, bytes, capacity)
}

/// Checks that a region copied to or from a buffer begins and ends at multiples of the queue's copy granularity, or at the end
/// of the mip. `steps` is the granularity in blocks along each axis; 0 allows whole mips only. Vulkan's transfer-only queue
/// families have such a granularity.
///
/// # Errors
/// [`CallRule::CopySteps`], with the begin of the region and the step.
pub fn copy_steps(info: &TextureInfo, region: &TextureRegion, steps: [u32; 3]) -> Checked {
    let block = info.format.block();
    let blocks = [block.width, block.height, 1];
    let whole = info.mip_extent(region.mip);
    for axis in 0..3 {
        let step = match steps[axis].saturating_mul(blocks[axis]) {
            0 => whole[axis],
            step => step,
        };
        let (origin, extent) = (region.origin[axis], region.extent[axis]);
        let ends_whole = extent.is_multiple_of(step) || origin.checked_add(extent) == Some(whole[axis]);
        if !origin.is_multiple_of(step) || !ends_whole {
            return Err(DeviceError::invalid_call(CallRule::CopySteps, u64::from(origin), u64::from(step)));
        }
    }
    Ok(())
}

/// Checks that depth and stencil are copied to and from buffers on queues of a family with graphics: Vulkan's rule.
///
/// # Errors
/// [`DeviceError::Unsupported`].
pub fn depth_copies(format: Format, has_graphics: bool) -> Checked {
    if format.is_depth() && !has_graphics {
        return Err(DeviceError::Unsupported { feature: "copies of depth on queues without graphics" });
    }
    Ok(())
}

/// Checks that the largest mip of a texture consists of whole blocks: the rule of Direct3D 12 without unaligned block textures.
///
/// # Errors
/// [`DeviceError::Unsupported`].
pub fn whole_blocks(info: &TextureInfo) -> Checked {
    let block = info.format.block();
    if info.width.is_multiple_of(block.width) && info.height.is_multiple_of(block.height) {
        return Ok(());
    }
    Err(DeviceError::Unsupported { feature: "block-compressed textures whose sides are not whole blocks" })
}

/// Checks a copy of subresources of one texture to another on a queue of this kind. The descriptions may differ only in usage,
/// clear value and view formats, and only graphics queues copy depth, stencil and multisampled texels.
///
/// # Errors
/// [`CallRule::CopyDimension`], [`CallRule::CopyFormat`], [`CallRule::CopyExtent`], [`CallRule::CopyMips`] and
/// [`CallRule::CopyEqualSamples`] with the destination's value and the source's;
/// [`CallRule::SubresourceExists`]; [`CallRule::CopyDepthQueue`], [`CallRule::CopySamplesQueue`].
pub fn texture_copy(
    (src, dst): (&TextureInfo, &TextureInfo),
    which: Subresource,
    queue: QueueKind,
) -> Checked {
    equal(CallRule::CopyDimension, dst.dimension, src.dimension)?;
    equal(CallRule::CopyFormat, dst.format, src.format)?;
    equal(CallRule::CopyExtent, dst.width, src.width)?;
    equal(CallRule::CopyExtent, dst.height, src.height)?;
    equal(CallRule::CopyExtent, dst.depth_or_layers, src.depth_or_layers)?;
    equal(CallRule::CopyMips, dst.mips, src.mips)?;
    equal(CallRule::CopyEqualSamples, dst.samples, src.samples)?;
    subresource_of(which, src.subresources())?;
    if queue == QueueKind::Graphics {
        return Ok(());
    }
    if src.format.is_depth() {
        return Err(DeviceError::invalid_value(CallRule::CopyDepthQueue, src.format));
    }
    at_most(CallRule::CopySamplesQueue, u64::from(src.samples), 1)
}

/// Checks that a list of a queue of this kind can fill a mip of some layers from the next larger mip. `generates` is the result
/// of [`MemoryDevice::generates_mips`](super::MemoryDevice::generates_mips) for the format. A multisampled texture has one mip,
/// so there is nothing to fill.
///
/// # Errors
/// [`DeviceError::UnsupportedFormat`]; [`CallRule::MipQueue`]; [`CallRule::MipExists`], [`CallRule::LayerExists`];
/// [`CallRule::MipHasLarger`] for the largest mip.
pub fn mip_generation(
    info: &TextureInfo,
    (mip, layers): (u32, &Range<u32>),
    queue: QueueKind,
    generates: bool,
) -> Checked {
    if !generates {
        let feature = "mip generation (linear blits, which Direct3D 12 lacks: upload the mips, or fill them in a compute pass)";
        return Err(DeviceError::UnsupportedFormat { format: info.format, feature });
    }
    if queue != QueueKind::Graphics {
        return Err(DeviceError::broken_rule(CallRule::MipQueue));
    }
    if mip == 0 {
        return Err(DeviceError::broken_rule(CallRule::MipHasLarger));
    }
    if mip >= info.mips {
        return Err(DeviceError::invalid_call(CallRule::MipExists, mip, info.mips));
    }
    at_most(CallRule::LayerExists, u64::from(layers.end), u64::from(info.layers()))
}

/// Checks a copy of texels from a buffer to this plane, which is lost by some drivers.
///
/// # Errors
/// [`DeviceError::Unsupported`]: see [`Features::NO_STENCIL_UPLOADS`].
pub fn copy_to_plane(features: Features, plane: Plane) -> Checked {
    if plane == Plane::Stencil && features.contains(Features::NO_STENCIL_UPLOADS) {
        return Err(DeviceError::Unsupported { feature: "copies from buffers to stencil" });
    }
    Ok(())
}

/// Checks a copy of subresources of a texture to another texture, which is lost by some drivers.
///
/// # Errors
/// [`DeviceError::Unsupported`]: see [`Features::NO_DEPTH_LAYER_COPIES`].
pub fn copy_to_layers(features: Features, info: &TextureInfo, which: Subresource) -> Checked {
    let is_first = which == Subresource::One(0) || info.subresources() == 1;
    if is_first || !info.format.is_depth() || !features.contains(Features::NO_DEPTH_LAYER_COPIES) {
        return Ok(());
    }
    Err(DeviceError::Unsupported { feature: "copies between depth textures beyond the first subresource" })
}

/// Checks a CPU write of texels of a texture. The two states are the ones before and after the write; `allowed` are the states
/// in which the CPU may write.
///
/// # Errors
/// [`DeviceError::MissingUsage`] without [`Usage::CPU_WRITE`]; [`CallRule::WrittenState`], [`CallRule::WrittenFrom`];
/// as [`TextureRegion::check`](super::TextureRegion::check) and [`copy_layout`].
pub fn texture_writes(
    info: &TextureInfo,
    (before, after): (State, State),
    allowed: State,
    writes: &[TextureWrite<'_>],
) -> Checked {
    usage(info.usage, Usage::CPU_WRITE)?;
    if after.is_empty() || !allowed.contains(after) {
        return Err(DeviceError::InvalidState { rule: CallRule::WrittenState, state: after, allowed });
    }
    if !before.is_empty() && before != after {
        return Err(DeviceError::InvalidState { rule: CallRule::WrittenFrom, state: before, allowed: after });
    }
    for write in writes {
        write.region.check(info)?;
        let block = write.region.block(info.format);
        let layout = BufferLayout { offset: 0, row_pitch: write.row_pitch, rows: write.rows };
        let alignments = [1, u64::from(block.bytes)];
        copy_layout(layout, alignments, (block, write.region.extent), write.bytes.len() as u64)?;
    }
    Ok(())
}

/// Checks that a value of a destination equals the source's.
fn equal(rule: CallRule, found: impl Into<FieldValue>, expected: impl Into<FieldValue>) -> Checked {
    let (found, expected) = (found.into(), expected.into());
    if found == expected { Ok(()) } else { Err(DeviceError::invalid_call(rule, found, expected)) }
}

/// Checks that a descriptor heap is not empty, has at most `most` descriptors, and is shader-visible only for kinds that
/// shaders can access.
///
/// # Errors
/// [`DeviceError::InvalidDesc`].
pub fn descriptor_heap(desc: &DescriptorHeapDesc, most: u32) -> Checked {
    if desc.shader_visible && !desc.kind.is_for_shaders() {
        let allowed = Allowed::Rule("0: shaders do not see targets");
        return Err(DeviceError::invalid_desc("shader_visible", 1_u32, allowed));
    }
    count("count", desc.count, most)
}

/// Checks that a count is from 1 to `most`.
///
/// # Errors
/// [`DeviceError::InvalidDesc`] with the field.
pub fn count(field: &'static str, count: u32, most: u32) -> Checked {
    let allowed = match count {
        0 => Allowed::AtLeast(1),
        count if count > most => Allowed::AtMost(u64::from(most)),
        _ => return Ok(()),
    };
    Err(DeviceError::invalid_desc(field, count, allowed))
}

/// Checks that a heap of `of` descriptors has `count` of them from `first` on.
///
/// # Errors
/// [`CallRule::DescriptorInside`].
#[inline]
pub fn descriptors_inside(first: u32, count: u64, of: u32) -> Checked {
    range(CallRule::DescriptorInside, u64::from(first), count, u64::from(of))
}

/// Checks that a descriptor is of the kind of its heap.
///
/// # Errors
/// [`CallRule::DescriptorKind`].
#[inline]
pub fn descriptor_kind(descriptor: DescriptorKind, heap: DescriptorKind) -> Checked {
    if descriptor == heap {
        return Ok(());
    }
    Err(DeviceError::invalid_call(CallRule::DescriptorKind, descriptor, heap))
}

/// Checks that the numbers of a set's bindings differ and are not above `last`, and that each binding has descriptors.
///
/// # Errors
/// [`DeviceError::InvalidDesc`].
pub fn set_bindings(bindings: &[SetBinding], last: u32) -> Checked {
    for (index, SetBinding { binding, count, .. }) in bindings.iter().enumerate() {
        if bindings.iter().take(index).any(|known| known.binding == *binding) {
            let allowed = Allowed::Rule("a number that no other binding of the set has");
            return Err(DeviceError::invalid_desc("binding", *binding, allowed));
        }
        if *binding > last {
            return Err(DeviceError::invalid_desc("binding", *binding, Allowed::AtMost(u64::from(last))));
        }
        if *count == 0 {
            return Err(DeviceError::invalid_desc("count", 0_u32, Allowed::AtLeast(1)));
        }
    }
    Ok(())
}

/// Checks that a set has the binding and the element. Returns the binding.
///
/// # Errors
/// [`CallRule::BindingExists`], [`CallRule::ElementExists`].
pub fn set_element(bindings: &[SetBinding], binding: u32, element: u32) -> Result<&SetBinding, DeviceError> {
    let found = bindings.iter().find(|known| known.binding == binding);
    let found = found.ok_or_else(|| DeviceError::invalid_value(CallRule::BindingExists, binding))?;
    if element < found.count {
        return Ok(found);
    }
    Err(DeviceError::invalid_call(CallRule::ElementExists, element, found.count))
}

/// Checks that the mips and layers of a texture view exist, at least one of each.
///
/// # Errors
/// [`DeviceError::InvalidDesc`] for none; [`CallRule::ViewMipsExist`], [`CallRule::ViewLayersExist`].
pub fn view_range(view: &TextureView, info: &TextureInfo) -> Checked {
    for (field, rule, first, count, limit) in [
        ("mips", CallRule::ViewMipsExist, view.first_mip, view.mips, info.mips),
        ("layers", CallRule::ViewLayersExist, view.first_layer, view.layers, info.layers()),
    ] {
        if count == 0 {
            return Err(DeviceError::invalid_desc(field, 0_u32, Allowed::AtLeast(1)));
        }
        range(rule, u64::from(first), u64::from(count), u64::from(limit))?;
    }
    if view.mips > 1 && view.access != TextureAccess::Sampled {
        return Err(DeviceError::invalid_desc("mips", view.mips, Allowed::AtMost(1)));
    }
    Ok(())
}

/// Checks that the format of a view is the texture's, or one of its view formats.
///
/// # Errors
/// [`DeviceError::InvalidDesc`].
pub fn view_format(view: &TextureView, info: &TextureInfo) -> Checked {
    if view.format == info.format || info.view_formats.contains(&view.format) {
        return Ok(());
    }
    let allowed = Allowed::Rule("the texture's format, or one of its view_formats");
    Err(DeviceError::invalid_desc("format", view.format, allowed))
}

/// Checks that a view of stencil is sampled or an input attachment, in a format with stencil.
///
/// # Errors
/// [`DeviceError::InvalidDesc`].
pub fn view_plane(view: &TextureView, format: Format) -> Checked {
    let is_read = matches!(view.access, TextureAccess::Sampled | TextureAccess::InputAttachment);
    let is_read = is_read && format.has_stencil();
    if view.plane != Plane::Stencil || is_read {
        return Ok(());
    }
    let allowed = Allowed::Rule("Stencil only to read a format with stencil");
    Err(DeviceError::invalid_desc("plane", view.plane, allowed))
}

/// Checks that a view of a buffer is not empty and lies within its `capacity` bytes.
///
/// # Errors
/// [`DeviceError::InvalidDesc`] for an empty view; [`CallRule::ViewInside`].
pub fn buffer_view(offset: u64, size: u64, capacity: u64) -> Checked {
    if size == 0 {
        return Err(DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1)));
    }
    range(CallRule::ViewInside, offset, size, capacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BindingKind, Dimension, Priority, ViewShape};

    fn d2(width: u32, height: u32, format: Format, usage: Usage) -> TextureInfo {
        TextureInfo {
            dimension: Dimension::D2,
            width,
            height,
            depth_or_layers: 1,
            mips: 1,
            samples: 1,
            format,
            usage,
            clear: None,
            view_formats: Vec::new(),
        }
    }

    fn broken(result: Checked) -> (CallRule, u64, u64) {
        match result {
            Err(DeviceError::InvalidCall {
                rule,
                value: Some(FieldValue::Number(value)),
                limit: Some(FieldValue::Number(limit)),
            }) => (rule, value, limit),
            other => panic!("not a rule with numbers: {other:?}"),
        }
    }

    #[test]
    fn ranges_end_inside_and_do_not_wrap() {
        let check = |offset, size| range(CallRule::InsideResource, offset, size, 256);
        assert_eq!((check(0, 256), check(256, 0)), (Ok(()), Ok(())));
        assert_eq!(broken(check(1, 256)), (CallRule::InsideResource, 257, 256));
        assert_eq!(broken(check(u64::MAX, 2)), (CallRule::InsideResource, u64::MAX, 256));
        assert_eq!(multiple(CallRule::OffsetAligned, 512, 256), Ok(()));
        assert_eq!(broken(multiple(CallRule::OffsetAligned, 0, 0)), (CallRule::OffsetAligned, 0, 0));
    }

    #[test]
    fn memory_is_of_an_allowed_type() {
        assert_eq!(memory_type(0b101, MemoryTypeId(2)), Ok(()));
        assert_eq!(broken(memory_type(0b101, MemoryTypeId(1))), (CallRule::MemoryTypeAllowed, 1, 5));
        assert!(memory_type(u32::MAX, MemoryTypeId(32)).is_err(), "there is no bit 32");
    }

    #[test]
    fn heaps_take_their_own_category() {
        use HeapCategory::{Any, Buffers, Textures};
        assert_eq!((category(Buffers, Buffers, false), category(Buffers, Any, true)), (Ok(()), Ok(())));
        let refused = category(Buffers, Textures, true).unwrap_err().to_string();
        assert_eq!(refused, "broken rule: the heap is of the resource's category (Textures, limit Buffers)");
        let mixed = DeviceError::invalid_call(CallRule::HeapForEverything, Any, Buffers);
        assert_eq!(category(Buffers, Any, false), Err(mixed));
    }

    #[test]
    fn placed_resources_fit_their_heap() {
        let needs = Requirements {
            size: 512,
            alignment: 256,
            memory_types: 1,
            category: HeapCategory::Any,
            prefers_dedicated: false,
            requires_dedicated: false,
        };
        let check = |offset| placement(&needs, (MemoryTypeId(0), 1024), offset);
        assert_eq!((check(0), check(512)), (Ok(()), Ok(())));
        assert_eq!(broken(check(128)), (CallRule::OffsetAligned, 128, 256));
        assert_eq!(broken(check(768)), (CallRule::InsideHeap, 1280, 1024));
        let elsewhere = placement(&needs, (MemoryTypeId(1), 1024), 0);
        assert_eq!(broken(elsewhere), (CallRule::MemoryTypeAllowed, 1, 1));
        let dedicated = Requirements { requires_dedicated: true, ..needs };
        let refused = placement(&dedicated, (MemoryTypeId(0), 1024), 0);
        assert_eq!(refused, Err(DeviceError::broken_rule(CallRule::RequiresDedicated)));
    }

    #[test]
    fn tiles_lie_in_their_resource_and_their_heap() {
        let region = |origin, extent| TileRegion { subresource: 0, origin, extent };
        assert_eq!(tile_region(&region([1, 0, 0], [1, 2, 1]), [2, 2, 1]), Ok(()));
        let outside = tile_region(&region([1, 0, 0], [2, 2, 1]), [2, 2, 1]);
        assert_eq!(broken(outside), (CallRule::TileRegionInside, 3, 2));
        assert!(tile_region(&region([0; 3], [0, 1, 1]), [2, 2, 1]).is_err(), "empty");
        assert_eq!(tiles_in_heap(2, 64, 64, 192), Ok(()));
        assert_eq!(broken(tiles_in_heap(2, 64, 32, 192)), (CallRule::TileOffsetAligned, 32, 64));
        assert_eq!(broken(tiles_in_heap(2, 64, 128, 192)), (CallRule::TilesInsideHeap, 256, 192));
        assert!(tiles_in_heap(u64::MAX, 64, 0, 192).is_err(), "no overflow");
    }

    #[test]
    fn serials_rise_by_one() {
        assert_eq!(serial(1, 0), Ok(()));
        for (signal, submitted) in [(0, 0), (2, 0), (5, 5), (4, 5), (0, u64::MAX)] {
            assert!(serial(signal, submitted).is_err(), "{signal} after {submitted}");
        }
    }

    #[test]
    fn heap_sizes_are_whole() {
        let heap = |size| HeapDesc {
            size,
            alignment: 64,
            memory: MemoryTypeId(0),
            category: HeapCategory::Any,
            priority: Priority::Normal,
        };
        assert_eq!(heap_size(&heap(128), 128), Ok(()));
        assert_eq!(broken(heap_size(&heap(0), 128)), (CallRule::HeapSize, 0, 64));
        assert_eq!(broken(heap_size(&heap(96), 128)), (CallRule::HeapSize, 96, 64));
        assert_eq!(broken(heap_size(&heap(192), 128)), (CallRule::HeapTooLarge, 192, 128));
    }

    #[test]
    fn queues_know_their_states() {
        assert_eq!(state(QueueKind::Copy, State::COPY_DST), Ok(()));
        let refused = state(QueueKind::Copy, State::RENDER_TARGET);
        assert!(matches!(refused, Err(DeviceError::InvalidState { rule: CallRule::QueueKnowsState, .. })));
        let both = State::RENDER_TARGET | State::COPY_SRC;
        assert_eq!(state(QueueKind::Graphics, both), Err(DeviceError::write_state_alone(both)));
    }

    #[test]
    fn copies_within_a_buffer_are_apart() {
        assert_eq!((copy_within(0, 64, 64), copy_within(64, 0, 64)), (Ok(()), Ok(())));
        assert_eq!(broken(copy_within(0, 63, 64)), (CallRule::CopyOverlap, 63, 64));
    }

    #[test]
    fn texels_fit_their_buffer() {
        let check = |offset, row_pitch, rows| {
            let layout = BufferLayout { offset, row_pitch, rows };
            copy_layout(layout, [512, 256], (Format::Rgba8Unorm.block(), [64, 4, 1]), 1024)
        };
        assert_eq!(check(0, 256, 4), Ok(()));
        assert_eq!(broken(check(256, 256, 4)), (CallRule::CopyOffsetAligned, 256, 512));
        assert_eq!(broken(check(0, 300, 4)), (CallRule::RowPitchAligned, 300, 256));
        assert_eq!(broken(check(0, 0, 4)), (CallRule::RowsHoldTexels, 0, 4));
        assert_eq!(broken(check(512, 256, 4)), (CallRule::InsideResource, 1536, 1024));
    }

    #[test]
    fn copy_queues_may_want_whole_mips_or_multiples() {
        let info = d2(60, 40, Format::Rgba8Unorm, Usage::COPY_DST);
        let region = |origin, extent| TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin, extent };
        let whole = region([0; 3], [60, 40, 1]);
        let part = region([16, 8, 0], [16, 16, 1]);
        let to_the_edge = region([48, 32, 0], [12, 8, 1]);
        let check = |region: &TextureRegion, steps| copy_steps(&info, region, steps).is_ok();
        assert!(check(&whole, [0; 3]) && !check(&part, [0; 3]) && !check(&to_the_edge, [0; 3]));
        assert!(check(&whole, [16, 8, 1]) && check(&part, [16, 8, 1]) && check(&to_the_edge, [16, 8, 1]));
        assert!(!check(&part, [32, 8, 1]) && !check(&part, [16, 32, 1]));
        assert!(check(&part, [1; 3]));
    }

    #[test]
    fn textures_are_copied_to_their_like() {
        let copied = |format, usage| TextureInfo { mips: 3, depth_or_layers: 2, ..d2(64, 32, format, usage) };
        let src = copied(Format::Rgba8Unorm, Usage::COPY_SRC);
        let dst = copied(Format::Rgba8Unorm, Usage::COPY_DST);
        let check = |dst: &TextureInfo, which| texture_copy((&src, dst), which, QueueKind::Copy);
        for which in [Subresource::All, Subresource::One(0), Subresource::One(5)] {
            assert_eq!(check(&dst, which), Ok(()));
        }
        let missing = check(&dst, Subresource::One(6));
        assert_eq!(broken(missing), (CallRule::SubresourceExists, 6, 6));
        let refused = |dst: TextureInfo| broken(check(&dst, Subresource::All));
        assert_eq!(refused(TextureInfo { width: 65, ..dst.clone() }), (CallRule::CopyExtent, 65, 64));
        assert_eq!(refused(TextureInfo { height: 31, ..dst.clone() }), (CallRule::CopyExtent, 31, 32));
        assert_eq!(refused(TextureInfo { depth_or_layers: 1, ..dst.clone() }), (CallRule::CopyExtent, 1, 2));
        assert_eq!(refused(TextureInfo { mips: 2, ..dst.clone() }), (CallRule::CopyMips, 2, 3));
        assert_eq!(refused(TextureInfo { samples: 4, ..dst.clone() }), (CallRule::CopyEqualSamples, 4, 1));
        let deep = TextureInfo { dimension: Dimension::D3, ..dst.clone() };
        let error = DeviceError::invalid_call(CallRule::CopyDimension, Dimension::D3, Dimension::D2);
        assert_eq!(check(&deep, Subresource::All), Err(error));
        let srgb = TextureInfo { format: Format::Rgba8Srgb, ..dst };
        let error = DeviceError::invalid_call(CallRule::CopyFormat, Format::Rgba8Srgb, Format::Rgba8Unorm);
        assert_eq!(check(&srgb, Subresource::All), Err(error));
    }

    #[test]
    fn depth_and_samples_are_copied_on_graphics_queues() {
        let depth = d2(8, 8, Format::D32Float, Usage::DEPTH_STENCIL);
        let smooth = TextureInfo { samples: 4, ..d2(8, 8, Format::Rgba8Unorm, Usage::RENDER_TARGET) };
        for info in [&depth, &smooth] {
            assert_eq!(texture_copy((info, info), Subresource::All, QueueKind::Graphics), Ok(()));
        }
        for queue in [QueueKind::Compute, QueueKind::Copy] {
            let error = DeviceError::invalid_value(CallRule::CopyDepthQueue, Format::D32Float);
            assert_eq!(texture_copy((&depth, &depth), Subresource::All, queue), Err(error));
            let refused = texture_copy((&smooth, &smooth), Subresource::All, queue);
            assert_eq!(broken(refused), (CallRule::CopySamplesQueue, 4, 1));
        }
    }

    #[test]
    fn depth_goes_to_buffers_on_families_with_graphics() {
        assert_eq!(depth_copies(Format::D32Float, true), Ok(()));
        assert!(depth_copies(Format::D32Float, false).is_err());
        assert_eq!(depth_copies(Format::D24UnormS8Uint, true), Ok(()));
        assert_eq!(depth_copies(Format::Rgba8Unorm, false), Ok(()));
    }

    #[test]
    fn sides_of_blocks_are_whole() {
        let sides =
            |width, height, format| whole_blocks(&d2(width, height, format, Usage::SHADER_READ)).is_ok();
        assert!(sides(64, 4, Format::Bc1Unorm) && sides(5, 3, Format::Rgba8Unorm));
        assert!(!sides(65, 4, Format::Bc1Unorm) && !sides(64, 6, Format::Bc1Unorm));
    }

    #[test]
    fn bindings_have_numbers_and_elements() {
        let of = |binding, count| SetBinding { binding, kind: BindingKind::Constants, count };
        let bindings = [of(0, 2), of(3, 1)];
        assert_eq!(set_bindings(&bindings, 3), Ok(()));
        let refused = |bindings: &[SetBinding]| set_bindings(bindings, 3).unwrap_err().to_string();
        assert!(refused(&[of(3, 1), of(3, 1)]).contains("no other binding"));
        assert_eq!(refused(&[of(4, 1)]), "invalid description: binding = 4: must be at most 3");
        assert_eq!(refused(&[of(3, 0)]), "invalid description: count = 0: must be at least 1");
        assert_eq!(set_element(&bindings, 3, 0).map(|found| found.count), Ok(1));
        let missing = DeviceError::invalid_value(CallRule::BindingExists, 1_u32);
        assert_eq!(set_element(&bindings, 1, 0), Err(missing));
        assert_eq!(broken(set_element(&bindings, 0, 2).map(|_| ())), (CallRule::ElementExists, 2, 2));
    }

    #[test]
    fn views_are_limited_to_the_texture() {
        let info =
            TextureInfo { mips: 3, depth_or_layers: 2, ..d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ) };
        let all = TextureView {
            format: Format::Rgba8Unorm,
            shape: ViewShape::D2Array,
            first_mip: 0,
            mips: 3,
            first_layer: 0,
            layers: 2,
            plane: Plane::First,
            access: TextureAccess::Sampled,
        };
        assert_eq!((view_range(&all, &info), view_format(&all, &info)), (Ok(()), Ok(())));
        let mips = view_range(&TextureView { first_mip: 1, ..all }, &info);
        assert_eq!(broken(mips), (CallRule::ViewMipsExist, 4, 3));
        let layers = view_range(&TextureView { first_layer: u32::MAX, ..all }, &info);
        assert_eq!(broken(layers), (CallRule::ViewLayersExist, u64::from(u32::MAX) + 2, 2));
        assert!(view_range(&TextureView { mips: 0, ..all }, &info).is_err(), "empty");
        assert!(view_range(&TextureView { access: TextureAccess::Storage, ..all }, &info).is_err());
        assert!(view_format(&TextureView { format: Format::R8Unorm, ..all }, &info).is_err());
        let stencil = TextureView { plane: Plane::Stencil, ..all };
        assert_eq!(view_plane(&stencil, Format::D24UnormS8Uint), Ok(()));
        assert!(view_plane(&stencil, Format::D32Float).is_err());
        assert_eq!(buffer_view(0, 64, 64), Ok(()));
        assert_eq!(broken(buffer_view(1, 64, 64)), (CallRule::ViewInside, 65, 64));
        assert!(buffer_view(0, 0, 64).is_err(), "empty");
    }
}
