//! Semaphores of the program.

use std::ffi::c_void;
use std::ptr;

use tenure_vulkan::ash::vk;

use crate::{
    NO_TEXT, done, last_error, tn_device_from_vk, tn_gpu_create, tn_gpu_shutdown, tn_recording_begin,
    tn_recording_submit, tn_release, with_engine,
};

#[repr(C)]
struct Point {
    semaphore: u64,
    value: u64,
    stages: u64,
    is_binary: u32,
    reserved: u32,
}

unsafe extern "C" {
    fn tn_recording_add_semaphores_vk(
        recording: *mut c_void,
        waits: *const Point,
        wait_count: usize,
        signals: *const Point,
        signal_count: usize,
    ) -> i32;
}

/// A submission waits for a value, and signals the next one.
#[test]
fn a_recording_waits_for_the_programs_semaphore_and_signals_it() {
    with_engine(|engine, info| {
        let queues = [engine.queue(0)];
        let desc = engine.desc(info, &queues);
        let [mut device, mut gpu, mut recording] = [ptr::null_mut(); 3];
        // SAFETY: the structures are those of the header, and pointers are valid for each call. The semaphore outlives the
        // submission.
        unsafe {
            done(tn_device_from_vk(&raw const desc, &raw mut device));
            done(tn_gpu_create(device, ptr::null(), &raw mut gpu));
            let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
            let semaphore = engine.device.create_semaphore(&info, None).expect("a semaphore");
            let value = || engine.device.get_semaphore_counter_value(semaphore).expect("a value");
            let at = |value| Point {
                semaphore: vk::Handle::as_raw(semaphore),
                value,
                stages: 0,
                is_binary: 0,
                reserved: 0,
            };
            done(tn_recording_begin(gpu, 0, NO_TEXT, &raw mut recording));
            let (waits, signals) = ([at(1)], [at(2)]);
            done(tn_recording_add_semaphores_vk(recording, waits.as_ptr(), 1, signals.as_ptr(), 1));
            let none = [Point { semaphore: 0, ..at(3) }];
            let refused = tn_recording_add_semaphores_vk(recording, none.as_ptr(), 1, ptr::null(), 0);
            assert_eq!(refused, -100, "{}", last_error());
            done(tn_recording_submit(recording, ptr::null_mut()));
            assert_eq!(value(), 0);
            let (semaphores, values) = ([semaphore], [2]);
            let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
            let early = engine.device.wait_semaphores(&wait, 100_000_000);
            assert_eq!(early, Err(vk::Result::TIMEOUT), "the submission waits for the program");
            let signal = vk::SemaphoreSignalInfo::default().semaphore(semaphore).value(1);
            engine.device.signal_semaphore(&signal).expect("a signal");
            engine.device.wait_semaphores(&wait, 10_000_000_000).expect("the signal of the submission");
            done(tn_gpu_shutdown(gpu, ptr::null_mut(), ptr::null_mut()));
            done(tn_release(gpu));
            engine.device.destroy_semaphore(semaphore, None);
            done(tn_release(device));
        }
    });
}
