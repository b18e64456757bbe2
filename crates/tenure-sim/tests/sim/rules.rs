//! Rules whose violation a real driver often accepts: each is an error at the call.

use tenure_core::device::{CommandList as _, *};
use tenure_sim::{Device, DeviceConfig, List, Profile, Resource};

use crate::common::*;

const PAGE: u64 = 64 << 10;

fn heap_desc(category: HeapCategory) -> HeapDesc {
    HeapDesc {
        size: 8 * PAGE,
        alignment: PAGE,
        memory: MemoryTypeId(0),
        category,
        priority: Priority::Normal,
    }
}

#[track_caller]
fn refused<T>(answer: Result<T, DeviceError>, wanted: &str) {
    match answer {
        Err(error @ (DeviceError::InvalidCall { .. } | DeviceError::InvalidState { .. })) => {
            assert!(error.to_string().contains(wanted), "{error}")
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn heaps() {
    let device = Device::new(Profile::DISCRETE);
    let with = |change: fn(&mut HeapDesc)| {
        let mut desc = heap_desc(HeapCategory::Any);
        change(&mut desc);
        device.create_heap(&desc)
    };
    refused(with(|desc| desc.size = 0), "multiple of its alignment");
    refused(with(|desc| desc.size = PAGE + 1), "multiple of its alignment");
    refused(with(|desc| desc.alignment = 4096), "heaps of this alignment");
    refused(with(|desc| desc.alignment = 3 * PAGE), "heaps of this alignment");
    refused(with(|desc| desc.alignment = 2 * PAGE), "heaps of this alignment");
    refused(with(|desc| desc.size = 1 << 60), "not too large");
    refused(with(|desc| desc.memory = MemoryTypeId(77)), "memory type exists");
    with(|desc| (desc.size, desc.alignment) = (4 << 20, 4 << 20)).unwrap();
    assert_eq!(device.calls().allocations, 1);
}

#[test]
fn placement() {
    let tier1 = Device::new(Profile::D3D12_TIER1);
    let buffers = tier1.create_heap(&heap_desc(HeapCategory::Buffers)).unwrap();
    let target = texture(64, 64, Usage::RENDER_TARGET);
    refused(tier1.create_placed(Permit::checked(), &target, &buffers, 0), "category");
    let any = tier1.create_heap(&heap_desc(HeapCategory::Any)).unwrap();
    refused(tier1.create_placed(Permit::checked(), &target, &any, 0), "heaps for everything");

    let device = Device::new(Profile::DISCRETE);
    // Tier 2 may separate them, but need not.
    let buffers = device.create_heap(&heap_desc(HeapCategory::Buffers)).unwrap();
    refused(device.create_placed(Permit::checked(), &target, &buffers, 0), "category");
    let placed = device.create_placed(Permit::checked(), &buffer(8, Usage::VERTEX), &buffers, 0).unwrap();
    device.destroy_resource(Permit::checked(), placed);
    let heap = device.create_heap(&heap_desc(HeapCategory::Any)).unwrap();
    let rock = buffer(PAGE, Usage::VERTEX);
    refused(device.create_placed(Permit::checked(), &rock, &heap, 4096), "aligned");
    refused(device.create_placed(Permit::checked(), &rock, &heap, 8 * PAGE), "inside the heap");
    refused(device.create_placed(Permit::checked(), &rock, &heap, u64::MAX - PAGE + 1), "inside the heap");
    let msaa = texture_info(8, 8, Usage::RENDER_TARGET).samples(4);
    let msaa = ResourceDesc::Texture(msaa);
    refused(device.create_placed(Permit::checked(), &msaa, &heap, 0), "heap is aligned");
    // A small one may be at any multiple of 64 KiB, but in a heap that is aligned for all of them.
    let aligned = HeapDesc { size: 4 << 20, alignment: 4 << 20, ..heap_desc(HeapCategory::Any) };
    let aligned = device.create_heap(&aligned).unwrap();
    assert_eq!(device.requirements(&msaa).unwrap().alignment, PAGE);
    let small = device.create_placed(Permit::checked(), &msaa, &aligned, 3 * PAGE).unwrap();
    device.destroy_resource(Permit::checked(), small);
    let up = HeapDesc { memory: MemoryTypeId(1), ..heap_desc(HeapCategory::Any) };
    let up = device.create_heap(&up).unwrap();
    refused(device.create_placed(Permit::checked(), &target, &up, 0), "memory type");
    refused(device.create_committed(&target, MemoryTypeId(1)), "memory type");
    refused(device.create_committed(&rock, MemoryTypeId(200)), "memory type exists");
    assert_eq!(device.calls().live_resources, 0);
    device.create_placed(Permit::checked(), &rock, &heap, 7 * PAGE).unwrap();
}

#[test]
fn addresses_are_the_heaps_plus_the_offset() {
    let device = Device::new(Profile::DISCRETE);
    let heap = device.create_heap(&heap_desc(HeapCategory::Any)).unwrap();
    let [low, high, alias] = [0, PAGE, PAGE].map(|offset| {
        let placed =
            device.create_placed(Permit::checked(), &buffer(8, Usage::VERTEX), &heap, offset).unwrap();
        device.gpu_address(&placed).unwrap()
    });
    assert_eq!((high - low, alias), (PAGE, high));
    let other = device.gpu_address(&committed(&device, "", &buffer(8, Usage::VERTEX))).unwrap();
    assert!(other >= low + 8 * PAGE || other + PAGE <= low);
    assert_eq!(device.gpu_address(&committed(&device, "", &texture(8, 8, Usage::SHADER_READ))), None);
}

#[test]
fn mapping_needs_host_memory_and_stays_inside() {
    use tenure_core::device::Mapping as _;
    let device = Device::new(Profile::DISCRETE);
    refused(device.map(&committed(&device, "", &buffer(8, Usage::VERTEX))), "host-visible");
    let mapping = device.map(&upload(&device, "", 8)).unwrap();
    assert_eq!((mapping.size(), mapping.as_ptr()), (8, None));
    mapping.write(8, &[]).unwrap();
    refused(mapping.write(8, &[1]), "inside the mapping");
    refused(mapping.read(u64::MAX, &mut [1]), "inside the mapping");
}

/// The error of `close` for one command.
fn recorded(device: &Device, queue: QueueId, command: impl FnOnce(&mut List)) -> Result<(), DeviceError> {
    let mut list = device.create_list(Permit::checked(), queue).unwrap();
    list.begin().unwrap();
    command(&mut list);
    list.close()
}

fn things(device: &Device) -> (Resource, Resource) {
    let usage = Usage::COPY_SRC | Usage::COPY_DST | Usage::SHADER_READ;
    let info = texture_info(64, 32, usage).mips(2).format(Format::Bc1Unorm);
    (
        committed(device, "rock", &buffer(16 << 10, usage)),
        committed(device, "moss", &ResourceDesc::Texture(info)),
    )
}

#[test]
fn buffer_copies() {
    let device = Device::new(Profile::D3D12_ENHANCED);
    let (rock, moss) = things(&device);
    let size = 16 << 10;
    refused(
        recorded(&device, COPY, |list| list.copy_buffer(&rock, 1, &rock, 0, size)),
        "inside the resource",
    );
    refused(
        recorded(&device, COPY, |list| list.copy_buffer(&rock, u64::MAX, &rock, 0, 2)),
        "inside the resource",
    );
    refused(recorded(&device, COPY, |list| list.copy_buffer(&rock, 0, &rock, 7, 8)), "overlap");
    refused(recorded(&device, COPY, |list| list.copy_buffer(&moss, 0, &rock, 0, 8)), "is a buffer");
    recorded(&device, COPY, |list| list.copy_buffer(&rock, 0, &rock, 8, 8)).unwrap();
    let legacy = Device::new(Profile::DISCRETE);
    let (rock, _) = things(&legacy);
    refused(recorded(&legacy, COPY, |list| list.copy_buffer(&rock, 0, &rock, 8, 8)), "copied to itself");
}

#[test]
fn texture_copies() {
    let device = Device::new(Profile::DISCRETE);
    let (rock, moss) = things(&device);
    let layout = BufferLayout { offset: 512, row_pitch: 256, rows: 8 };
    let region = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [64, 32, 1] };
    let copy = |layout: BufferLayout, region: TextureRegion| {
        let up = recorded(&device, COPY, |list| list.copy_buffer_to_texture(&rock, layout, &moss, region));
        let down = recorded(&device, COPY, |list| list.copy_texture_to_buffer(&moss, region, &rock, layout));
        assert_eq!(up, down);
        up
    };
    copy(layout, region).unwrap();
    refused(
        copy(BufferLayout { offset: 256, ..layout }, region),
        "offset of texels in the buffer is aligned",
    );
    refused(copy(BufferLayout { row_pitch: 128, ..layout }, region), "pitch is aligned");
    refused(copy(BufferLayout { row_pitch: 0, ..layout }, region), "holds a row");
    refused(copy(BufferLayout { offset: 15 << 10, ..layout }, region), "inside the resource");
    refused(copy(BufferLayout { row_pitch: u64::MAX - 255, ..layout }, region), "inside the resource");
    refused(copy(layout, TextureRegion { mip: 2, ..region }), "mip exists");
    refused(copy(layout, TextureRegion { layer: 1, ..region }), "layer exists");
    refused(copy(layout, TextureRegion { mip: 1, ..region }), "within the mip");
    refused(copy(layout, TextureRegion { extent: [0, 4, 1], ..region }), "within the mip");
    refused(copy(layout, TextureRegion { origin: [u32::MAX, 0, 0], ..region }), "within the mip");
    refused(copy(layout, TextureRegion { origin: [2, 0, 0], extent: [4, 4, 1], ..region }), "whole blocks");
    refused(copy(layout, TextureRegion { extent: [6, 4, 1], ..region }), "whole blocks");
    let swapped = recorded(&device, COPY, |list| list.copy_buffer_to_texture(&moss, layout, &rock, region));
    refused(swapped, "is a buffer");
}

/// AMD's copy-only queues copy units of 8 x 8 x 8 texels.
#[test]
fn copy_queues_copy_in_steps() {
    let copied = |profile, queue, origin: [u32; 3], extent: [u32; 3]| {
        let device = Device::new(profile);
        let lut = texture_info(20, 20, Usage::COPY_SRC | Usage::COPY_DST)
            .dimension(Dimension::D3)
            .depth_or_layers(20);
        let lut = committed(&device, "lut", &ResourceDesc::Texture(lut));
        let texels = upload(&device, "texels", 128 << 10);
        let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 20 };
        let region = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin, extent };
        recorded(&device, queue, |list| list.copy_buffer_to_texture(&texels, layout, &lut, region))
    };
    let amd = Profile::VULKAN_AMD_SMALL_BAR;
    for (origin, extent) in [([0; 3], [20, 20, 20]), ([8, 0, 0], [8, 16, 8]), ([16, 8, 16], [4, 12, 4])] {
        copied(amd, COPY, origin, extent).unwrap();
    }
    for (origin, extent) in [([0, 0, 1], [20, 20, 1]), ([4, 0, 0], [16, 20, 20]), ([0; 3], [20, 12, 20])] {
        refused(copied(amd, COPY, origin, extent), "copy granularity");
        copied(amd, GRAPHICS, origin, extent).unwrap();
        copied(Profile::VULKAN_NVIDIA, COPY, origin, extent).unwrap();
        copied(Profile::DISCRETE, COPY, origin, extent).unwrap();
    }
}

