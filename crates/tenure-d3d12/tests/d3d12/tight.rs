//! Tight alignment by the rules of Agility SDK 1.618, which 1.619.4 only relaxes.
//!
//! Functions between tenure and the runtime imitate a driver with or without it: they answer queries with the
//! flag themselves, and remove the flag from creations.

use core::ffi::c_void;
use std::cell::{Cell, RefCell};
use std::sync::OnceLock;

use tenure_core::device::{Features, ResourceDesc, prelude::*};
use tenure_core::{BufferDesc, Config, Format, Gpu, PoolConfig, Strategy, TextureDesc, Usage};
use tenure_d3d12::windows::Win32::Foundation::E_INVALIDARG;
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D12_CLEAR_VALUE, D3D12_FEATURE, D3D12_HEAP_FLAGS, D3D12_HEAP_PROPERTIES,
    D3D12_RESOURCE_ALLOCATION_INFO, D3D12_RESOURCE_DESC, D3D12_RESOURCE_DIMENSION_BUFFER,
    D3D12_RESOURCE_FLAGS, D3D12_RESOURCE_STATES, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ID3D12Device,
    ID3D12Device_Vtbl,
};
use tenure_d3d12::windows::core::{GUID, HRESULT, Interface};
use tenure_d3d12::{Device, DeviceConfig};

use crate::bench::{GPU_ONLY, KIB, MIB, buffer, device, texture};
use crate::device_thread::on_device_thread;
use crate::interposed::{PUTTING, put};
use crate::matrix;

type This = *mut c_void;
type CheckSupport = unsafe extern "system" fn(This, D3D12_FEATURE, *mut c_void, u32) -> HRESULT;
type AllocationInfo = unsafe extern "system" fn(
    This,
    *mut D3D12_RESOURCE_ALLOCATION_INFO,
    u32,
    u32,
    *const D3D12_RESOURCE_DESC,
);
type CreateCommitted = unsafe extern "system" fn(
    This,
    *const D3D12_HEAP_PROPERTIES,
    D3D12_HEAP_FLAGS,
    *const D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_STATES,
    *const D3D12_CLEAR_VALUE,
    *const GUID,
    *mut This,
) -> HRESULT;
type CreatePlaced = unsafe extern "system" fn(
    This,
    This,
    u64,
    *const D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_STATES,
    *const D3D12_CLEAR_VALUE,
    *const GUID,
    *mut This,
) -> HRESULT;

/// `D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT`.
const FEATURE: D3D12_FEATURE = D3D12_FEATURE(54);
/// `D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT`.
const FLAG: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAGS(0x400);
/// The driver's answers.
const BUFFERS: u64 = 8;
const TEXTURES: u64 = 512;
/// The size of the buffers that need more bytes, and their needed size.
const PADDED: (u64, u64) = (1000, 1536);

/// The result of the feature query.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// The runtime does not know it.
    Unknown,
    Tier(i32),
}

/// A resource that was created with the flag.
#[derive(Clone, Copy, Debug)]
struct Made {
    is_buffer: bool,
    /// The heap and the offset in it; nothing for a committed one.
    place: Option<(usize, u64)>,
    size: u64,
}

thread_local! {
    /// The simulated features of devices created on this thread.
    static ANSWER: Cell<Option<Answer>> = const { Cell::new(None) };
    static MADE: RefCell<Vec<Made>> = const { RefCell::new(Vec::new()) };
}

struct Real {
    check: CheckSupport,
    info: AllocationInfo,
    committed: CreateCommitted,
    placed: CreatePlaced,
}

static REAL: OnceLock<Real> = OnceLock::new();

fn real() -> &'static Real {
    REAL.get().expect("the functions are in place")
}

/// The driver's requirements for a description with the flag; `None` for one that the runtime refuses.
fn needs(desc: &D3D12_RESOURCE_DESC) -> Option<D3D12_RESOURCE_ALLOCATION_INFO> {
    if desc.Alignment != 0 || desc.Layout == D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE {
        return None;
    }
    let (size, alignment) = if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
        (if desc.Width == PADDED.0 { PADDED.1 } else { desc.Width }, BUFFERS)
    } else {
        ((desc.Width * u64::from(desc.Height) * 4).next_multiple_of(TEXTURES), TEXTURES)
    };
    Some(D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: size, Alignment: alignment })
}

