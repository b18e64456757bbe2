//! The memory of a simulated device, as text for the layer.

use tenure::device::{BufferInfo, Device, ResourceDesc, prelude::*};
use tenure::{Format, TextureDesc, Usage, sim};

/// The table of a profile, in the format that the documentation of `tenure-capture` describes.
pub(super) fn table(profile: sim::Profile) -> String {
    let device = sim::Device::new(profile);
    let properties = device.properties();
    let texture =
        |side, usage| ResourceDesc::Texture(TextureDesc::d2(side, side, Format::Rgba8Unorm, usage).info);
    let buffer = ResourceDesc::Buffer(BufferInfo::new(1, Usage::VERTEX));
    // A transient render target may be in every memory type that holds textures.
    let small = texture(16, Usage::RENDER_TARGET | Usage::TRANSIENT_ATTACHMENT);
    let needs =
        [buffer, small, texture(1024, Usage::SHADER_READ)].map(|desc| device.requirements(&desc).ok());
    let alignment = |index: usize| needs[index].as_ref().map_or(1, |it| it.alignment);
    let image_types = needs[1].as_ref().map_or(u32::MAX, |it| it.memory_types);
    let heaps =
        properties.memory_heaps.iter().map(|heap| format!("{}:{}", heap.size, u8::from(heap.device_local)));
    let types = properties.memory_types.iter().map(|it| format!("{}:{}", it.flags.bits(), it.heap));
    format!(
        "name={} heaps={} types={} buffer={} image={} large-image={} image-types={image_types} granularity={} atom={} \
         allocations={} largest={}",
        profile.name(),
        heaps.collect::<Vec<_>>().join(","),
        types.collect::<Vec<_>>().join(","),
        alignment(0),
        alignment(1),
        alignment(2),
        properties.heap_alignment,
        properties.non_coherent_atom,
        properties.max_allocations,
        properties.max_heap_size,
    )
}

#[cfg(test)]
mod tests {
    use tenure::sim::Profile;

    use super::table;

    #[test]
    fn tables_have_the_memory_of_their_cards() {
        assert_eq!(
            table(Profile::VULKAN_NVIDIA),
            "name=vulkan-nvidia heaps=10737418240:1,25769803776:0,224395264:1 types=0:1,1:0,6:1,14:1,7:2 buffer=16 \
             image=1024 large-image=65536 image-types=3 granularity=1024 atom=64 allocations=4096 largest=10737418240"
        );
        assert_eq!(
            table(Profile::VULKAN_MOBILE),
            "name=vulkan-mobile heaps=6442450944:1 types=7:0,11:0,17:0 buffer=256 image=4096 large-image=4096 \
             image-types=7 granularity=4096 atom=64 allocations=4096 largest=2147483648"
        );
    }
}