/// Vulkan copies depth to and from buffers only on graphics queues.
#[test]
fn copies_of_depth_to_buffers() {
    let copied = |profile, queue| {
        let device = Device::new(profile);
        let usage = Usage::DEPTH_STENCIL | Usage::COPY_SRC | Usage::COPY_DST;
        let depth = texture_info(64, 4, usage).format(Format::D32Float);
        let depth = committed(&device, "depth", &ResourceDesc::Texture(depth));
        let texels = upload(&device, "texels", 64 << 10);
        let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 4 };
        let region =
            TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [64, 4, 1] };
        recorded(&device, queue, |list| list.copy_buffer_to_texture(&texels, layout, &depth, region))
    };
    for queue in [COMPUTE, COPY] {
        let error = copied(Profile::VULKAN_NVIDIA, queue).unwrap_err();
        assert!(matches!(error, DeviceError::Unsupported { .. }), "{error}");
        copied(Profile::DISCRETE, queue).unwrap();
    }
    copied(Profile::VULKAN_NVIDIA, GRAPHICS).unwrap();
}

/// Older cards support only compressed textures of whole blocks on Direct3D 12.
#[test]
fn compressed_textures_of_odd_sizes() {
    let of = |profile, width, height, mips| {
        let info = texture_info(width, height, Usage::SHADER_READ).mips(mips).format(Format::Bc1Unorm);
        Device::new(profile).requirements(&ResourceDesc::Texture(info)).map(drop)
    };
    for (width, height) in [(30, 32), (32, 31)] {
        let error = of(Profile::D3D12_TIER1, width, height, 1).unwrap_err();
        assert!(error.to_string().contains("whole blocks"), "{error}");
        of(Profile::DISCRETE, width, height, 1).unwrap();
        of(Profile::VULKAN_NVIDIA, width, height, 1).unwrap();
    }
    of(Profile::D3D12_TIER1, 36, 32, 6).unwrap();
}