/// The description for a runtime that does not know the flag.
fn without_flag(desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Flags: desc.Flags & !FLAG, ..*desc }
}

fn note(desc: &D3D12_RESOURCE_DESC, place: Option<(usize, u64)>) {
    let needs = needs(desc).expect("nothing is created that would be refused");
    assert!(place.is_none_or(|(_, offset)| offset.is_multiple_of(needs.Alignment)), "{place:?}");
    let is_buffer = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
    MADE.with_borrow_mut(|made| made.push(Made { is_buffer, place, size: needs.SizeInBytes }));
}

unsafe extern "system" fn check_support(
    this: This,
    feature: D3D12_FEATURE,
    data: *mut c_void,
    size: u32,
) -> HRESULT {
    match ANSWER.get().filter(|_| feature == FEATURE) {
        Some(Answer::Unknown) => E_INVALIDARG,
        Some(Answer::Tier(tier)) => {
            assert_eq!(size as usize, size_of::<i32>());
            // SAFETY: the structure of the feature is one number.
            unsafe { data.cast::<i32>().write(tier) };
            HRESULT(0)
        }
        // SAFETY: as the caller has it.
        None => unsafe { (real().check)(this, feature, data, size) },
    }
}

unsafe extern "system" fn allocation_info(
    this: This,
    out: *mut D3D12_RESOURCE_ALLOCATION_INFO,
    nodes: u32,
    count: u32,
    descs: *const D3D12_RESOURCE_DESC,
) {
    // SAFETY: there is at least one.
    let desc = unsafe { *descs };
    if count != 1 || !desc.Flags.contains(FLAG) {
        // SAFETY: as the caller has it.
        return unsafe { (real().info)(this, out, nodes, count, descs) };
    }
    let refusal = D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: u64::MAX, Alignment: 64 << 10 };
    // SAFETY: as the API has it.
    unsafe { out.write(needs(&desc).unwrap_or(refusal)) };
}

unsafe extern "system" fn create_committed(
    this: This,
    memory: *const D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
    desc: *const D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
    id: *const GUID,
    out: *mut This,
) -> HRESULT {
    // SAFETY: as the API has it.
    let own = unsafe { *desc };
    if own.Flags.contains(FLAG) {
        note(&own, None);
    }
    // SAFETY: as the caller has it.
    unsafe { (real().committed)(this, memory, flags, &without_flag(&own), state, clear, id, out) }
}

unsafe extern "system" fn create_placed(
    this: This,
    heap: This,
    offset: u64,
    desc: *const D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
    clear: *const D3D12_CLEAR_VALUE,
    id: *const GUID,
    out: *mut This,
) -> HRESULT {
    // SAFETY: as the API has it.
    let own = unsafe { *desc };
    let is_tight = own.Flags.contains(FLAG);
    if is_tight {
        note(&own, Some((heap.addr(), offset)));
    }
    // Without the flag only multiples of 64 KiB are allowed.
    let offset = if is_tight { offset - offset % (64 << 10) } else { offset };
    // SAFETY: as the caller has it.
    unsafe { (real().placed)(this, heap, offset, &without_flag(&own), state, clear, id, out) }
}

/// Puts the functions into the table of devices, once.
fn interpose(device: &ID3D12Device) {
    static PUT: OnceLock<()> = OnceLock::new();
    PUT.get_or_init(|| {
        let _putting = PUTTING.lock().unwrap();
        let table: *const ID3D12Device_Vtbl = Interface::vtable(device);
        // SAFETY: the table of a live interface. The runtime's own functions are known before the first call may come.
        unsafe {
            REAL.get_or_init(|| Real {
                check: (*table).CheckFeatureSupport,
                info: (*table).GetResourceAllocationInfo,
                committed: (*table).CreateCommittedResource,
                placed: (*table).CreatePlacedResource,
            });
            put(&raw const (*table).CheckFeatureSupport, check_support as CheckSupport);
            put(&raw const (*table).GetResourceAllocationInfo, allocation_info as AllocationInfo);
            put(&raw const (*table).CreateCommittedResource, create_committed as CreateCommitted);
            put(&raw const (*table).CreatePlacedResource, create_placed as CreatePlaced);
        }
    });
}

