//! Misuse that is refused with an error.

use tenure_core::{BufferDesc, Error, Format, MemoryUse, Queue, State, Subresource, TextureDesc, Usage};
use tenure_sim::Profile;

use super::{MIB, device, fill, finish, gpu, storage, target};

#[test]
fn a_recording_cannot_use_a_resource_that_an_open_one_acquired() {
    let device = device(Profile::DISCRETE);
    let gpu = gpu(&device);
    let mut one = gpu.record(Queue::Graphics, "one").unwrap();
    let mut two = gpu.record(Queue::Graphics, "two").unwrap();
    let buffer = one.transient_buffer(&storage(MIB, "mine")).unwrap();
    let refused = two.use_resource(&buffer, Subresource::All, State::UNORDERED_ACCESS);
    match refused {
        Err(Error::NotAcquired { name, acquired_by, recording, .. }) => {
            assert_eq!((name.as_str(), recording.as_str()), ("mine", "two"));
            assert_eq!(format!("#{acquired_by}"), one.id().to_string());
        }
        other => panic!("{other:?}"),
    }
    fill(&mut one, &buffer, 1);
    one.submit().unwrap();
    fill(&mut two, &buffer, 2);
    two.submit().unwrap();
    drop(buffer);
    finish(&device, gpu);
}

#[test]
fn unsuitable_descriptions_are_refused_without_side_effects() {
    let device = device(Profile::DISCRETE);
    let gpu = gpu(&device);
    let list = gpu.record(Queue::Graphics, "list").unwrap();
    let mapped = storage(64, "mapped").memory(MemoryUse::Upload);
    assert!(matches!(list.transient_buffer(&mapped), Err(Error::Transient { .. })));
    assert!(matches!(list.transient_buffer(&storage(0, "empty")), Err(Error::Device { .. })));
    assert!(matches!(list.transient_buffer(&storage(4, "odd").alignment(3)), Err(Error::Device { .. })));
    assert!(list.transient_buffer(&storage(u64::MAX, "huge")).is_err());
    let wrong = TextureDesc::d2(0, 4, Format::Rgba8Unorm, Usage::SHADER_READ);
    assert!(matches!(list.transient_texture(&wrong), Err(Error::Device { .. })));
    drop(list);
    let stats = gpu.stats();
    assert_eq!((stats.transient.created, stats.heaps, stats.resources_created), (0, 0, 0));
    finish(&device, gpu);
}

#[test]
fn transient_resources_cannot_be_uploaded_to() {
    let device = device(Profile::DISCRETE);
    let gpu = gpu(&device);
    let list = gpu.record(Queue::Graphics, "list").unwrap();
    let buffer = list.transient_buffer(&BufferDesc::new(64, Usage::SHADER_READ).name("short")).unwrap();
    assert!(matches!(gpu.upload(&buffer, 0, &[1; 64]), Err(Error::Transient { .. })));
    drop((list, buffer));
    finish(&device, gpu);
}

#[test]
fn handles_may_outlive_their_recording_and_the_manager() {
    let device = device(Profile::DISCRETE);
    let gpu = gpu(&device);
    let mut list = gpu.record(Queue::Graphics, "list").unwrap();
    let texture = list.transient_texture(&target(64, "late")).unwrap();
    super::clear(&mut list, &texture, 1);
    list.submit().unwrap();
    let report = gpu.shutdown();
    drop(gpu);
    assert_eq!(report.leaks.iter().map(|leak| leak.name.as_str()).collect::<Vec<_>>(), ["late"]);
    drop(texture);
    if let Err(findings) = device.check_clean() {
        panic!("{findings}");
    }
}