#[test]
fn copies_between_textures() {
    let device = Device::new(Profile::DISCRETE);
    let (rock, moss) = things(&device);
    let usage = Usage::COPY_SRC | Usage::COPY_DST;
    let base = texture_info(64, 32, usage).mips(2).format(Format::Bc1Unorm);
    let make = |info: &TextureInfo| committed(&device, "", &ResourceDesc::Texture(info.clone()));
    let copy = |queue, src: &Resource, dst: &Resource, which| {
        recorded(&device, queue, |list| list.copy_texture(src, dst, which))
    };
    let fern = make(&base);
    for which in [Subresource::All, Subresource::One(1)] {
        copy(COPY, &moss, &fern, which).unwrap();
        refused(copy(COPY, &moss, &moss, which), "to another texture");
        refused(copy(COPY, &moss, &rock, which), "is a texture");
        refused(copy(COPY, &rock, &moss, which), "is a texture");
    }
    refused(copy(COPY, &moss, &fern, Subresource::One(2)), "subresource exists");
    for (info, rule) in [
        (base.clone().format(Format::Bc1Srgb), "same format"),
        (base.clone().width(60), "same width"),
        (base.clone().depth_or_layers(3), "same width, height, and depth or layers"),
        (base.clone().mips(1), "as many mips"),
        (base.clone().dimension(Dimension::D3), "same dimension"),
    ] {
        refused(copy(COPY, &moss, &make(&info), Subresource::All), rule);
    }
    let depth = texture_info(8, 8, usage | Usage::DEPTH_STENCIL).format(Format::D32Float);
    let smooth = texture_info(8, 8, usage | Usage::RENDER_TARGET).samples(4);
    for (info, rule) in [(depth, "depth and stencil"), (smooth, "multisampled")] {
        let (src, dst) = (make(&info), make(&info));
        copy(GRAPHICS, &src, &dst, Subresource::All).unwrap();
        refused(copy(COMPUTE, &src, &dst, Subresource::All), rule);
        refused(copy(COPY, &src, &dst, Subresource::All), rule);
    }
}

