//! The driver may report wrong numbers about memory: budgets of nothing, budgets above all memory, and refusals
//! before a budget is reached. Each creation takes few driver calls all the same, and no memory is left behind.

use tenure_core::device::{MemoryTypeId, prelude::*};
use tenure_core::{Buffer, BufferDesc, Config, Error, Gpu, MemoryUse, Usage};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

const MIB: u64 = 1 << 20;
/// The size of each memory heap, in bytes.
const HEAP: u64 = 64 * MIB;
/// A creation asks for blocks, smaller ones, and memory of its own, in each of at most five memory types: within the budget,
/// after all that is idle was given back, and beyond the budget.
const MOST_CALLS: u64 = 48;

fn manager(profile: Profile) -> (Device, Gpu<Device>) {
    let heaps = Device::new(profile).properties().memory_heaps.len();
    let options = DeviceConfig::new(profile).heap_sizes(vec![HEAP; heaps]).lag(Lag::None);
    let device = Device::with_config(options);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    (device, gpu)
}

/// Driver calls that allocate memory, including failed ones.
fn calls(device: &Device) -> u64 {
    let calls = device.calls();
    [CallKind::CreateHeap, CallKind::CreateCommitted].map(|kind| calls.made(kind)).iter().sum()
}

/// Creates a buffer of 1 MiB in few calls.
fn create(device: &Device, gpu: &Gpu<Device>) -> Result<Buffer<Device>, Error> {
    let before = calls(device);
    let made = gpu.create_buffer(&BufferDesc::new(MIB, Usage::VERTEX));
    let taken = calls(device) - before;
    assert!(taken <= MOST_CALLS, "{taken} calls for one buffer: {:?}", made.as_ref().err());
    made
}

/// Creates buffers until there is no memory left, and many times more.
fn fill(device: &Device, gpu: &Gpu<Device>) -> Vec<Buffer<Device>> {
    let mut buffers = Vec::new();
    loop {
        match create(device, gpu) {
            Ok(buffer) => buffers.push(buffer),
            Err(error) => {
                assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
                break;
            }
        }
        assert!(buffers.len() < 1000, "more than all memory");
    }
    let reserved = device.calls().reserved_bytes;
    for _ in 0..50 {
        assert!(create(device, gpu).is_err());
        gpu.begin_frame().unwrap().end().unwrap();
    }
    assert!(device.calls().reserved_bytes <= reserved, "what is refused leaves nothing behind");
    buffers
}

fn end(device: &Device, gpu: Gpu<Device>, buffers: Vec<Buffer<Device>>) {
    drop(buffers);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
    assert_eq!(device.calls().reserved_bytes, 0);
}

#[test]
fn extreme_budgets_do_not_prevent_allocations() {
    for profile in Profile::ALL {
        for budget in [0, 1, u64::MAX] {
            let (device, gpu) = manager(*profile);
            for heap in 0..device.properties().memory_heaps.len() {
                device.set_budget(heap, budget).unwrap();
            }
            let buffers = fill(&device, &gpu);
            assert!(buffers.len() >= 32, "{profile:?}, {budget}: {} buffers", buffers.len());
            end(&device, gpu, buffers);
        }
    }
}

#[test]
fn budgets_that_change_each_frame_cost_no_memory() {
    for profile in Profile::ALL {
        let (device, gpu) = manager(*profile);
        let mut buffers: Vec<_> = (0..16).map(|_| create(&device, &gpu).unwrap()).collect();
        let mut most = 0;
        for frame in 0..300_usize {
            let heap = frame % device.properties().memory_heaps.len();
            device.set_budget(heap, [0, u64::MAX, 8 * MIB, HEAP][frame / 3 % 4]).unwrap();
            buffers.remove(0);
            buffers.push(create(&device, &gpu).unwrap());
            gpu.begin_frame().unwrap().end().unwrap();
            let reserved = device.calls().reserved_bytes;
            most = most.max(reserved);
            assert!(reserved <= 3 * 16 * MIB, "{profile:?}, frame {frame}: {reserved} for 16 MiB");
        }
        end(&device, gpu, buffers);
    }
}

/// The driver refuses after a few allocations, long before the budget is reached.
#[test]
fn a_driver_that_refuses_before_the_budget_is_asked_seldom() {
    for profile in Profile::ALL {
        for given in [1, 3] {
            let (device, gpu) = manager(*profile);
            for kind in [CallKind::CreateHeap, CallKind::CreateCommitted] {
                device.faults().inject(Fault::nth(given, FaultKind::OutOfMemory).of(kind).onwards());
            }
            let buffers = fill(&device, &gpu);
            device.faults().clear();
            let more = create(&device, &gpu).unwrap();
            drop(more);
            end(&device, gpu, buffers);
        }
    }
}

/// The driver has filled the CPU-visible window of a card. Its budget says otherwise.
#[test]
fn a_window_that_the_driver_filled_refuses_no_program() {
    for (profile, window) in [(Profile::VULKAN_NVIDIA, 4), (Profile::VULKAN_AMD_SMALL_BAR, 2)] {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let fault = Fault::nth(1, FaultKind::OutOfMemory).in_memory(MemoryTypeId(window));
        device.faults().inject(fault.onwards());
        let mut buffers = Vec::new();
        for memory in [MemoryUse::GpuOnly, MemoryUse::Upload, MemoryUse::GpuUpload, MemoryUse::Readback] {
            for size in [256, 64 << 10, 4 * MIB, 32 * MIB] {
                let desc = BufferDesc::new(size, Usage::COPY_SRC | Usage::COPY_DST).memory(memory);
                buffers.push(gpu.create_buffer(&desc).unwrap());
            }
        }
        assert_eq!(device.budget().unwrap()[2].usage, 0, "nothing fits in the window");
        end(&device, gpu, buffers);
    }
}
