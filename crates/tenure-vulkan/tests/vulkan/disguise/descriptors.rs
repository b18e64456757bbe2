//! Creation of descriptor objects, which can be made to fail.

use core::ffi::c_void;

use tenure_vulkan::ash::vk;

use super::{Hook, stage};

type Callbacks = *const vk::AllocationCallbacks<'static>;

macro_rules! failing {
    ($($name:ident: $call:literal, $function:ident($($arg:ident: $type:ty),*);)*) => {
        pub(super) fn hooks() -> Vec<Hook> {
            $(
                unsafe extern "system" fn $name(device: vk::Device, $($arg: $type),*) -> vk::Result {
                    let stage = stage();
                    if let Some(result) = stage.strike($call.to_str().unwrap()) {
                        return result;
                    }
                    // SAFETY: as the API has it.
                    unsafe { (stage.device.fp_v1_0().$function)(device, $($arg),*) }
                }
            )*
            vec![$(($call, $name as *const c_void),)*]
        }
    };
}

failing! {
    layout: c"vkCreateDescriptorSetLayout", create_descriptor_set_layout(
        info: *const vk::DescriptorSetLayoutCreateInfo<'static>,
        callbacks: Callbacks,
        out: *mut vk::DescriptorSetLayout
    );
    pool: c"vkCreateDescriptorPool", create_descriptor_pool(
        info: *const vk::DescriptorPoolCreateInfo<'static>,
        callbacks: Callbacks,
        out: *mut vk::DescriptorPool
    );
    sets: c"vkAllocateDescriptorSets", allocate_descriptor_sets(
        info: *const vk::DescriptorSetAllocateInfo<'static>,
        out: *mut vk::DescriptorSet
    );
    image_view: c"vkCreateImageView", create_image_view(
        info: *const vk::ImageViewCreateInfo<'static>,
        callbacks: Callbacks,
        out: *mut vk::ImageView
    );
    buffer_view: c"vkCreateBufferView", create_buffer_view(
        info: *const vk::BufferViewCreateInfo<'static>,
        callbacks: Callbacks,
        out: *mut vk::BufferView
    );
    sampler: c"vkCreateSampler", create_sampler(
        info: *const vk::SamplerCreateInfo<'static>,
        callbacks: Callbacks,
        out: *mut vk::Sampler
    );
}
