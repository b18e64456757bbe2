//! Descriptors of one recording.

use std::collections::HashSet;

use tenure_core::device::{Allowed, FieldValue};
use tenure_core::{
    Bind, Buffer, DescriptorKind, DescriptorOwner, DescriptorPart, DescriptorTableDesc, DeviceError, Error,
    Gpu, Queue, State, Strategy, Subresource, View,
};
use tenure_sim::{CallKind, DescriptorAt, Device, HazardKind, Lag};

use crate::{
    BOTH, GRAPHICS, HEAPS, binds, device, end, finish, gpu, hazards, heap, out, sampler, small, submit_read,
    view, written,
};

const RESOURCE: DescriptorKind = DescriptorKind::Resource;

/// Records a recording with a descriptor for each view, and reads through the first.
fn draw(gpu: &Gpu<Device>, views: &[View<Device>], out: &Buffer<Device>) -> u32 {
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    recording.use_resource(out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
    recording.barriers();
    let (commands, scratch) = recording.split();
    commands.set_descriptor_heaps().unwrap();
    let table = scratch.descriptors(&binds(views)).unwrap();
    assert_eq!((table.len() as usize, table.kind()), (views.len(), RESOURCE));
    let at = DescriptorAt::Heap { heap: table.heap(), index: table.first() };
    commands.raw().read_descriptor(at, State::NON_PIXEL_SHADER, out.raw(), out.offset(), 16);
    let first = table.first();
    recording.submit().unwrap();
    first
}

#[test]
fn a_table_shows_views_and_constants() {
    for profile in [HEAPS, BOTH] {
        let device = device(profile, Lag::Submissions(2));
        let gpu = gpu(&device, small());
        let out = out(&gpu);
        let shown = view(&gpu, "shown", 6);
        let smooth = gpu.create_sampler(&sampler(1).name("smooth")).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        recording.use_resource(&out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
        recording.barriers();
        let (commands, scratch) = recording.split();
        commands.set_descriptor_heaps().unwrap();
        let constants = scratch.constants(&[0x0404_0404_u32; 5]).unwrap();
        let table = scratch.descriptors(&[(&shown).into(), constants.into()]).unwrap();
        let samplers = scratch.descriptors(&[(&smooth).into()]).unwrap();
        assert_eq!(samplers.kind(), DescriptorKind::Sampler);
        drop((shown, smooth)); // the recording is open
        let at = DescriptorAt::Heap { heap: table.heap(), index: table.first() + 1 };
        commands.raw().read_descriptor(at, State::VERTEX_OR_CONSTANT, out.raw(), out.offset(), 16);
        recording.submit().unwrap();
        gpu.reclaim().unwrap();
        assert_eq!(written(&gpu, &out), 4);
        drop(out);
        end(gpu, &device);
    }
}

/// No index is allocated again before its submission is complete.
#[test]
fn no_index_is_in_two_submissions() {
    let device = device(HEAPS, Lag::Manual);
    let gpu = gpu(&device, small());
    let out = out(&gpu);
    let views: Vec<_> = (0..4).map(|byte| view(&gpu, "shown", byte)).collect();
    let mut taken: Vec<(u64, HashSet<u32>)> = Vec::new();
    for step in 1..60_u64 {
        let count = 1 + step as usize % 4;
        let first = draw(&gpu, &views[..count], &out);
        let indices: HashSet<_> = (first..first + count as u32).collect();
        for (serial, others) in &taken {
            assert!(others.is_disjoint(&indices), "{indices:?} are in submission {serial}: {others:?}");
        }
        assert!(indices.iter().all(|index| (16..80).contains(index)), "the dynamic part");
        taken.push((step, indices));
        if taken.len() > 6 {
            let (serial, _) = taken.remove(0);
            device.complete(GRAPHICS, serial);
            gpu.reclaim().unwrap();
        }
    }
    drop((views, out));
    end(gpu, &device);
}

#[test]
fn the_rest_of_a_chunk_serves_the_next_recording() {
    let device = device(HEAPS, Lag::Manual);
    let gpu = gpu(&device, small());
    let out = out(&gpu);
    let views: Vec<_> = (0..4).map(|byte| view(&gpu, "shown", byte)).collect();
    // Chunks have 16: four recordings each.
    for step in 0..4 {
        for part in 0..4 {
            assert_eq!(draw(&gpu, &views, &out), 16 + 16 * step + 4 * part);
            let used = heap(&gpu, RESOURCE, DescriptorPart::Dynamic).used;
            assert_eq!(used, u64::from(16 * (step + 1)));
        }
    }
    // All are in flight; the first chunk is reused once its recordings are complete.
    device.complete(GRAPHICS, 3);
    gpu.reclaim().unwrap();
    assert_eq!(heap(&gpu, RESOURCE, DescriptorPart::Dynamic).used, 64);
    device.complete(GRAPHICS, 4);
    assert_eq!(draw(&gpu, &views, &out), 16, "found without a reclaim of the program's");
    finish(&gpu);
    let stats = heap(&gpu, RESOURCE, DescriptorPart::Dynamic);
    assert_eq!((stats.used, stats.peak, stats.waiting), (0, 64, 0));
    drop((views, out));
    end(gpu, &device);
}

#[test]
fn many_at_once_are_a_row_of_their_own() {
    let device = device(BOTH, Lag::Manual);
    let gpu = gpu(&device, small());
    let out = out(&gpu);
    let views: Vec<_> = (0..40).map(|byte| view(&gpu, "shown", byte)).collect();
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    let scratch = recording.split().1;
    let few = scratch.descriptors(&binds(&views[..4])).unwrap();
    let many = scratch.descriptors(&binds(&views)).unwrap();
    let more = scratch.descriptors(&binds(&views[..4])).unwrap();
    // Of 64 descriptors, 16 are used by the chunk and 40 individually.
    assert_eq!((few.first(), many.first(), more.first()), (16, 32, 20));
    assert_eq!(heap(&gpu, RESOURCE, DescriptorPart::Dynamic).used, 56);
    // There is no room for a chunk, but for a few descriptors.
    let all = scratch.descriptors(&binds(&views[..8])).unwrap();
    assert_eq!(all.first(), 24);
    let last = scratch.descriptors(&binds(&views[..8])).unwrap();
    assert_eq!(last.first(), 72);
    recording.submit().unwrap();
    gpu.reclaim().unwrap();
    assert_eq!(heap(&gpu, RESOURCE, DescriptorPart::Dynamic).waiting, 4 + 40 + 4 + 8 + 8);
    device.complete(GRAPHICS, 1);
    gpu.reclaim().unwrap();
    assert_eq!(heap(&gpu, RESOURCE, DescriptorPart::Dynamic).used, 0);
    drop((views, out));
    end(gpu, &device);
}

#[test]
fn a_discarded_recording_releases_its_descriptors() {
    let device = device(HEAPS, Lag::Manual);
    let gpu = gpu(&device, small());
    let views: Vec<_> = (0..4).map(|byte| view(&gpu, "shown", byte)).collect();
    for _ in 0..100 {
        let mut recording = gpu.record(Queue::Graphics, "discarded").unwrap();
        for _ in 0..5 {
            recording.split().1.descriptors(&binds(&views)).unwrap();
        }
        drop(recording);
    }
    gpu.reclaim().unwrap();
    assert_eq!(heap(&gpu, RESOURCE, DescriptorPart::Dynamic).used, 0);
    drop(views);
    end(gpu, &device);
}

#[test]
fn recordings_own_their_descriptors() {
    let device = device(HEAPS, Lag::Manual);
    let gpu = gpu(&device, small());
    let out = out(&gpu);
    let shown = view(&gpu, "shown", 1);
    let mut shadows = gpu.record(Queue::Graphics, "shadows").unwrap();
    let first = shadows.split().1.descriptors(&[(&shown).into()]).unwrap().first();
    let owner = |index| gpu.descriptor_owner(RESOURCE, index);
    assert_eq!(owner(first), DescriptorOwner::Dynamic { recording: "shadows".into() });
    shadows.submit().unwrap();
    let mut opaque = gpu.record(Queue::Graphics, "opaque").unwrap();
    let second = opaque.split().1.descriptors(&[(&shown).into()]).unwrap().first();
    opaque.submit().unwrap();
    assert_eq!(second, first + 1);
    assert_eq!(owner(first), DescriptorOwner::Dynamic { recording: "shadows".into() }, "it is in flight");
    assert_eq!(owner(second), DescriptorOwner::Dynamic { recording: "opaque".into() });
    assert_eq!(owner(second + 1), DescriptorOwner::Free);
    device.complete(GRAPHICS, 1);
    gpu.reclaim().unwrap();
    assert_eq!(owner(first), DescriptorOwner::Freed { name: "shadows".into() });
    assert_eq!(owner(second), DescriptorOwner::Dynamic { recording: "opaque".into() });
    // A later use is detected, and names the descriptor.
    let table =
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&shown).into()]).name("table")).unwrap();
    submit_read(&gpu, &out, DescriptorAt::Heap { heap: table.heap(), index: first }, State::NON_PIXEL_SHADER);
    let found = hazards(&device);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, HazardKind::DeadDescriptor);
    assert!(found[0].to_string().contains("shadows"), "{}", found[0]);
    drop((shown, table, out));
    end(gpu, &device);
}

