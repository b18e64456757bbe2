//! The thread that creates devices.
//!
//! Wine's window driver connects each thread that asks DXGI for anything to the display, and
//! disconnects it when the thread ends, which it cannot do safely while other threads come and go:
//! a test thread that made its own device may take the process with it. So devices are made on a
//! thread that never ends.

use std::sync::LazyLock;
use std::sync::mpsc::{self, Sender};
use std::thread;

use tenure_d3d12::DeviceConfig;

use crate::matrix;

type Job = Box<dyn FnOnce() + Send>;

static JOBS: LazyLock<Sender<Job>> = LazyLock::new(|| {
    let (jobs, queue) = mpsc::channel::<Job>();
    thread::spawn(move || {
        // A debug layer must be enabled before any device is created without it.
        drop(matrix::create(DeviceConfig::default().validation(true)));
        queue.into_iter().for_each(|job| job());
    });
    jobs
});

/// Creates an object on that thread and waits for it.
pub(crate) fn on_device_thread<T: Send + 'static>(make: impl FnOnce() -> T + Send + 'static) -> T {
    let (answer, made) = mpsc::channel();
    let job = move || {
        // The receiver has ended only if the test has failed.
        let _heard = answer.send(make());
    };
    JOBS.send(Box::new(job)).unwrap();
    made.recv().expect("made without a panic")
}
