//! The report of movable resources, compared with their handles.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::{
    AddressUse, Buffer, BufferDesc, Format, Gpu, MovableReport, Queue, Report, State, Subresource,
    TextureDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, Profile};

use crate::buffers::{compact, end, end_frame, with};

const KIB: u64 = 1 << 10;

fn make(gpu: &Gpu<Device>, index: usize) -> Buffer<Device> {
    let desc = BufferDesc::new(100 * KIB, Usage::VERTEX).movable();
    gpu.create_buffer_with(&desc.name(format!("mesh {index}")), &vec![index as u8; 100 << 10]).unwrap()
}

#[track_caller]
fn of(report: &Report, name: &str) -> Option<MovableReport> {
    report.objects.iter().find(|object| object.name == name).unwrap().movable
}

/// Every handle and the report agree, before and after moves and drops, in pools and in slower memory of its own.
#[test]
fn handles_and_the_report_agree() {
    let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA));
    gpu.device().set_budget(0, 60 << 20).unwrap();
    end_frame(&gpu);
    let mut all: Vec<_> = (0..300).map(|index| (index, make(&gpu, index))).collect();
    // Too large for a pool, and for the free part of the card's memory.
    let large = BufferDesc::new(48 << 20, Usage::SHADER_READ).movable().name("large");
    let large = gpu.create_buffer(&large).unwrap();
    let fixed = gpu.create_buffer(&BufferDesc::new(64, Usage::VERTEX).name("fixed")).unwrap();
    gpu.flush_uploads().unwrap();
    all.retain(|(index, _)| index % 7 == 0);
    for (index, mesh) in &all {
        if index % 2 == 0 {
            let _ = mesh.offset();
        }
    }
    let agree = |pinned_large: bool| {
        let report = gpu.report();
        for (index, mesh) in &all {
            let found = of(&report, &format!("mesh {index}")).unwrap();
            assert_eq!((found.is_pinned, found.users, found.moves), (mesh.is_pinned(), 0, mesh.moves()));
        }
        assert_eq!(of(&report, "fixed"), None);
        assert_eq!(of(&report, "large").map(|found| found.is_pinned), Some(pinned_large));
        assert_eq!(report.objects.iter().filter(|it| it.movable.is_some()).count(), all.len() + 1);
    };
    agree(false);
    let ids = || {
        gpu.report().objects.into_iter().map(|object| (object.name, object.id)).collect::<BTreeMap<_, _>>()
    };
    let before = ids();
    assert!(compact(&gpu).moves > 0);
    assert!(all.iter().any(|(_, mesh)| mesh.moves() > 0 && !mesh.is_pinned()));
    agree(false);
    assert_eq!(ids(), before, "what moves is the same object");
    assert_eq!(before.values().collect::<BTreeSet<_>>().len(), all.len() + 2);
    let _ = large.raw();
    // The code that moves resources back examines it, and leaves it in place.
    gpu.device().set_budget(0, 512 << 20).unwrap();
    (0..10).for_each(|_| end_frame(&gpu));
    compact(&gpu);
    agree(true);
    drop((all, large, fixed));
    end(gpu);
}

/// A moved resource is found at its new address, and at its old one as one that has moved away.
#[test]
fn moved_resources_are_found_at_both_addresses() {
    let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA));
    let mut all: Vec<_> = (0..300).map(|index| (index, make(&gpu, index))).collect();
    gpu.flush_uploads().unwrap();
    all.retain(|(index, _)| index % 7 == 0);
    let addresses = || -> BTreeMap<_, _> {
        gpu.report().objects.into_iter().map(|object| (object.name, object.address.unwrap())).collect()
    };
    let before = addresses();
    assert!(compact(&gpu).moves > 0);
    let after = addresses();
    let mut moved = 0;
    for (_, mesh) in &all {
        let name = mesh.name().as_str();
        let owners = |address| {
            let owners = gpu.whose(address).owners.into_iter().filter(|owner| owner.name == name);
            owners.map(|owner| owner.state).collect::<Vec<_>>()
        };
        assert_eq!(owners(after[name])[0], AddressUse::Live);
        if mesh.moves() > 0 {
            moved += 1;
            assert!(matches!(owners(before[name])[..], [AddressUse::Moved { .. }]));
        } else {
            assert_eq!(before[name], after[name]);
        }
    }
    assert!(moved > 0);
    drop(all);
    end(gpu);
}

/// Each open recording counts as one user until it is submitted, however often it names the resource.
#[test]
fn users_are_open_recordings_and_uploads() {
    let gpu = with(DeviceConfig::new(Profile::DISCRETE));
    let mesh = make(&gpu, 0);
    let users = |name: &str| of(&gpu.report(), name).unwrap().users;
    assert_eq!(users("mesh 0"), 1, "its upload");
    gpu.flush_uploads().unwrap();
    assert_eq!(users("mesh 0"), 0);
    let texture = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).movable().name("grass");
    let texture = gpu.create_texture(&texture).unwrap();
    let mut one = gpu.record(Queue::Graphics, "one").unwrap();
    let mut two = gpu.record(Queue::Graphics, "two").unwrap();
    for _ in 0..3 {
        one.use_resource(&mesh, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
    }
    two.use_resource(&mesh, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
    two.use_resource(&texture, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    assert_eq!((users("mesh 0"), users("grass")), (2, 1));
    one.submit().unwrap();
    assert_eq!((users("mesh 0"), users("grass")), (1, 1));
    drop(two);
    assert_eq!((users("mesh 0"), users("grass")), (0, 0));
    drop((mesh, texture));
    end(gpu);
}