#[test]
fn mips_of_other_textures() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let usage = Usage::COPY_SRC | Usage::COPY_DST;
    let base = texture_info(16, 8, usage).mips(3).depth_or_layers(2);
    let make =
        |device: &Device, info: &TextureInfo| committed(device, "", &ResourceDesc::Texture(info.clone()));
    let moss = make(&device, &base);
    let of = |texture: &Resource, queue, mip, layers| {
        recorded(&device, queue, |list| list.generate_mip(texture, mip, layers))
    };
    of(&moss, GRAPHICS, 1, 0..2).unwrap();
    of(&moss, GRAPHICS, 2, 1..1).unwrap();
    refused(of(&moss, COMPUTE, 1, 0..2), "on a graphics queue");
    refused(of(&moss, COPY, 1, 0..2), "on a graphics queue");
    refused(of(&moss, GRAPHICS, 0, 0..2), "the next larger one");
    refused(of(&moss, GRAPHICS, 3, 0..2), "the mip exists (3, limit 3)");
    refused(of(&moss, GRAPHICS, 1, 1..3), "the layer exists (3, limit 2)");
    let rock = committed(&device, "rock", &buffer(PAGE, usage));
    refused(of(&rock, GRAPHICS, 1, 0..1), "is a texture");
    let target = base.clone().usage(Usage::COPY_DST);
    let error = of(&make(&device, &target), GRAPHICS, 1, 0..1).unwrap_err();
    assert!(matches!(error, DeviceError::MissingUsage { .. }), "{error}");
    let unsupported = |answer: Result<(), DeviceError>| {
        let error = answer.unwrap_err();
        assert!(matches!(error, DeviceError::UnsupportedFormat { .. }), "{error}");
    };
    let whole = base.clone().format(Format::Rgba8Uint);
    unsupported(of(&make(&device, &whole), GRAPHICS, 1, 0..1));
    let direct = Device::new(Profile::DISCRETE);
    assert!(!direct.generates_mips(base.format) && device.generates_mips(base.format));
    let moss = make(&direct, &base);
    unsupported(recorded(&direct, GRAPHICS, |list| list.generate_mip(&moss, 1, 0..1)));
}

