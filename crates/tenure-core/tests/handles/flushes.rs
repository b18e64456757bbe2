//! Memory that is not coherent: flushes take whole atoms, which no two buffers may share.

use tenure_core::device::{MemoryFlags, prelude::*};
use tenure_core::memory::{MemoryUse, type_order};
use tenure_core::{BufferDesc, Queue, Usage};
use tenure_sim::{Lag, Profile};

use super::{SECOND, device, gpu, upload};

/// Buffers of a few bytes, side by side: the CPU writes each second one while the GPU writes the others.
#[test]
fn neighbours_are_written_by_cpu_and_gpu_at_once() {
    let device = device(Profile::VULKAN_MOBILE, Lag::Manual);
    let memory = type_order(device.properties(), MemoryUse::Readback)[0];
    let flags = device.properties().memory_types[usize::from(memory.0)].flags;
    assert!(!flags.contains(MemoryFlags::HOST_COHERENT), "what is read lives in cached memory: {flags:?}");

    let gpu = gpu(&device);
    let source = upload(&gpu, 256, 7);
    let sizes = [1_u64, 4, 3, 60, 64, 17, 65, 8, 130, 2, 5, 200];
    let small = |size: &u64| {
        let desc = BufferDesc::new(*size, Usage::COPY_DST).memory(MemoryUse::Readback);
        gpu.create_buffer(&desc.name("result")).unwrap()
    };
    let results: Vec<_> = sizes.iter().cycle().take(200).map(small).collect();
    let mut recording = gpu.record(Queue::Graphics, "results").unwrap();
    for result in results.iter().step_by(2) {
        recording.copy_buffer(&source, 0, result, 0, result.size()).unwrap();
    }
    let submitted = recording.submit().unwrap();
    for result in results.iter().skip(1).step_by(2) {
        result.write(0, &vec![9; usize::try_from(result.size()).unwrap()]).unwrap();
    }
    assert!(device.run_until_idle());
    assert!(gpu.wait(&submitted, SECOND).unwrap());
    for (index, result) in results.iter().enumerate() {
        let expected = if index % 2 == 0 { 7 } else { 9 };
        assert!(super::bytes(result).iter().all(|byte| *byte == expected), "{index}");
    }
    drop((results, source));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}
