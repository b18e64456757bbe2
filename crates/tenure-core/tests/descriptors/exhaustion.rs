//! No descriptors are left: the error names their kind, and their holders.

use tenure_core::{Bind, DescriptorKind, DescriptorPart, DescriptorTableDesc, Error, NoDescriptors, Queue};
use tenure_sim::Lag;

use crate::{GRAPHICS, HEAPS, binds, device, end, gpu, sampler, small, view};

fn exhausted<T>(answer: Result<T, Error>) -> NoDescriptors {
    match answer.err() {
        Some(Error::NoDescriptors(error)) => *error,
        other => panic!("{other:?}"),
    }
}

fn users(error: &NoDescriptors) -> Vec<(&str, u32)> {
    error.users.iter().map(|user| (user.name.as_str(), user.count)).collect()
}

#[test]
fn errors_of_a_full_static_part_name_the_tables() {
    let device = device(HEAPS, Lag::Manual);
    let gpu = gpu(&device, small());
    let views: Vec<_> = (0..17).map(|byte| view(&gpu, "shown", byte)).collect();
    let table = |count: usize, name: &'static str| {
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds(&views[..count])).name(name))
    };
    // More than the total, when all are free.
    let error = exhausted(table(17, "everything"));
    assert_eq!((error.requested, error.capacity, error.free, error.largest_free), (17, 16, 16, 16));
    assert_eq!(users(&error), []);
    assert_eq!(
        error.to_string(),
        "no descriptors for everything: 17 consecutive ones of kind Resource requested from the static part (total 16): \
         raise the setting descriptors.static_resources"
    );
    let rocks = [table(3, "rock").unwrap(), table(3, "rock").unwrap()];
    let sky = table(1, "sky").unwrap();
    let recording = gpu.record(Queue::Graphics, "draw").unwrap();
    let grass = table(4, "grass").unwrap();
    drop(sky);
    let error = exhausted(table(6, "water"));
    assert_eq!((error.kind, error.part), (DescriptorKind::Resource, DescriptorPart::Static));
    assert_eq!((error.requested, error.capacity, error.free, error.largest_free), (6, 16, 5, 5));
    assert_eq!((error.waiting, error.name.as_str()), (1, "water"));
    assert_eq!(users(&error), [("rock", 6), ("grass", 4), ("sky", 1)]);
    assert_eq!(
        error.to_string(),
        "no descriptors for water: 6 consecutive ones of kind Resource requested from the static part; of 16 in total, 5 are free, up \
         to 5 in a row, and 1 wait for the GPU; most are used by rock (6), grass (4), sky (1); drop some, \
         or raise the setting descriptors.static_resources"
    );
    // Descriptors that the GPU is done with are reclaimed without a poll.
    drop(grass);
    recording.submit().unwrap();
    assert_eq!(exhausted(table(10, "water")).waiting, 5);
    device.complete(GRAPHICS, 1);
    let water = table(10, "water").unwrap();
    assert_eq!(water.first(), 6);
    drop((rocks, water, views));
    end(gpu, &device);
}

#[test]
fn samplers_have_parts_of_their_own() {
    let device = device(HEAPS, Lag::Manual);
    let gpu = gpu(&device, small());
    let samplers: Vec<_> =
        (0..9).map(|number| gpu.create_sampler(&sampler(number).name("sampler")).unwrap()).collect();
    let binds: Vec<_> = samplers.iter().map(Bind::from).collect();
    let error = exhausted(gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("all")));
    assert_eq!(
        (error.kind, error.part, error.capacity),
        (DescriptorKind::Sampler, DescriptorPart::Static, 8)
    );
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    let error = exhausted(recording.split().1.descriptors(&binds));
    assert_eq!(
        (error.kind, error.part, error.capacity),
        (DescriptorKind::Sampler, DescriptorPart::Dynamic, 8)
    );
    assert_eq!(error.name.as_str(), "draw");
    drop((recording, samplers));
    end(gpu, &device);
}

#[test]
fn errors_of_a_full_dynamic_part_name_the_recordings() {
    let device = device(HEAPS, Lag::Manual);
    let gpu = gpu(&device, small());
    let views: Vec<_> = (0..16).map(|byte| view(&gpu, "shown", byte)).collect();
    let take = |name: &'static str, count: usize| {
        let mut recording = gpu.record(Queue::Graphics, name).unwrap();
        recording.split().1.descriptors(&binds(&views[..count])).map(|_| ())?;
        Ok(recording)
    };
    take("shadows", 16).unwrap().submit().unwrap();
    take("shadows", 14).unwrap().submit().unwrap();
    let opaque = take("opaque", 16).unwrap();
    let error = exhausted(take("water", 16).and_then(|_open| take("fog", 16)));
    assert_eq!((error.kind, error.part), (DescriptorKind::Resource, DescriptorPart::Dynamic));
    assert_eq!((error.requested, error.capacity, error.name.as_str()), (16, 64, "fog"));
    assert_eq!(users(&error)[..2], [("shadows", 30), ("opaque", 16)]);
    assert_eq!((error.free, error.waiting), (18 - 16, 30), "water was still open");
    // A failure leaves nothing half done: as soon as descriptors are free, an allocation succeeds.
    device.complete(GRAPHICS, 1);
    let fog = take("fog", 16).unwrap();
    drop((opaque, fog, views));
    end(gpu, &device);
}

/// Without frames nothing else reclaims dropped tables, and the GPU never finishes the newest submissions.
#[test]
fn dropped_tables_do_not_fill_the_static_part_without_frames() {
    let device = device(HEAPS, Lag::Submissions(2));
    let gpu = gpu(&device, small());
    let shown = view(&gpu, "shown", 1);
    for round in 0..100 {
        let table =
            gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds(std::slice::from_ref(&shown))));
        let recording = gpu.record(Queue::Graphics, "draw").unwrap();
        drop(table.unwrap_or_else(|error| panic!("round {round}: {error}")));
        recording.submit().unwrap();
    }
    drop(shown);
    end(gpu, &device);
}