#[test]
fn states_that_the_queue_does_not_know() {
    let device = Device::new(Profile::DISCRETE);
    let (rock, moss) = things(&device);
    let draw = |list: &mut List| list.use_texture(&moss, Subresource::All, State::PIXEL_SHADER);
    refused(recorded(&device, COPY, draw), "knows the state");
    refused(recorded(&device, COMPUTE, draw), "knows the state");
    recorded(&device, GRAPHICS, draw).unwrap();
    let barrier = |list: &mut List| transition(list, &rock, State::COMMON, State::INDEX);
    refused(recorded(&device, COMPUTE, barrier), "knows the state");
    let both = |list: &mut List| list.use_buffer(&rock, 0, 1, State::COPY_DST | State::COPY_SRC);
    refused(recorded(&device, GRAPHICS, both), "stands alone");
    let missing = |list: &mut List| list.use_texture(&moss, Subresource::One(2), State::COPY_SRC);
    refused(recorded(&device, GRAPHICS, missing), "subresource exists");
}

#[test]
fn barriers_that_make_no_sense() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let (rock, _) = things(&device);
    let aliasing = recorded(&device, GRAPHICS, |list| {
        list.barriers(&[aliasing(None, &rock)]);
    });
    refused(aliasing, "placed and reserved");
    let nowhere = recorded(&device, GRAPHICS, |list| transition(list, &rock, State::COPY_SRC, State::COMMON));
    refused(nowhere, "no resource is moved to COMMON");
    let hand_over = |from, to, queue| {
        recorded(&device, queue, |list| {
            list.barriers(&[Barrier::Transition {
                resource: &rock,
                subresource: Subresource::All,
                before: State::COPY_DST,
                after: State::COPY_SRC,
                transfer: Some(QueueTransfer { from, to }),
            }]);
        })
    };
    refused(hand_over(COPY, COMPUTE, GRAPHICS), "one of its two queues");
    refused(hand_over(COPY, QueueId(9), COPY), "queue exists");
    hand_over(COPY, COMPUTE, COMPUTE).unwrap();
    let d3d12 = Device::new(Profile::DISCRETE);
    let (rock, _) = things(&d3d12);
    let transfer = Some(QueueTransfer { from: COPY, to: GRAPHICS });
    let handed_over = recorded(&d3d12, COPY, |list| {
        let (before, after) = (State::COPY_DST, State::COPY_SRC);
        list.barriers(&[Barrier::Transition {
            resource: &rock,
            subresource: Subresource::All,
            before,
            after,
            transfer,
        }]);
    });
    refused(handed_over, "knows no transfers");
}

