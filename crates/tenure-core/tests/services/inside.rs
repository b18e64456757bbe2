//! Calls inside the program's own submission, while another thread submits uploads: none waits for that thread,
//! which waits for the queue.

use std::sync::Barrier;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tenure_core::{Buffer, BufferDesc, Config, Error, Gpu, Queue, SyncPoint, Usage};
use tenure_sim::{Device, Lag, Profile};

use super::{device, gpu};

/// Longer than any of the calls takes.
const FOREVER: Duration = Duration::from_secs(60);
/// The time in which the other thread reaches the queue.
const MOMENT: Duration = Duration::from_millis(50);

type Call = fn(&Gpu<Device>, &Buffer<Device>);

fn lose(gpu: &Gpu<Device>) {
    gpu.device().faults().remove("pulled out");
}

const CALLS: [(&str, Call); 8] = [
    ("upload statistics", |gpu, _| assert!(gpu.upload_stats().pending_bytes < 1 << 20)),
    ("statistics", |gpu, _| drop(gpu.stats())),
    ("trim", |gpu, _| gpu.trim()),
    ("an upload", |gpu, buffer| drop(gpu.upload(buffer, 0, &[2; 8]))),
    ("a reclaim", |gpu, _| drop(gpu.reclaim())),
    ("a shutdown", |gpu, _| drop(gpu.clone().shutdown())),
    ("a reclaim after a loss", |gpu, buffer| {
        lose(gpu);
        drop(gpu.upload(buffer, 0, &[2; 8]));
        drop(gpu.reclaim());
    }),
    ("a shutdown after a loss", |gpu, _| {
        lose(gpu);
        drop(gpu.clone().shutdown());
    }),
];

#[test]
fn no_call_waits_for_a_thread_that_waits_for_the_queue() {
    for (name, call) in CALLS {
        let (over, is_over) = mpsc::channel();
        // A scope would wait for a call that hangs.
        thread::spawn(move || {
            let device = device(Profile::VULKAN_LAVAPIPE, Lag::None);
            let gpu = gpu(&device, Config::default());
            let desc = BufferDesc::new(1 << 20, Usage::SHADER_READ | Usage::COPY_DST).name("buffer");
            let buffer = gpu.create_buffer(&desc).unwrap();
            let inside = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    inside.wait();
                    // Refused after a loss.
                    let _answer = gpu.upload(&buffer, 0, &[1; 64]);
                    let _answer = gpu.flush_uploads();
                });
                let _answer = gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |_| {
                    inside.wait();
                    thread::sleep(MOMENT);
                    call(&gpu, &buffer);
                    Ok::<(), Error>(())
                });
            });
            over.send(()).unwrap();
        });
        assert!(is_over.recv_timeout(FOREVER).is_ok(), "{name}");
    }
}
