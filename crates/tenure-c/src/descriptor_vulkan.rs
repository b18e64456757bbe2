//! Tables on Vulkan: the header `tenure_vulkan.h`.

use tenure_core::{BindingKind, DeviceError};
use tenure_vulkan::DescriptorHeap;
use tenure_vulkan::ash::vk::Handle as _;

use crate::call::call;
use crate::descriptor_types::{descriptor_kind, tn_DescriptorKind};
use crate::object::{Gpu, On};
use crate::pointer::{In, Out, Outcome};
use crate::slot::Handle;
use crate::types::*;

/// The layout of the descriptor set that shaders index for tables of a kind: all tables of views share one set, and all tables of
/// samplers another.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_VkTable {
    /// `sizeof(tn_VkTable)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The `VkDescriptorSetLayout`, for pipelines. tenure destroys it.
    pub layout: tn_Native,
    /// The binding of the array for each `tn_BindingKind`; `UINT32_MAX`: no such array.
    pub bindings: [u32; 12],
    /// The number of indices, from 0 on, that can hold constants.
    pub constants: u32,
    /// Must be 0.
    pub reserved: u32,
}

descs! {
    tn_VkTable: 0,
}

impl Outcome for tn_VkTable {}

fn heap(gpu: &Gpu, kind: tn_DescriptorKind) -> Result<&DescriptorHeap, Failure> {
    match gpu {
        On::Vulkan(gpu) => Ok(gpu.descriptor_heap(descriptor_kind(kind)?)?),
        _ => Err(Failure::new(TN_ERROR_FOREIGN, "the manager is not on a Vulkan device")),
    }
}

/// The layout of the descriptor set of tables of a kind, for pipelines, also before the first table is created.
///
/// Errors: `TN_ERROR_FOREIGN` for a manager on another backend; `TN_ERROR_DEVICE` without descriptor indexing; `TN_ERROR_ENUM`,
/// `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_POINTER`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_tables_vk(gpu: Handle<Gpu>, kind: tn_DescriptorKind, out: Out<tn_VkTable>) -> tn_Status {
    call(|| {
        out.check_head()?;
        let heap = heap(gpu.get()?, kind)?;
        let mut bindings = [u32::MAX; 12];
        for (number, kind) in (1_usize..).zip(BindingKind::ALL) {
            bindings.get_mut(number).into_iter().for_each(|binding| {
                *binding = heap.binding(kind).unwrap_or(u32::MAX);
            });
        }
        out.set(tn_VkTable {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            layout: heap.layout().map_or(0, |layout| layout.as_raw()),
            bindings,
            constants: heap.constants(),
            reserved: 0,
        });
        Ok(())
    })
}

/// Renumbers the bindings of a SPIR-V shader to those that this device uses for tables. The shader must declare the tables of
/// views as descriptor set `set` with the bindings 0 sampled images, 1 storage images, 2 uniform buffers, 3 storage buffers, 4
/// uniform texel buffers and 5 storage texel buffers, or the tables of samplers with the binding 0. `words` are changed in
/// place.
///
/// Errors: `TN_ERROR_DEVICE` for invalid SPIR-V, and for an unknown binding; nothing is changed then. Those of `tn_gpu_tables_vk`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_renumber_vk(
    gpu: Handle<Gpu>,
    kind: tn_DescriptorKind,
    set: u32,
    words: Out<u32>,
    count: usize,
) -> tn_Status {
    call(|| {
        let heap = heap(gpu.get()?, kind)?;
        words.edit(count, "words", |words| {
            let refused = |error: DeviceError| Failure::new(TN_ERROR_DEVICE, error.to_string());
            heap.renumber(words, set).map_err(refused)
        })
    })
}