#[test]
fn resources_handed_to_a_peer_are_shared_and_whole() {
    for profile in [Profile::DISCRETE, Profile::D3D12_ENHANCED, Profile::VULKAN_NVIDIA] {
        let device = Device::new(profile);
        let usage = Usage::COPY_SRC | Usage::COPY_DST;
        let own = committed(&device, "own", &texture(16, 16, usage));
        let shared = texture_info(16, 16, usage | Usage::SHARED).mips(2);
        let shared = committed(&device, "shared", &ResourceDesc::Texture(shared));
        let hand_over = |resource: &Resource, subresource, after| {
            recorded(&device, GRAPHICS, |list| {
                list.barriers(&[Barrier::Transition {
                    resource,
                    subresource,
                    before: State::COPY_DST,
                    after,
                    transfer: Some(QueueTransfer { from: GRAPHICS, to: QueueId::PEER }),
                }]);
            })
        };
        refused(hand_over(&own, Subresource::All, State::COPY_DST), "is shared");
        refused(hand_over(&shared, Subresource::One(1), State::COPY_DST), "as a whole");
        refused(hand_over(&shared, Subresource::All, State::COPY_SRC), "as a whole");
        hand_over(&shared, Subresource::All, State::COPY_DST).unwrap();
    }
}

#[test]
fn phones_trace_no_rays() {
    let device = Device::new(Profile::VULKAN_MOBILE);
    for (usage, feature) in [
        (Usage::ACCELERATION_STRUCTURE, "acceleration structures"),
        (Usage::SHADER_BINDING_TABLE, "shader binding tables"),
    ] {
        let refused = device.requirements(&buffer(4096, usage)).map(drop);
        assert_eq!(refused, Err(DeviceError::Unsupported { feature }));
    }
}

/// Direct3D 12 has these on no card.
#[test]
fn features_missing_in_direct3d_12_are_unsupported() {
    let unsupported = |answer: Result<(), DeviceError>, feature| {
        assert_eq!(answer, Err(DeviceError::Unsupported { feature }));
    };
    let (d3d12, vulkan) = (Device::new(Profile::DISCRETE), Device::new(Profile::VULKAN_NVIDIA));
    for usage in [Usage::SHADER_READ, Usage::RENDER_TARGET | Usage::UNORDERED_ACCESS] {
        let desc = ResourceDesc::Texture(texture_info(8, 8, usage).samples(4));
        unsupported(d3d12.requirements(&desc).map(drop), "multisampled textures that are no targets");
        vulkan.requirements(&desc).unwrap();
    }
    let structure = buffer(1 << 20, Usage::ACCELERATION_STRUCTURE);
    unsupported(d3d12.create_reserved(&structure).map(drop), "reserved acceleration structures");
    vulkan.create_reserved(&structure).unwrap();
    let depth = texture_info(64, 4, Usage::DEPTH_STENCIL | Usage::COPY_DST).format(Format::D32Float);
    let part = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [64, 2, 1] };
    let copied = |device: &Device| {
        let depth = committed(device, "depth", &ResourceDesc::Texture(depth.clone()));
        let texels = upload(device, "texels", 64 << 10);
        let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 4 };
        recorded(device, GRAPHICS, |list| list.copy_buffer_to_texture(&texels, layout, &depth, part))
    };
    refused(copied(&d3d12), "a whole subresource at a time");
    copied(&vulkan).unwrap();
}

