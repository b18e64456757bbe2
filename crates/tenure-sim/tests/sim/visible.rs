//! GPU writes that the CPU reads: a barrier makes it visible on Vulkan.

use tenure_core::device::{Api, CommandList as _, Device as _, Mapping as _, *};
use tenure_sim::{Device, DeviceConfig, HazardKind, Lag, List, Profile, Resource};

use crate::common::*;

/// A mapped buffer for copies and shaders, and one to copy from, filled.
fn pair(device: &Device) -> (Resource, Resource) {
    let usage = Usage::COPY_DST | Usage::UNORDERED_ACCESS;
    let back = device.create_committed(&buffer(64, usage), upload_type(device, true)).unwrap();
    device.set_name(Permit::checked(), ObjectRef::Resource(&back), "results");
    let from = upload(device, "from", 64);
    device.map(&from).unwrap().write(0, &[7; 64]).unwrap();
    device.map(&back).unwrap().write(0, &[0; 64]).unwrap();
    (from, back)
}

/// Commands with a buffer to copy from and one that the CPU reads.
type Recorder<'a> = &'a dyn Fn(&mut List, &Resource, &Resource);

/// The hazards of a read of the first 32 bytes after each of these submissions.
fn found(profile: Profile, submissions: &[Recorder<'_>]) -> Vec<usize> {
    let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
    let (from, back) = pair(&device);
    let mut counts = Vec::new();
    for (serial, commands) in (1..).zip(submissions) {
        submit(&device, GRAPHICS, serial, &[], |list| commands(list, &from, &back));
        finish(&device, GRAPHICS, serial);
        device.map(&back).unwrap().read(0, &mut [0; 32]).unwrap();
        let hazards = device.take_hazards();
        if !hazards.is_empty() {
            assert_one(&hazards, HazardKind::NotVisibleToCpu, &["results"]);
        }
        counts.push(hazards.len());
    }
    counts
}

fn copy(list: &mut List, from: &Resource, back: &Resource) {
    list.copy_buffer(from, 0, back, 0, 64);
}

fn vulkan() -> impl Iterator<Item = Profile> {
    let is_vulkan = |profile: &Profile| Device::new(*profile).properties().api == Api::Vulkan;
    Profile::ALL.iter().copied().filter(is_vulkan)
}

#[test]
fn copies_are_made_visible() {
    for profile in vulkan() {
        let shown = |list: &mut List, from: &Resource, back: &Resource| {
            copy(list, from, back);
            list.make_visible_to_cpu(State::COPY_DST | State::UNORDERED_ACCESS);
        };
        assert_eq!(found(profile, &[&copy]), [1], "{}", profile.name());
        assert_eq!(found(profile, &[&shown]), [0], "{}", profile.name());
        // A barrier recorded later, for earlier work of the queue.
        let later = |list: &mut List, _: &Resource, _: &Resource| list.make_visible_to_cpu(State::COPY_DST);
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
        let (from, back) = pair(&device);
        submit(&device, GRAPHICS, 1, &[], |list| copy(list, &from, &back));
        submit(&device, GRAPHICS, 2, &[], |list| later(list, &from, &back));
        finish(&device, GRAPHICS, 2);
        device.map(&back).unwrap().read(0, &mut [0; 64]).unwrap();
        assert_clean(&device.take_hazards());
    }
}

#[test]
fn barriers_before_the_write_or_for_other_states_do_not_count() {
    for profile in vulkan() {
        let before = |list: &mut List, from: &Resource, back: &Resource| {
            list.make_visible_to_cpu(State::COPY_DST);
            copy(list, from, back);
        };
        let other = |list: &mut List, from: &Resource, back: &Resource| {
            copy(list, from, back);
            list.make_visible_to_cpu(State::UNORDERED_ACCESS);
        };
        let again = |list: &mut List, from: &Resource, back: &Resource| {
            copy(list, from, back);
            list.make_visible_to_cpu(State::COPY_DST);
            transition(list, back, State::COPY_DST, State::UNORDERED_ACCESS);
            list.use_buffer(back, 8, 8, State::UNORDERED_ACCESS);
        };
        for wrong in [&before as Recorder<'_>, &other, &again] {
            assert_eq!(found(profile, &[wrong]), [1], "{}", profile.name());
        }
        let elsewhere = |list: &mut List, _: &Resource, back: &Resource| {
            list.use_buffer(back, 40, 8, State::UNORDERED_ACCESS);
        };
        assert_eq!(found(profile, &[&elsewhere]), [0], "other bytes");
    }
}

/// The CPU may read its own later writes, and a mistake is reported once.
#[test]
fn the_cpu_sees_its_own_writes() {
    for profile in vulkan() {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None));
        let (from, back) = pair(&device);
        submit(&device, GRAPHICS, 1, &[], |list| copy(list, &from, &back));
        finish(&device, GRAPHICS, 1);
        let mapping = device.map(&back).unwrap();
        mapping.write(0, &[1; 16]).unwrap();
        mapping.read(0, &mut [0; 16]).unwrap();
        assert_clean(&device.take_hazards());
        mapping.read(0, &mut [0; 20]).unwrap();
        assert_one(&device.take_hazards(), HazardKind::NotVisibleToCpu, &["results"]);
        mapping.read(0, &mut [0; 20]).unwrap();
        assert_clean(&device.take_hazards());
    }
}

#[test]
fn direct3d_12_needs_no_host_barriers() {
    for &profile in Profile::ALL {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None).journal(true));
        if device.properties().has_host_barriers() {
            continue;
        }
        let back = device.create_committed(&buffer(64, Usage::COPY_DST), upload_type(&device, true)).unwrap();
        let from = upload(&device, "from", 64);
        device.map(&from).unwrap().write(0, &[7; 64]).unwrap();
        submit(&device, GRAPHICS, 1, &[], |list| {
            copy(list, &from, &back);
            list.make_visible_to_cpu(State::COPY_DST);
        });
        finish(&device, GRAPHICS, 1);
        device.map(&back).unwrap().read(0, &mut [0; 64]).unwrap();
        assert_clean(&device.take_hazards());
        let recorded = device.take_journal();
        assert!(!recorded.iter().any(|step| matches!(step, tenure_sim::Step::MakeVisible { .. })));
    }
}
