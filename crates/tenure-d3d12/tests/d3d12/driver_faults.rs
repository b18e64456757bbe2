//! Workarounds for driver faults, down to the created objects.

use tenure_core::device::{
    Features, FieldValue, HeapCategory, QueryHeapDesc, QueryKind, ResourceDesc, prelude::*,
};
use tenure_core::{
    BufferDesc, BufferLayout, Config, DeviceError, Format, Gpu, LocationKind, PageAllocatorDesc, Plane,
    Queue, Subresource, TextureDesc, TextureRegion, Usage,
};
use tenure_d3d12::drivers::{AdapterId, DriverVersion, INTEL, Workarounds};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D12_HEAP_FLAG_CREATE_NOT_ZEROED, D3D12_HEAP_FLAGS,
};
use tenure_d3d12::{Device, DeviceConfig, DriverFaults, List, Resource};

use crate::bench::{Bench, GPU_ONLY, GRAPHICS, buffer, create, device, heap_desc, refused, texture};
use crate::harness::PERMIT;

const IRIS_XE: AdapterId =
    AdapterId { vendor: INTEL, device: 0x9a49, driver: None, windows_build: Some(22_631) };
const ICE_LAKE: AdapterId = AdapterId { device: 0x8a52, driver: Some(NEW), ..IRIS_XE };
const NEW: DriverVersion = DriverVersion([31, 0, 101, 2125]);
/// UHD Graphics of Gen 12 with an old driver.
const OLD_GEN_12: AdapterId =
    AdapterId { device: 0x4680, driver: Some(DriverVersion([30, 0, 100, 9864])), ..IRIS_XE };

fn on(adapter: AdapterId) -> Device {
    create(DeviceConfig::default().driver_faults(DriverFaults::Of(adapter)))
}

#[test]
fn the_table_is_asked_by_number() {
    let device = device();
    let id = device.adapter().id();
    assert!(id.windows_build.is_some_and(|build| build >= 10_000), "{id:?}");
    assert_eq!(*device.workarounds(), Workarounds::of(&id));
    let ignored = create(DeviceConfig::default().driver_faults(DriverFaults::Ignored));
    assert_eq!(*ignored.workarounds(), Workarounds::default());
    assert!(!ignored.properties().features.contains(Features::DEDICATED));
    assert!(on(IRIS_XE).properties().features.contains(Features::DEDICATED));
}

#[test]
fn resources_that_are_never_placed_require_dedicated_memory() {
    let sampled = texture(64, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_DST);
    let vertices = buffer(64, Usage::VERTEX);
    for (device, expected) in
        [(on(OLD_GEN_12), [false, false]), (on(ICE_LAKE), [false, true]), (on(IRIS_XE), [true; 2])]
    {
        let needs = [&vertices, &sampled].map(|desc| device.requirements(desc).unwrap());
        assert_eq!(needs.each_ref().map(|needs| needs.requires_dedicated), expected);
        assert_eq!(needs.each_ref().map(|needs| needs.prefers_dedicated), expected);
    }
    let device = on(ICE_LAKE);
    let heap = device.create_heap(&heap_desc(1 << 20, GPU_ONLY, HeapCategory::Any)).unwrap();
    let rule = "a resource that requires dedicated memory is committed";
    refused(device.create_placed(PERMIT, &sampled, &heap, 0), rule);
    device.destroy_heap(PERMIT, heap);
}

fn flags(resource: &Resource) -> D3D12_HEAP_FLAGS {
    let mut flags = D3D12_HEAP_FLAGS::default();
    // SAFETY: the resource is alive, and the pointer is to a local that outlives the call.
    unsafe { resource.raw().GetHeapProperties(None, Some(&raw mut flags)) }.unwrap();
    flags
}

#[test]
fn textures_are_zeroed_where_they_must_be() {
    let sampled = texture(64, Format::Rgba8Unorm, Usage::SHADER_READ);
    let is_zeroed = |device: &Device, desc: &ResourceDesc| {
        let made = device.create_committed(desc, GPU_ONLY).unwrap();
        !flags(&made).contains(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED)
    };
    let device = on(ICE_LAKE);
    assert!(is_zeroed(&device, &sampled));
    assert!(!is_zeroed(&device, &buffer(64, Usage::VERTEX)), "textures alone");
    assert!(!is_zeroed(&on(OLD_GEN_12), &sampled));
}