#[test]
fn lists_are_open_while_recorded_and_closed_once() {
    let device = Device::new(Profile::DISCRETE);
    let (rock, _) = things(&device);
    let mut list = device.create_list(Permit::checked(), GRAPHICS).unwrap();
    refused(list.close(), "begun before");
    list.begin().unwrap();
    refused(list.begin(), "closed before");
    list.close().unwrap();
    refused(list.close(), "begun before");
    list.begin().unwrap();
    list.fill_buffer(&rock, 1 << 40, 1, 0);
    list.fill_buffer(&rock, 0, 1, 0);
    refused(list.close(), "inside the resource");
    refused(device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 1), "closed");
    // Direct3D 12 refuses to reset a list whose `Close` failed.
    refused(list.begin(), "not begun again");
    refused(list.begin(), "not begun again");
    device.destroy_list(Permit::checked(), list);
    let mut list = device.create_list(Permit::checked(), GRAPHICS).unwrap();
    list.begin().unwrap();
    list.close().unwrap();
    device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 1).unwrap();
    refused(device.create_list(Permit::checked(), QueueId(3)), "queue exists");
}

/// Vulkan's command buffers are recorded for one submission.
#[test]
fn lists_are_submitted_once() {
    for profile in Profile::ALL.iter().copied() {
        let device = manual(profile);
        let mut list = record(&device, GRAPHICS, |_| ());
        refused(device.submit(Permit::checked(), GRAPHICS, &[&list, &list], &[], 1), "submitted again");
        device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 1).unwrap();
        refused(device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 2), "submitted again");
        device.run_until_idle();
        refused(device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 2), "submitted again");
        device.completed(GRAPHICS).unwrap();
        list.begin().unwrap();
        list.close().unwrap();
        device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 2).unwrap();
        assert_clean(&hazards(&device));
    }
}

/// With tight alignment a buffer may be at any offset that its use allows; views check this.
#[test]
fn buffers_lie_where_their_views_may_begin() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).tight_alignment(true));
    let heap = device.create_heap(&heap_desc(HeapCategory::Any)).unwrap();
    for (usage, alignment) in [(Usage::VERTEX, 8), (Usage::SHADER_READ, 16), (Usage::CONSTANT, 256)] {
        let desc = buffer(512, usage);
        refused(device.create_placed(Permit::checked(), &desc, &heap, alignment / 2), "offset is aligned");
        let placed = device.create_placed(Permit::checked(), &desc, &heap, 3 * alignment).unwrap();
        device.destroy_resource(Permit::checked(), placed);
    }
    let constants =
        device.create_placed(Permit::checked(), &buffer(512, Usage::CONSTANT), &heap, 256).unwrap();
    let views = DescriptorHeapDesc { kind: DescriptorKind::Resource, count: 1, shader_visible: false };
    let views = device.create_descriptor_heap(&views).unwrap();
    let at = |offset| {
        let view = BufferView { offset, size: 256, access: BufferAccess::Constants };
        device.write_descriptor(
            Permit::checked(),
            &views,
            0,
            &Descriptor::Buffer { resource: &constants, view },
        )
    };
    refused(at(16), "aligned");
    at(256).unwrap();
    device.destroy_descriptor_heap(Permit::checked(), views);
    device.destroy_resource(Permit::checked(), constants);
    device.destroy_heap(Permit::checked(), heap);
    device.check_clean().unwrap();
}

#[test]
fn nothing_is_placed_that_requires_dedicated_memory() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).requires_dedicated());
    let heap = device.create_heap(&heap_desc(HeapCategory::Any)).unwrap();
    let desc = buffer(512, Usage::VERTEX);
    let needs = device.requirements(&desc).unwrap();
    assert!(needs.requires_dedicated && needs.prefers_dedicated);
    refused(device.create_placed(Permit::checked(), &desc, &heap, 0), "requires dedicated memory");
    device.destroy_resource(Permit::checked(), device.create_committed(&desc, MemoryTypeId(0)).unwrap());
    device.destroy_heap(Permit::checked(), heap);
    device.check_clean().unwrap();
}
