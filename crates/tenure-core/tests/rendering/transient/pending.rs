//! Uses that were noted without a barrier being recorded, and uses that were refused, while another resource
//! acquires the same bytes next.

use tenure_core::{BufferDesc, Config, Queue, State, Subresource, TransientConfig, Usage};
use tenure_sim::{CallKind, Fault, FaultKind};

use super::{MIB, PROFILES, device, gpu_with, target};

fn config() -> Config {
    Config::from(TransientConfig::default().heap(MIB))
}

/// A draw is skipped after its use was noted, and another resource acquires the bytes next.
#[test]
fn a_noted_use_comes_before_the_next_owner() {
    for profile in PROFILES {
        for noted in [State::PIXEL_SHADER, State::COPY_SRC] {
            let device = device(*profile);
            let gpu = gpu_with(&device, config());
            let mut recording = gpu.record(Queue::Graphics, "frame").unwrap();
            let first = recording.transient_texture(&target(64, "first")).unwrap();
            recording.use_resource(&first, Subresource::All, State::RENDER_TARGET).unwrap();
            recording.raw().use_texture(first.raw(), Subresource::All, State::RENDER_TARGET);
            recording.use_resource(&first, Subresource::All, noted).unwrap();
            drop(first);
            let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
            let second = recording.transient_buffer(&BufferDesc::new(16_000, usage).name("second")).unwrap();
            recording.use_resource(&second, Subresource::All, State::UNORDERED_ACCESS).unwrap();
            recording.raw().use_buffer(second.raw(), second.offset(), second.size(), State::UNORDERED_ACCESS);
            drop(second);
            recording.submit().unwrap();
            assert!(gpu.shutdown().is_clean());
            drop(gpu);
            device.check_clean().unwrap_or_else(|found| panic!("{profile:?}, {noted:?}: {found}"));
        }
    }
}

/// Memory goes from one resource to another and back before any command uses it.
#[test]
fn memory_taken_back_and_forth_has_one_last_owner() {
    for profile in PROFILES {
        let device = device(*profile);
        let gpu = gpu_with(&device, config());
        let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
        let descs = ["one", "other", "third"].map(|name| BufferDesc::new(60_000, usage).name(name));
        let [one, mut other, mut third] = descs;
        (other.size, third.size) = (50_000, 40_000);
        for _ in 0..3 {
            let mut recording = gpu.record(Queue::Graphics, "frame").unwrap();
            for desc in [&one, &other, &one, &third, &other] {
                let buffer = recording.transient_buffer(desc).unwrap();
                recording.use_resource(&buffer, Subresource::All, State::UNORDERED_ACCESS).unwrap();
            }
            recording.submit().unwrap();
        }
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.check_clean().unwrap_or_else(|found| panic!("{profile:?}: {found}"));
    }
}

/// A use that fails, because of its queue or a shortage, leaves the bytes with the previous owner.
#[test]
fn a_refused_use_does_not_take_the_bytes() {
    for profile in PROFILES {
        for short in [false, true] {
            let device = device(*profile);
            let gpu = gpu_with(&device, config());
            let mut recording = gpu.record(Queue::Copy, "frame").unwrap();
            let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
            let list = |name| BufferDesc::new(60_000, usage).name(name);
            let first = recording.transient_buffer(&list("first")).unwrap();
            recording.use_resource(&first, Subresource::All, State::COPY_DST).unwrap();
            recording.raw().fill_buffer(first.raw(), first.offset(), first.size(), 1);
            drop(first);
            let desc = match short {
                true => list("refused"),
                false => list("refused").usage(usage | Usage::ACCELERATION_STRUCTURE),
            };
            if let Ok(refused) = recording.transient_buffer(&desc) {
                let answer = if short {
                    let fault = Fault::nth(1, FaultKind::OutOfHostMemory).onwards();
                    device.faults().inject(fault.of(CallKind::CreateCommitted));
                    recording.read_back(&refused, 0, 100).map(drop)
                } else {
                    recording.use_resource(&refused, Subresource::All, State::ACCELERATION_STRUCTURE)
                };
                // Without a copy queue, and with a free page, nothing is refused.
                let _refused = answer;
                device.faults().clear();
            }
            let third = recording.transient_buffer(&list("third")).unwrap();
            recording.use_resource(&third, Subresource::All, State::COPY_DST).unwrap();
            recording.raw().fill_buffer(third.raw(), third.offset(), third.size(), 3);
            drop(third);
            recording.submit().unwrap();
            assert!(gpu.shutdown().is_clean());
            drop(gpu);
            device
                .check_clean()
                .unwrap_or_else(|found| panic!("{profile:?}, short of memory {short}: {found}"));
        }
    }
}
