//! Hazards name the program's object, not the shared buffer that it lies in.

use tenure_core::{BufferDesc, Config, Gpu, Queue, Usage};
use tenure_sim::{Device, Profile};

/// Two small buffers in one API buffer; the second is read although it was never written.
#[test]
fn an_object_in_a_shared_buffer_is_named_with_its_offset() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let small = |name| BufferDesc::new(256, Usage::SHADER_READ | Usage::COPY_SRC).name(name);
    let rock = gpu.create_buffer_with(&small("rock"), &[7; 256]).unwrap();
    let tree = gpu.create_buffer(&small("tree")).unwrap();
    let target = gpu.create_buffer(&BufferDesc::new(256, Usage::UNORDERED_ACCESS).name("target")).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "copy").unwrap();
    recording.copy_buffer(&tree, 0, &target, 0, 256).unwrap();
    let done = recording.submit().unwrap();
    gpu.wait(&done, std::time::Duration::from_secs(10)).unwrap();
    let hazards: Vec<String> = device.take_hazards().iter().map(ToString::to_string).collect();
    let [hazard] = &*hazards else { panic!("{hazards:?}") };
    let expected = format!("buffer 'tree' (at {} of buffer ", tree.offset());
    assert!(hazard.contains(&expected), "{hazard}");
    assert!(!hazard.contains("rock"), "{hazard}");
    drop((rock, tree, target));
}

/// Who had freed bytes last is named until another object gets them.
#[test]
fn freed_bytes_are_named_after_their_last_owner() {
    let device = Device::new(Profile::VULKAN_NVIDIA);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let small = |name| BufferDesc::new(256, Usage::SHADER_READ | Usage::COPY_SRC).name(name);
    let rock = gpu.create_buffer(&small("rock")).unwrap();
    let offset = rock.offset();
    drop(rock);
    for _ in 0..3 {
        gpu.begin_frame().unwrap().end().unwrap();
    }
    let tree = gpu.create_buffer(&small("tree")).unwrap();
    assert_eq!(tree.offset(), offset, "the bytes are taken again");
    let target = gpu.create_buffer(&BufferDesc::new(256, Usage::UNORDERED_ACCESS)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "copy").unwrap();
    recording.copy_buffer(&tree, 0, &target, 0, 256).unwrap();
    let done = recording.submit().unwrap();
    gpu.wait(&done, std::time::Duration::from_secs(10)).unwrap();
    let hazards = device.take_hazards();
    assert!(hazards.iter().all(|hazard| !hazard.to_string().contains("rock")), "{hazards:?}");
    assert!(hazards.iter().any(|hazard| hazard.to_string().contains("'tree'")), "{hazards:?}");
}
