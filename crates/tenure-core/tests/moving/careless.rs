//! Careless programs: they drop resources in use, and query their places at once.

use tenure_core::{
    BindingKind, BufferDesc, BufferViewDesc, CompactionBudget, DescriptorSetDesc, Gpu, Queue, SetBinding,
    SetDescriptor, SetLayoutDesc, State, Subresource, Usage,
};
use tenure_sim::{Device, DeviceConfig, Profile};

use crate::buffers::{SOON, end, end_frame, with};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const ALL: CompactionBudget = CompactionBudget { bytes: u64::MAX, moves: usize::MAX, pieces: usize::MAX };

fn mesh(size: u64) -> BufferDesc {
    BufferDesc::new(size, Usage::SHADER_READ).movable().name("mesh")
}

/// A resource that was dropped while a recording uses it is gone for the program.
#[test]
fn dropped_resources_are_not_listed() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE));
    let all: Vec<_> = (0..200).map(|_| gpu.create_buffer(&mesh(100 * KIB)).unwrap()).collect();
    let kept: Vec<_> = all.into_iter().step_by(10).collect();
    (0..8).for_each(|_| end_frame(&gpu));
    for _ in 0..20 {
        gpu.compact(ALL).unwrap();
        end_frame(&gpu);
    }
    let moved = kept.iter().filter(|buffer| buffer.moves() > 0).count();
    assert!(moved > 0);
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    for buffer in &kept {
        recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    }
    drop(kept);
    assert_eq!(gpu.take_moved(), []);
    drop(recording);
    end(gpu);
}

/// The device is lost while a recording uses a view and a set whose handles are dropped: their heap and block
/// are freed when the recording has ended.
#[test]
fn a_lost_device_keeps_objects_of_open_recordings() {
    for (profile, has_sets) in [(Profile::DISCRETE, false), (Profile::VULKAN_NVIDIA, true)] {
        for ends_first in [false, true] {
            let gpu = with(DeviceConfig::new(profile));
            let device = gpu.device().clone();
            let buffer = gpu.create_buffer(&mesh(100 * KIB)).unwrap();
            let view = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap();
            let set = has_sets.then(|| {
                let binding = SetBinding::new(0, BindingKind::Buffer);
                let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[binding])).unwrap();
                let binds = [SetDescriptor::new(0, &view)];
                gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap()
            });
            let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
            let (_, scratch) = recording.split();
            scratch.view(&view).unwrap();
            set.iter().for_each(|set| {
                let _told = scratch.lasting_set(set).unwrap();
            });
            drop((set, view, buffer));
            device.faults().remove("test");
            gpu.create_buffer(&mesh(40 * MIB)).unwrap_err();
            (0..3).for_each(|_| gpu.trim());
            if ends_first {
                drop(recording);
                gpu.shutdown();
            } else {
                gpu.shutdown();
                drop(recording);
            }
            drop(gpu);
            device.check_clean().unwrap_or_else(|findings| panic!("{profile:?} {ends_first}: {findings}"));
        }
    }
}

fn compact_by(gpu: &Gpu<Device>, budget: CompactionBudget) -> usize {
    for calls in 1..2000 {
        let report = gpu.compact(budget).unwrap();
        end_frame(gpu);
        if report.is_done {
            return calls;
        }
    }
    panic!("{budget:?}: it does not end");
}

/// Compaction finishes with any budget, and does nothing without one.
#[test]
fn any_budget_is_enough() {
    let (most, all) = (u64::MAX, usize::MAX);
    for (bytes, moves, pieces) in [(0, 1, 1), (most, 1, 1), (0, all, 1), (1, 1, all), (most, all, all)] {
        let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA));
        let create = |at: usize| {
            let bytes = vec![at as u8; (at % 7 + 1) * 900];
            gpu.create_buffer_with(&mesh(bytes.len() as u64), &bytes).unwrap()
        };
        let kept: Vec<_> = (0..1000).map(create).collect::<Vec<_>>().into_iter().step_by(9).collect();
        (0..8).for_each(|_| end_frame(&gpu));
        for _ in 0..3 {
            let report = gpu.compact(CompactionBudget { bytes: 0, moves: 0, pieces: 0 }).unwrap();
            assert_eq!((report.moves, report.waiting, report.refused), (0, 0, 0));
        }
        compact_by(&gpu, CompactionBudget { bytes, moves, pieces });
        assert!(gpu.compaction_stats().moves > 50, "{:?}", gpu.compaction_stats());
        for (index, buffer) in kept.iter().enumerate() {
            let found = gpu.read_back(buffer, 0, buffer.size()).unwrap().wait(SOON).unwrap();
            assert!(found.iter().all(|found| *found == (index * 9) as u8));
        }
        drop(kept);
        end(gpu);
    }
}
