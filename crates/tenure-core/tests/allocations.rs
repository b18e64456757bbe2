//! In steady state, creating and dropping ranges allocates nothing on the heap.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};

use tenure_core::device::{QueueId, Usage};
use tenure_core::{Buffer, BufferDesc, Config, Gpu, MemoryUse, Queue};
use tenure_sim::{Device, Lag, Options, Profile};

thread_local! {
    static IS_COUNTING: Cell<bool> = const { Cell::new(false) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static FIRST: RefCell<Option<Backtrace>> = const { RefCell::new(None) };
}

/// The system's allocator, counting what threads ask of it that want to be counted.
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

// SAFETY: every call is passed on to the system's allocator as it is.
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
        BufferDesc::new(256, Usage::CONSTANT).memory(MemoryUse::Dynamic).name("constants"),
        BufferDesc::new(70_000, Usage::CONSTANT).memory(MemoryUse::Dynamic).name("large upload"),
    ]
}

const GRAPHICS: QueueId = QueueId(0);
const A_FRAME: usize = 64;
const ALIVE: usize = 4 * A_FRAME;

/// A frame that replaces the oldest buffers. What the simulated driver allocates when it takes and
/// runs a submission is not counted.
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
        let device = Device::with_options(Options::new(Profile::DISCRETE).lag(Lag::Manual));
        let gpu = Gpu::new(device, Config::default()).unwrap();
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