#[test]
fn unsuitable_descriptors_are_refused() {
    let (here, there) = (device(HEAPS, Lag::None), device(HEAPS, Lag::None));
    let (gpu, other) = (gpu(&here, small()), gpu(&there, small()));
    let good = view(&gpu, "good", 1);
    let smooth = gpu.create_sampler(&sampler(1).name("smooth")).unwrap();
    let theirs = view(&other, "theirs", 1);
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    let mut elsewhere = other.record(Queue::Graphics, "elsewhere").unwrap();
    let constants = elsewhere.split().1.constants(&[1_u32; 4]).unwrap();
    let scratch = recording.split().1;
    let large = scratch.constant_bytes(&[1; 70_000]).unwrap();
    let refused = |binds: &[Bind<'_, _>]| scratch.descriptors(binds).unwrap_err();
    let source = DeviceError::invalid_desc("descriptors", 0_u64, Allowed::AtLeast(1));
    assert_eq!(refused(&[]), Error::Device { name: "draw".into(), source });
    assert!(matches!(
        refused(&[(&smooth).into(), (&good).into()]),
        Error::Device { source: DeviceError::InvalidCall { value: Some(FieldValue::Number(1)), .. }, .. }
    ));
    assert_eq!(refused(&[(&theirs).into()]), Error::Foreign { name: "theirs".into() });
    assert_eq!(refused(&[constants.into()]), Error::Foreign { name: "constants".into() });
    let Error::Device { source: DeviceError::InvalidCall { rule, value, limit }, .. } =
        refused(&[large.into()])
    else {
        panic!()
    };
    let numbers = (value.and_then(FieldValue::number), limit.and_then(FieldValue::number));
    assert_eq!(
        (rule.text(), numbers),
        ("the bytes of constants in a view are not too many", (Some(70_144), Some(65_536)))
    );
    drop((recording, elsewhere));
    assert_eq!(heap(&gpu, RESOURCE, DescriptorPart::Dynamic).peak, 0, "nothing was taken");
    drop((good, smooth, theirs));
    end(gpu, &here);
    end(other, &there);
}

/// Constants larger than a page are shown to their end, rounded up where the API wants that.
#[test]
fn large_constants_are_shown() {
    // In a range of a shared buffer, and in a buffer that ends where they do.
    for strategy in [Strategy::Pooled, Strategy::Committed] {
        let device = device(HEAPS, Lag::None);
        let gpu = gpu(
            &device,
            small().staging(small().staging.constant_page(4 << 10)).pools(small().pools.strategy(strategy)),
        );
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        let scratch = recording.split().1;
        for size in [4095, 4097, 5000, 65_535, 65_536] {
            let constants = scratch.constant_bytes(&vec![1; size]).unwrap();
            assert!(scratch.descriptors(&[constants.into()]).is_ok(), "{size}");
        }
        recording.submit().unwrap();
        end(gpu, &device);
    }
}

/// Descriptors that recordings had are cleared once, and only those that they used.
#[test]
fn poison_covers_used_descriptors() {
    let device = device(HEAPS, Lag::None);
    for (poison_descriptors, names) in [(true, true), (false, false)] {
        let gpu = gpu(&device, small().descriptors(small().descriptors.poison(poison_descriptors)));
        let views: Vec<_> = (0..3).map(|byte| view(&gpu, "shown", byte)).collect();
        let before = device.calls().made(CallKind::ClearDescriptors);
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        let first = recording.split().1.descriptors(&binds(&views)).unwrap().first();
        recording.submit().unwrap();
        finish(&gpu);
        assert_eq!(device.calls().made(CallKind::ClearDescriptors), before + 1);
        let owner = gpu.descriptor_owner(RESOURCE, first + 2);
        assert_eq!(owner == DescriptorOwner::Freed { name: "draw".into() }, names);
        assert_eq!(gpu.descriptor_owner(RESOURCE, first + 3), DescriptorOwner::Free);
        drop(views);
        end(gpu, &device);
    }
}

/// A recording for a queue without shaders returns an error, and can continue.
#[test]
fn queues_for_copies_have_no_heaps() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, small());
    let mut recording = gpu.record(Queue::Copy, "streaming").unwrap();
    let refused = recording.set_descriptor_heaps().unwrap_err();
    let rule = "queues for copies alone run no shaders (queue)";
    let source = DeviceError::invalid_value(rule, u64::from(recording.queue().0));
    assert_eq!(refused, Error::Device { name: "streaming".into(), source });
    recording.submit().unwrap();
    end(gpu, &device);
}
