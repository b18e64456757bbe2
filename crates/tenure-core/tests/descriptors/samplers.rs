//! Samplers: equal ones share a descriptor.

use tenure_core::device::{DescriptorLimits, prelude::*};
use tenure_core::{
    AddressMode, BorderColor, Compare, Config, DescriptorKind, DescriptorPart, DeviceError, Error, Filter,
    SamplerDesc, SamplerInfo,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Lag};

use crate::{BOTH, GRAPHICS, HEAPS, device, end, finish, gpu, sampler};

fn written(device: &Device) -> u64 {
    device.calls().made(CallKind::WriteDescriptor)
}

#[test]
fn equal_ones_share_a_descriptor() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let one = gpu.create_sampler(&SamplerDesc::default().name("smooth")).unwrap();
    let same = gpu.create_sampler(&SamplerDesc::default().name("another name")).unwrap();
    let negative = SamplerInfo::default().mip_bias(-0.0).min_lod(-0.0);
    let zero = gpu.create_sampler(&SamplerDesc::new(negative).name("negative zero")).unwrap();
    let copy = one.clone();
    for sampler in [&same, &zero, &copy] {
        assert!(std::ptr::eq(sampler.heap(), one.heap()));
        assert_eq!((sampler.index(), sampler.name().as_str()), (one.index(), "smooth"));
    }
    assert_eq!(written(&device), 1);
    let stats = gpu.stats().descriptors;
    assert_eq!((stats.samplers, stats.samplers_shared), (1, 2));
    drop((one, same, zero));
    assert_eq!(gpu.stats().descriptors.samplers, 1, "the copy lives");
    drop(copy);
    assert_eq!(gpu.stats().descriptors.samplers, 0);
    end(gpu, &device);
}

#[test]
fn every_field_makes_a_difference() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let base = SamplerInfo::default();
    let descs = [
        base,
        base.mag(Filter::Nearest),
        base.min(Filter::Nearest),
        base.mip(Filter::Nearest),
        base.address([AddressMode::Clamp, AddressMode::Repeat, AddressMode::Repeat]),
        base.address([AddressMode::Repeat, AddressMode::Clamp, AddressMode::Repeat]),
        base.address([AddressMode::Repeat, AddressMode::Repeat, AddressMode::Clamp]),
        base.mip_bias(0.5),
        base.anisotropy(4),
        base.compare(Some(Compare::Less)),
        base.compare(Some(Compare::Greater)),
        base.min_lod(1.0),
        base.max_lod(1.0),
        base.border(BorderColor::OpaqueWhite),
    ];
    let samplers: Vec<_> = descs
        .iter()
        .map(|desc| gpu.create_sampler(&SamplerDesc::new(*desc).name("different")).unwrap())
        .collect();
    let mut indices: Vec<_> = samplers.iter().map(|sampler| sampler.index()).collect();
    indices.sort_unstable();
    indices.dedup();
    assert_eq!(indices.len(), descs.len());
    assert_eq!(gpu.stats().descriptors.samplers, descs.len() as u64);
    drop(samplers);
    end(gpu, &device);
}

#[test]
fn fields_out_of_range_are_refused() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let base = SamplerInfo::default();
    let most = device.properties().descriptors.anisotropy;
    let cases = [
        ("mip_bias", base.mip_bias(16.0)),
        ("mip_bias", base.mip_bias(-16.5)),
        ("mip_bias", base.mip_bias(f32::NAN)),
        ("anisotropy", base.anisotropy(0)),
        ("anisotropy", base.anisotropy(most + 1)),
        ("min_lod", base.min_lod(-1.0)),
        ("min_lod", base.min_lod(f32::INFINITY)),
        ("max_lod", base.min_lod(2.0).max_lod(1.0)),
        ("max_lod", base.max_lod(f32::NAN)),
    ];
    for (wrong, desc) in cases {
        match gpu.create_sampler(&SamplerDesc::new(desc).name("wrong")).err() {
            Some(Error::Device { name, source: DeviceError::InvalidDesc { field, .. } }) => {
                assert_eq!((name.as_str(), field), ("wrong", wrong));
            }
            other => panic!("{desc:?}: {other:?}"),
        }
    }
    assert_eq!(written(&device), 0);
    end(gpu, &device);
}

/// A dropped sampler that waits for the GPU is not reused: an equal one gets its own slot.
#[test]
fn a_dropped_one_stays_until_the_gpu_is_done() {
    let device = device(HEAPS, Lag::Manual);
    let gpu = gpu(&device, Config::default());
    let first = gpu.create_sampler(&sampler(1).name("first")).unwrap();
    let recording = gpu.record(tenure_core::Queue::Graphics, "draw").unwrap();
    let index = first.index();
    drop(first);
    let second = gpu.create_sampler(&sampler(1).name("second")).unwrap();
    assert_ne!(second.index(), index);
    assert_eq!(second.name().as_str(), "second");
    recording.submit().unwrap();
    gpu.reclaim().unwrap();
    assert_eq!(device.calls().made(CallKind::ClearDescriptors), 0);
    device.complete(GRAPHICS, 1);
    gpu.reclaim().unwrap();
    assert_eq!(device.calls().made(CallKind::ClearDescriptors), 1);
    // New equal samplers share the second, although the first was reclaimed later.
    assert_eq!(gpu.create_sampler(&sampler(1).name("third")).unwrap().index(), second.index());
    drop(second);
    end(gpu, &device);
}

#[test]
fn errors_of_the_limit_name_the_holders_of_samplers() {
    let limits = device(BOTH, Lag::None).properties().descriptors;
    let limits = DescriptorLimits { samplers: 4, ..limits };
    let device = Device::with_config(DeviceConfig::new(BOTH).descriptors(limits).lag(Lag::Manual));
    let gpu = gpu(&device, Config::default());
    let mut alive: Vec<_> =
        (0..3).map(|number| gpu.create_sampler(&sampler(number).name("grass")).unwrap()).collect();
    alive.push(gpu.create_sampler(&sampler(3).name("sky")).unwrap());
    assert!(gpu.create_sampler(&sampler(2).name("an equal one")).is_ok());
    let recording = gpu.record(tenure_core::Queue::Graphics, "draw").unwrap();
    alive.remove(0);
    let Some(Error::NoDescriptors(error)) = gpu.create_sampler(&sampler(4).name("rock")).err() else {
        panic!()
    };
    assert_eq!((error.kind, error.part), (DescriptorKind::Sampler, DescriptorPart::Samplers));
    assert_eq!((error.name.as_str(), error.requested, error.capacity), ("rock", 1, 4));
    assert_eq!((error.free, error.waiting), (0, 1));
    let users: Vec<_> = error.users.iter().map(|user| (user.name.as_str(), user.count)).collect();
    assert_eq!(users, [("grass", 2), ("sky", 1)]);
    assert_eq!(
        error.to_string(),
        "no descriptors for rock: 1 consecutive ones of kind Sampler requested from the device's samplers; \
         of 4 in total, 0 are free, up to 0 in a row, and 1 wait for the GPU; most are used by grass (2), sky (1); drop some, or \
         share them"
    );
    // Once the GPU is done with the dropped one, it is reclaimed without a poll.
    drop(recording);
    assert!(gpu.create_sampler(&sampler(4).name("rock")).is_ok());
    drop(alive);
    finish(&gpu);
    end(gpu, &device);
}
