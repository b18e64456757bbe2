//! In steady state, creating and dropping ranges allocates nothing on the heap, nor do constants, nor does
//! an upload ring, nor do uploads into place, nor do descriptors of a recording.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};

use tenure_core::{
    Bind, BindingKind, Buffer, BufferDesc, BufferViewDesc, Config, DescriptorConfig, Gpu, MemoryUse, Queue,
    QueueId, Sampler, SamplerDesc, SetBinding, SetDescriptor, SetLayout, SetLayoutDesc, UploadRingDesc,
    Usage, View,
};
use tenure_sim::{Checks, Device, DeviceConfig, Lag, Paging, Profile};

thread_local! {
    static IS_COUNTING: Cell<bool> = const { Cell::new(false) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static FIRST: RefCell<Option<Backtrace>> = const { RefCell::new(None) };
}

/// The system's allocator, with counts of the allocations of registered threads.
struct Counting;

fn note() {
    if IS_COUNTING.replace(false) {
        COUNT.set(COUNT.get() + 1);
        FIRST.with_borrow_mut(|first| {
            first.get_or_insert_with(Backtrace::force_capture);
        });
        IS_COUNTING.set(true);
    }
}

// SAFETY: every call is forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `System` with this layout, as all blocks here do.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: `block` came from `System` with this layout; the size is the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `work` and counts its allocations.
fn counted<T>(work: impl FnOnce() -> T) -> T {
    IS_COUNTING.set(true);
    let result = work();
    IS_COUNTING.set(false);
    result
}

fn descs() -> [BufferDesc; 5] {
    [
        BufferDesc::new(2500, Usage::VERTEX).stride(20).name("mesh"),
        BufferDesc::new(900, Usage::INDEX).stride(2).name("indices"),
        BufferDesc::new(100_000, Usage::VERTEX | Usage::SHADER_READ).name("read-only"),
        BufferDesc::new(256, Usage::CONSTANT).memory(MemoryUse::Upload).name("constants"),
        BufferDesc::new(70_000, Usage::CONSTANT).memory(MemoryUse::Upload).name("large upload"),
    ]
}

const GRAPHICS: QueueId = QueueId(0);
const A_FRAME: usize = 64;
const ALIVE: usize = 4 * A_FRAME;

/// A frame that replaces the oldest buffers. Allocations of the simulated driver during a submission are not
/// counted.
fn frame(
    gpu: &Gpu<Device>,
    behind: u64,
    alive: &mut Vec<Buffer<Device>>,
    descs: &[BufferDesc],
    next: &mut usize,
) {
    let frame = counted(|| gpu.begin_frame().unwrap());
    let recording = frame.record(Queue::Graphics, "frame").unwrap();
    counted(|| {
        for _ in 0..A_FRAME {
            let desc = &descs[*next % descs.len()];
            let buffer = gpu.create_buffer(desc).unwrap();
            if alive.len() < ALIVE {
                alive.push(buffer);
            } else {
                alive[*next % ALIVE] = buffer;
            }
            *next += 1;
        }
    });
    let done = frame.submit(recording).unwrap().serial(GRAPHICS);
    gpu.device().complete(GRAPHICS, done.saturating_sub(behind));
    counted(|| frame.end().unwrap());
}

#[test]
fn creating_and_dropping_ranges_allocates_nothing() {
    for behind in [0, 2] {
        // Without checks, because for their messages the device notes the owner of all bytes.
        let options = DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual).checks(Checks::empty());
        let gpu = Gpu::new(Device::with_config(options), Config::default()).unwrap();
        let (mut alive, descs, mut next) = (Vec::with_capacity(ALIVE), descs(), 0);
        for _ in 0..200 {
            frame(&gpu, behind, &mut alive, &descs, &mut next);
        }
        let warm = COUNT.get();
        assert!(warm > 0, "the first frames allocate, or nothing is counted");
        FIRST.take();
        for _ in 0..500 {
            frame(&gpu, behind, &mut alive, &descs, &mut next);
        }
        let steady = COUNT.get() - warm;
        assert!(gpu.device().run_until_idle());
        assert_eq!(
            steady,
            0,
            "allocations in 500 frames with the GPU {behind} behind; the first at {:#?}",
            FIRST.take()
        );
    }
}

/// Noting the evictable blocks of a recording allocates nothing: the sets are recycled.
#[test]
fn noting_evictable_blocks_allocates_nothing() {
    let options = DeviceConfig::new(Profile::DISCRETE).lag(Lag::None).paging(Paging::PCIE4_X16);
    let gpu = Gpu::new(Device::with_config(options), Config::default()).unwrap();
    let desc = BufferDesc::new(1 << 20, Usage::SHADER_READ).evictable();
    let buffers: Vec<_> = (0..100).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    let frame = || {
        let mut recording = gpu.record(Queue::Graphics, "frame").unwrap();
        counted(|| buffers.iter().for_each(|buffer| recording.make_resident(buffer).unwrap()));
        recording.submit().unwrap();
    };
    frame();
    let warm = COUNT.get();
    assert!(warm > 0, "the first set grows, or nothing is counted");
    FIRST.take();
    (0..20).for_each(|_| frame());
    assert_eq!(COUNT.get(), warm, "the first at {:#?}", FIRST.take());
}

