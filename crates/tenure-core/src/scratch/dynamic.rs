//! Constants bound by a set and a dynamic offset.

use std::ops::Deref;

use super::Scratch;
use crate::Error;
use crate::descriptor::{Set, SetLayout};
use crate::device::{Device, DeviceError};
use crate::resource::Constant;

/// Constants for one submission, with the set of their page: from [`Scratch::dynamic_constants`](Scratch::dynamic_constants).
///
/// It dereferences to the [`Constant`], whose [`gpu_address`](crate::BufferSlice::gpu_address) needs no set. It borrows its
/// recording, so that it cannot be used after the submission.
pub struct DynamicConstant<'r, D: Device> {
    constant: Constant<'r, D>,
    set: Set<'r, D>,
    dynamic_offset: u32,
}

debug_fields!([D: Device] DynamicConstant<'_, D>, "DynamicConstant", this, constant: this.constant, set: this.set);

impl<D: Device> Clone for DynamicConstant<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for DynamicConstant<'_, D> {}

impl<'r, D: Device> Deref for DynamicConstant<'r, D> {
    type Target = Constant<'r, D>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.constant
    }
}

impl<'r, D: Device> DynamicConstant<'r, D> {
    /// The set to bind, with [`dynamic_offset`](Self::dynamic_offset). Constants of a page share one set.
    #[must_use]
    pub const fn set(&self) -> Set<'r, D> {
        self.set
    }

    /// The offset to bind the set with, in bytes: the only element of `pDynamicOffsets` of `vkCmdBindDescriptorSets`.
    #[must_use]
    pub const fn dynamic_offset(&self) -> u32 {
        self.dynamic_offset
    }
}

impl<'r, D: Device> Scratch<'r, D> {
    /// Copies a value to GPU-visible memory, as [`constants`](Self::constants), and returns it with the descriptor set of its
    /// page, so that many draws bind one set with different offsets.
    ///
    /// `layout` must have one binding of [`DynamicConstants`](crate::device::BindingKind::DynamicConstants), with one
    /// descriptor. A set is allocated for the first value in a page
    /// ([`StagingConfig::constant_page`](crate::StagingConfig::constant_page)), per layout and recording. The range of the set
    /// is that of the largest value so far, so that values of different sizes share a set; near the end of a page, where that
    /// range does not fit any more, a value gets another set. A value larger than a page has its own page and set.
    ///
    /// On Direct3D 12, and on Vulkan with descriptor buffers, there are no set layouts: bind the address of
    /// [`constants`](Self::constants) instead.
    ///
    /// # Efficiency
    /// O(1): no lock and no allocation within a page.
    ///
    /// # Errors
    /// As [`dynamic_constant_bytes`](Self::dynamic_constant_bytes).
    ///
    /// ```
    /// use tenure::{Config, Gpu, Queue, SetLayoutDesc, descriptor::{BindingKind, SetBinding}, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
    /// let binding = SetBinding::new(0, BindingKind::DynamicConstants);
    /// let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[binding]).name("node"))?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let (commands, scratch) = recording.split();
    /// for node in 0..100 {
    ///     let node = scratch.dynamic_constants(&layout, &[node as f32; 16])?;
    ///     let _bind = (commands.raw(), node.set().block(), node.set().index(), node.dynamic_offset());
    /// }
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline]
    pub fn dynamic_constants<T: bytemuck::NoUninit>(
        &self,
        layout: &SetLayout<D>,
        value: &T,
    ) -> Result<DynamicConstant<'r, D>, Error> {
        self.dynamic_constant_bytes(layout, bytemuck::bytes_of(value))
    }

    /// As [`dynamic_constants`](Self::dynamic_constants), for bytes.
    ///
    /// # Errors
    /// [`Error::Foreign`] for a layout of another manager; [`Error::Device`] for a layout with other bindings, for more bytes
    /// than a view of constants can have ([`DescriptorLimits::constant_size`](crate::device::DescriptorLimits)), and as
    /// [`constant_bytes`](Self::constant_bytes) and [`set`](Self::set).
    #[inline(never)]
    pub fn dynamic_constant_bytes(
        &self,
        layout: &SetLayout<D>,
        bytes: &[u8],
    ) -> Result<DynamicConstant<'r, D>, Error> {
        let (services, size) = (&**self.services, bytes.len() as u64);
        let service = &*services.descriptors;
        let layout = layout.dynamic(service, size)?;
        let room = self.push(bytes)?;
        let sizes = (size, room.page.size().saturating_sub(room.offset));
        let set = match Set::of_page(self.sets, &layout, room.index, sizes) {
            Some(set) => set,
            None => {
                let _call = services.context.call();
                let page = (room.index, room.page.resource());
                Set::make_of_page(service, services, self.sets, self.name, &layout, page, sizes)?
            }
        };
        let constant = self.constant(room.page, room.offset, size);
        match u32::try_from(constant.offset()) {
            Ok(dynamic_offset) => Ok(DynamicConstant { constant, set, dynamic_offset }),
            Err(_) => Err(self.refused(beyond(constant.offset()))),
        }
    }
}

/// The error for an offset beyond the range of Vulkan's dynamic offsets.
#[cold]
fn beyond(offset: u64) -> DeviceError {
    let rule =
        "dynamic constants lie in the first 4 GiB of their buffer: configure smaller blocks of upload memory";
    DeviceError::invalid_call(rule, offset, u32::MAX)
}
