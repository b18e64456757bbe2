//! Tables on Vulkan: the header `tenure_vulkan.h`.

use tenure_core::{BindingKind, DescriptorTable as Table};
use tenure_vulkan::Device;
use tenure_vulkan::ash::vk::Handle as _;

use crate::call::call;
use crate::object::{DescriptorTable, On};
use crate::pointer::{In, Out, Outcome};
use crate::slot::Handle;
use crate::types::*;

/// The descriptor set that shaders index for a table, and its layout. All tables of views share one, and all tables of samplers
/// another.
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

fn on_vulkan(table: &DescriptorTable) -> Result<&Table<Device>, Failure> {
    if let On::Vulkan(table) = table {
        return Ok(table);
    }
    let name = crate::object::on!(table, table => table.name());
    Err(Failure::new(TN_ERROR_FOREIGN, format!("{name}: is not on a Vulkan device")))
}

/// The descriptor set that shaders index for a table.
///
/// Errors: `TN_ERROR_FOREIGN` for a table of another backend; `TN_ERROR_POINTER`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_descriptor_table_vk(table: Handle<DescriptorTable>, out: Out<tn_VkTable>) -> tn_Status {
    call(|| {
        out.check_head()?;
        let heap = on_vulkan(table.get()?)?.heap();
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
/// Errors: `TN_ERROR_DEVICE` for invalid SPIR-V, and for an unknown binding; nothing is changed then. `TN_ERROR_FOREIGN` for a
/// table of another backend.
#[unsafe(no_mangle)]
extern "C" fn tn_descriptor_table_renumber(
    table: Handle<DescriptorTable>,
    set: u32,
    words: Out<u32>,
    count: usize,
) -> tn_Status {
    call(|| {
        let table = on_vulkan(table.get()?)?;
        words.edit(count, "words", |words| {
            let refused = |error| Failure::new(TN_ERROR_DEVICE, format!("{}: {error}", table.name()));
            table.heap().renumber(words, set).map_err(refused)
        })
    })
}