/// Constants allocate nothing: pages are recycled, with their boxes.
#[test]
fn pushing_constants_allocates_nothing() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let a_page = gpu.config().staging.constant_page / 256;
    let frame = |pages: u64| {
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "frame").unwrap();
        let before = COUNT.get();
        for index in 0..pages * a_page {
            let (_, scratch) = recording.split();
            counted(|| scratch.constants(&[index; 8]).unwrap());
        }
        let allocated = COUNT.get() - before;
        recording.submit().unwrap();
        frame.end().unwrap();
        allocated
    };
    // The simulated device's tables of written bytes grow once.
    for _ in 0..100 {
        frame(5);
    }
    FIRST.take();
    for _ in 0..100 {
        assert_eq!(frame(1), 0, "{:#?}", FIRST.take());
        assert_eq!(frame(5), 0, "{:#?}", FIRST.take());
    }
}

#[test]
fn uploads_in_place_allocate_nothing() {
    let options = DeviceConfig::new(Profile::VULKAN_INTEL).lag(Lag::None).checks(Checks::empty());
    let gpu = Gpu::new(Device::with_config(options), Config::default()).unwrap();
    let buffer = gpu.create_buffer(&BufferDesc::new(4096, Usage::SHADER_READ).filled()).unwrap();
    let upload = || counted(|| gpu.upload(&buffer, 0, &[1; 4096]).unwrap());
    drop(upload());
    FIRST.take();
    let before = COUNT.get();
    for _ in 0..100 {
        assert!(upload().sync_point().is_some());
    }
    assert_eq!(gpu.upload_stats().in_place, 101);
    assert_eq!(COUNT.get() - before, 0, "{:#?}", FIRST.take());
}

/// A ring allocates nothing.
#[test]
fn a_ring_allocates_nothing() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let ring = gpu.create_upload_ring(&UploadRingDesc::new(64 << 10)).unwrap();
    let frame = || {
        let frame = gpu.begin_frame().unwrap();
        let mut recording = frame.record(Queue::Graphics, "frame").unwrap();
        let before = COUNT.get();
        for _ in 0..30 {
            let (_, scratch) = recording.split();
            counted(|| ring.allocate(scratch, 1000, 16).map(|slice| slice.offset())).unwrap();
        }
        recording.submit().unwrap();
        counted(|| frame.end()).unwrap();
        COUNT.get() - before
    };
    for _ in 0..100 {
        frame();
    }
    FIRST.take();
    for _ in 0..100 {
        assert_eq!(frame(), 0, "{:#?}", FIRST.take());
    }
    assert_eq!(ring.stats().allocations, 6000);
}

/// The sources of descriptors.
struct Shown {
    views: Vec<View<Device>>,
    sampler: Sampler<Device>,
    layout: SetLayout<Device>,
}

impl Shown {
    fn new(gpu: &Gpu<Device>) -> Self {
        let buffer = gpu.create_buffer(&BufferDesc::new(1024, Usage::SHADER_READ)).unwrap();
        let views = (0..4).map(|_| gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap());
        let bindings =
            [SetBinding::new(0, BindingKind::Constants), SetBinding::new(1, BindingKind::Buffer).count(3)];
        Self {
            views: views.collect(),
            sampler: gpu.create_sampler(&SamplerDesc::default().name("smooth")).unwrap(),
            layout: gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("draw")).unwrap(),
        }
    }
}

/// Tables and sets of a recording allocate nothing. (Without poison, because the simulated driver keeps the
/// names of freed descriptors' owners.)
#[test]
fn descriptors_of_a_recording_allocate_nothing() {
    for behind in [0, 2] {
        let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::Manual));
        let config = Config::from(
            DescriptorConfig::default().chunk(64).set_pool(16).poison(false).report_unnamed(false),
        );
        let gpu = Gpu::new(device, config).unwrap();
        let shown = Shown::new(&gpu);
        let table: Vec<Bind<'_, Device>> = shown.views.iter().map(Bind::from).collect();
        let samplers = [Bind::from(&shown.sampler)];
        let frame = || {
            let before = COUNT.get();
            let frame = counted(|| gpu.begin_frame().unwrap());
            let mut recording = frame.record(Queue::Graphics, "frame").unwrap();
            let (_, scratch) = recording.split();
            let constants = scratch.constants(&[1_u32; 16]).unwrap();
            let element = |element: u32| SetDescriptor::new(1, table[element as usize]).element(element);
            let set = [SetDescriptor::new(0, constants), element(0), element(1), element(2)];
            // More than a chunk of descriptors, and more than a pool of sets.
            for _ in 0..40 {
                counted(|| scratch.descriptors(&table).map(|table| table.first())).unwrap();
                counted(|| scratch.set(&shown.layout, &set).map(|set| set.index())).unwrap();
            }
            counted(|| scratch.descriptors(&samplers).map(|table| table.first())).unwrap();
            let done = frame.submit(recording).unwrap().serial(GRAPHICS);
            gpu.device().complete(GRAPHICS, done.saturating_sub(behind));
            counted(|| frame.end().unwrap());
            COUNT.get() - before
        };
        for _ in 0..100 {
            frame();
        }
        FIRST.take();
        for _ in 0..100 {
            assert_eq!(frame(), 0, "with the GPU {behind} behind; the first at {:#?}", FIRST.take());
        }
        assert!(gpu.device().run_until_idle());
    }
}