/// A device with these simulated features, which calls no newer functions than those above.
fn told(answer: Answer, options: DeviceConfig) -> Device {
    interpose(device().raw());
    let options = options.enhanced_barriers(false).relaxed_casting(false);
    let created = on_device_thread(move || {
        ANSWER.set(Some(answer));
        let created = matrix::create(options);
        ANSWER.set(None);
        created
    });
    created.expect("a Direct3D 12 device")
}

/// Bytes reserved for a hundred small buffers and a hundred small textures, each placed.
fn reserved(device: &Device) -> u64 {
    let pools = PoolConfig::default().strategy(Strategy::Placed);
    let gpu = Gpu::new(device.clone(), Config::from(pools)).unwrap();
    let mut buffers = Vec::new();
    let mut textures = Vec::new();
    for _ in 0..100 {
        buffers.push(gpu.create_buffer(&BufferDesc::new(100, Usage::VERTEX)).unwrap());
        let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::SHADER_READ);
        textures.push(gpu.create_texture(&desc).unwrap());
    }
    let reserved = gpu.stats().reserved;
    drop((buffers, textures));
    assert!(gpu.shutdown().is_clean());
    reserved
}

fn alignment(device: &Device, desc: &ResourceDesc) -> (u64, u64) {
    let needs = device.requirements(desc).unwrap();
    (needs.size, needs.alignment)
}

/// The driver's alignment, unless a view needs more.
#[test]
fn small_resources_lie_as_tightly_as_the_driver_lets_them() {
    let device = told(Answer::Tier(1), DeviceConfig::default());
    assert!(device.properties().features.contains(Features::TIGHT_ALIGNMENT));
    assert_eq!(alignment(&device, &buffer(100, Usage::VERTEX)), (104, BUFFERS));
    assert!(alignment(&device, &buffer(100, Usage::SHADER_READ)).1 >= 16, "raw views");
    assert_eq!(alignment(&device, &buffer(100, Usage::CONSTANT)), (256, 256));
    assert_eq!(alignment(&device, &buffer(PADDED.0, Usage::VERTEX)), (PADDED.1, BUFFERS));
    let small = texture(16, Format::Rgba8Unorm, Usage::SHADER_READ);
    assert_eq!(alignment(&device, &small), (1024, TEXTURES));
    MADE.take();
    assert!(reserved(&device) <= 2 * MIB);
    let made = MADE.take();
    let placed = |is_buffer| {
        let such = made.iter().filter(move |made| made.is_buffer == is_buffer);
        such.filter_map(|made| Some((made.place?, made.size))).collect::<Vec<_>>()
    };
    let (buffers, textures) = (placed(true), placed(false));
    assert!(buffers.len() >= 100 && textures.len() >= 100, "{made:?}");
    let mut all = [buffers, textures].concat();
    all.sort_unstable();
    for pair in all.windows(2) {
        let ((heap, at), size) = pair[0];
        let (next, _) = pair[1];
        assert!(heap != next.0 || at + size <= next.1, "two share bytes: {pair:?}");
    }
    assert!(all.iter().any(|((_, at), _)| !at.is_multiple_of(4 * KIB)), "below any other alignment");
    let committed = device.create_committed(&small, GPU_ONLY).unwrap();
    assert!(matches!(MADE.take()[..], [Made { is_buffer: false, place: None, .. }]));
    drop(committed);
}

/// The flag is an error there.
#[test]
fn no_alignment_is_tight_if_unsupported_or_disabled() {
    let off = DeviceConfig::default().tight_alignment(false);
    for (answer, options) in [
        (Answer::Unknown, DeviceConfig::default()),
        (Answer::Tier(0), DeviceConfig::default()),
        (Answer::Tier(1), off),
    ] {
        let device = told(answer, options);
        assert!(!device.properties().features.contains(Features::TIGHT_ALIGNMENT), "{answer:?}");
        assert_eq!(alignment(&device, &buffer(100, Usage::VERTEX)), (64 * KIB, 64 * KIB));
        MADE.take();
        assert!(reserved(&device) > 6 * MIB, "{answer:?}");
        assert!(MADE.take().is_empty(), "{answer:?}");
    }
}