#[test]
fn arrays_are_created_with_spare_layers_and_used_without() {
    let device = on(OLD_GEN_12);
    let array = TextureDesc::d2(1, 1024, Format::Rgba8Unorm, Usage::SHADER_READ).layers(16);
    let desc = ResourceDesc::Texture(array.info.clone());
    let made = device.create_committed(&desc, GPU_ONLY).unwrap();
    // SAFETY: the resource is alive; the description is returned by value.
    let created = unsafe { made.raw().GetDesc() }.DepthOrArraySize;
    assert!(created > 16, "{created}");
    assert_eq!(made.desc().subresources(), 16);
    let plain = create(DeviceConfig::default()).requirements(&desc).unwrap();
    assert!(device.requirements(&desc).unwrap().size > plain.size, "there is room for them");
    let most = ResourceDesc::Texture(array.layers(2048).info);
    let refused = device.requirements(&most).unwrap_err();
    assert!(
        matches!(
            refused,
            DeviceError::InvalidDesc { field: "depth_or_layers", value: FieldValue::Number(2049..), .. }
        ),
        "{refused:?}"
    );
    device.destroy_resource(PERMIT, made);
}

/// The written ranges are zeroed first, and nothing else.
#[test]
fn results_of_queries_are_cleared_before() {
    const COUNT: u32 = 100;
    let mut bench = Bench::new(on(IRIS_XE));
    let desc = QueryHeapDesc { kind: QueryKind::Timestamp, count: COUNT, queue: GRAPHICS };
    let heap = bench.device.create_query_heap(&desc).unwrap();
    let results = bench.readback(1024);
    bench.device.map(&results).unwrap().write(0, &[0xab; 1024]).unwrap();
    bench.run(GRAPHICS, |list| {
        (0..COUNT).for_each(|query| list.write_timestamp(&heap, query));
        // The second resolve writes some of the same queries to the same place as the first.
        list.resolve_queries(&heap, 0, COUNT, &results, 8);
        list.resolve_queries(&heap, COUNT / 2, COUNT / 2, &results, 8 + 4 * u64::from(COUNT));
    });
    let found = bench.contents(&results, 1024);
    let (found, after) = found.split_at(8 + 8 * COUNT as usize);
    assert_eq!((&found[..8], after), (&[0xab; 8][..], &vec![0xab; after.len()][..]));
    let times: Vec<_> =
        found[8..].chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert!(times[0] > 0 && times.is_sorted(), "{times:?}");
    bench.device.destroy_query_heap(PERMIT, heap);
}

#[test]
fn copies_that_the_driver_loses_are_refused() {
    let usage = Usage::DEPTH_STENCIL | Usage::COPY_SRC | Usage::COPY_DST;
    let desc = TextureDesc::d2(16, 16, Format::D32FloatS8Uint, usage).layers(2).info;
    let lost = |adapter| {
        let bench = Bench::new(on(adapter));
        let make = || bench.device.create_committed(&ResourceDesc::Texture(desc.clone()), GPU_ONLY).unwrap();
        let (from, to, staging) = (make(), make(), bench.readback(1 << 16));
        let feature = |record: &dyn Fn(&mut List)| match bench.recorded(GRAPHICS, record) {
            Err(DeviceError::Unsupported { feature }) => Some(feature),
            _ => None,
        };
        let stencil = TextureRegion { plane: Plane::Stencil, ..desc.region(0, 0) };
        let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 16 };
        [
            feature(&|list| list.copy_texture(&from, &to, Subresource::One(0))),
            feature(&|list| list.copy_texture(&from, &to, Subresource::One(1))),
            feature(&|list| list.copy_buffer_to_texture(&staging, layout, &to, stencil)),
        ]
    };
    let layers = Some("copies between depth textures beyond the first subresource");
    let [first, second, _] = lost(IRIS_XE);
    assert_eq!([first, second], [None, layers]);
    let arc = AdapterId { device: 0x5690, ..IRIS_XE };
    assert_eq!(lost(arc), [None, None, Some("copies from buffers to stencil")]);
}

/// Nothing is placed: no heap is created for any resource.
#[test]
fn the_manager_commits_everything_on_faulty_drivers() {
    let device = on(IRIS_XE);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let usages = [Usage::VERTEX, Usage::SHADER_READ, Usage::UNORDERED_ACCESS, Usage::INDIRECT];
    let buffers: Vec<_> = usages
        .into_iter()
        .flat_map(|usage| {
            [100, 100_000].map(|size| gpu.create_buffer(&BufferDesc::new(size, usage)).unwrap())
        })
        .collect();
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ);
    let image = gpu.create_texture(&desc).unwrap();
    assert_eq!(image.location(), LocationKind::Committed);
    let pages = gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("level"));
    let paged = pages.create_texture(&desc).unwrap();
    let frame = gpu.begin_frame().unwrap();
    let list = frame.record(Queue::Graphics, "pass").unwrap();
    drop(list.transient_texture(&TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET)).unwrap());
    frame.submit(list).unwrap();
    frame.end().unwrap();
    assert_eq!(device.live_objects().heaps, 0);
    drop((buffers, image, paged, pages));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    assert_eq!(device.live_objects().resources, 0);
}
