//! Tasks that await readbacks, with wakers that panic or call the manager, and with each call that may detect
//! the completion first.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tenure_core::{
    Buffer, BufferDesc, Config, Error, FrameConfig, Gpu, Queue, Readback, Recording, State, Subresource,
    Usage,
};
use tenure_sim::{Device, Lag, Profile};

use super::{SECOND, device, end, gpu};

const PROFILES: [Profile; 3] = [Profile::DISCRETE, Profile::VULKAN_NVIDIA, Profile::D3D12_TIER2];

/// A task that awaits a readback.
type Task = Pin<Box<Readback<Device>>>;

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker of the test");
    }
}

#[derive(Default)]
struct Counts(AtomicU32);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Counts {
    fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Calls the manager.
struct Calls(Mutex<Option<Gpu<Device>>>);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        let Some(gpu) = self.0.lock().unwrap().take() else { return };
        gpu.reclaim().unwrap();
        let buffer = gpu.create_buffer(&BufferDesc::new(64, Usage::COPY_SRC)).unwrap();
        gpu.upload(&buffer, 0, &[1; 64]).unwrap();
        drop(gpu.read_back(&buffer, 0, 64).unwrap());
        gpu.trim();
        let _ = (gpu.stats(), gpu.upload_stats());
    }
}

fn source(gpu: &Gpu<Device>) -> Buffer<Device> {
    let usage = Usage::COPY_SRC | Usage::SHADER_READ;
    gpu.create_buffer_with(&BufferDesc::new(4096, usage).name("source"), &[7; 4096]).unwrap()
}

fn poll(task: &mut Task, waker: &Waker) -> Poll<Result<Vec<u8>, Error>> {
    task.as_mut().poll(&mut Context::from_waker(waker))
}

fn is_pending(task: &mut Task, waker: &Waker) -> bool {
    poll(task, waker).is_pending()
}

fn record<'a>(
    gpu: &Gpu<Device>,
    source: &Buffer<Device>,
    wakers: impl IntoIterator<Item = &'a Waker>,
) -> (Recording<Device>, Vec<Task>) {
    let mut recording = gpu.record(Queue::Graphics, "read").unwrap();
    let read = |waker| {
        let mut task = Box::pin(recording.read_back(source, 0, 16).unwrap());
        assert!(is_pending(&mut task, waker));
        task
    };
    let tasks = wakers.into_iter().map(read).collect();
    (recording, tasks)
}

#[test]
fn a_panicking_waker_does_not_stop_others() {
    for profile in PROFILES {
        let device = device(profile, Lag::Manual);
        let gpu = gpu(&device, Config::default());
        let source = source(&gpu);
        let (counts, panics) = (Arc::new(Counts::default()), Waker::from(Arc::new(Panics)));
        let counted = Waker::from(counts.clone());
        // Woken by the submission.
        let (recording, mut tasks) = record(&gpu, &source, [&panics, &counted]);
        recording.submit().unwrap();
        assert_eq!((counts.get(), gpu.stats().open_recordings), (1, 0));
        // Woken by the call that finds the submission complete.
        for (task, waker) in tasks.iter_mut().zip([&panics, &counted]) {
            assert!(is_pending(task, waker));
        }
        device.run_until_idle();
        gpu.begin_frame().unwrap().end().unwrap();
        assert_eq!(counts.get(), 2);
        assert!(tasks.iter_mut().all(|task| poll(task, &counted) == Poll::Ready(Ok(vec![7; 16]))));
        drop(tasks);
        // Woken by a recording that is discarded.
        let (recording, mut tasks) = record(&gpu, &source, [&panics, &counted]);
        drop(recording);
        assert_eq!((counts.get(), gpu.stats().open_recordings), (3, 0));
        assert!(matches!(poll(&mut tasks[1], &counted), Poll::Ready(Err(Error::Discarded { .. }))));
        drop((tasks, source));
        end(gpu, &device);
    }
}

/// When it is woken, no lock is held, and the recording has ended.
#[test]
fn a_waker_may_call_the_manager() {
    for profile in PROFILES {
        for calls in 0..6_u32 {
            let device = device(profile, Lag::Manual);
            let gpu = gpu(&device, Config::default());
            let source = source(&gpu);
            let waker = Arc::new(Calls(Mutex::new(None)));
            let (recording, mut tasks) = record(&gpu, &source, [&Waker::from(waker.clone())]);
            if calls > 1 {
                let at = recording.submit().unwrap();
                assert!(is_pending(&mut tasks[0], &Waker::from(waker.clone())));
                *waker.0.lock().unwrap() = Some(gpu.clone());
                device.run_until_idle();
                match calls {
                    2 => assert!(gpu.wait(&at, SECOND).unwrap()),
                    3 => gpu.reclaim().unwrap(),
                    4 => gpu.begin_frame().unwrap().end().unwrap(),
                    _ => assert!(gpu.shutdown().open_recordings.is_empty()),
                }
            } else {
                *waker.0.lock().unwrap() = Some(gpu.clone());
                if calls == 0 {
                    let _ = recording.submit().unwrap();
                } else {
                    drop(recording)
                }
            }
            if calls < 5 {
                assert!(waker.0.lock().unwrap().is_none(), "{calls}");
            }
            waker.0.lock().unwrap().take();
            drop((tasks, source));
            end(gpu, &device);
        }
    }
}

/// Each call that detects the completion wakes the task.
#[test]
fn every_call_that_detects_a_completion_wakes_the_task() {
    type Call = fn(&Gpu<Device>, &Buffer<Device>);
    let calls: [(&str, Call); 5] = [
        ("wait for another queue", |gpu, source| {
            let mut recording = gpu.record(Queue::Compute, "other").unwrap();
            recording.use_resource(source, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
            let at = recording.submit().unwrap();
            gpu.device().run_until_idle();
            assert!(gpu.wait(&at, SECOND).unwrap());
        }),
        ("completed", |gpu, _| assert!(gpu.completed().is_ok())),
        ("record", |gpu, _| drop(gpu.record(Queue::Graphics, "next").unwrap())),
        ("large upload", |gpu, source| {
            drop(
                gpu.upload(source, 0, &[1; 4096])
                    .and_then(|_| {
                        let large = gpu.create_buffer(&BufferDesc::new(40 << 20, Usage::SHADER_READ))?;
                        gpu.upload(&large, 0, &vec![1; 40 << 20])
                    })
                    .unwrap(),
            )
        }),
        ("readback", |gpu, source| drop(gpu.read_back(source, 0, 16).unwrap().poll().unwrap())),
    ];
    for (name, call) in calls {
        let device = device(Profile::VULKAN_NVIDIA, Lag::Manual);
        let gpu = gpu(&device, Config::default());
        let source = source(&gpu);
        gpu.flush_uploads().unwrap();
        let counts = Arc::new(Counts::default());
        let counted = Waker::from(counts.clone());
        let mut task = Box::pin(gpu.read_back(&source, 0, 16).unwrap());
        assert!(is_pending(&mut task, &counted));
        device.run_until_idle();
        call(&gpu, &source);
        assert_eq!(counts.get(), 1, "{name}");
        drop((task, source));
        end(gpu, &device);
    }
}

/// A task whose readback can no longer complete is woken.
#[test]
fn the_end_and_a_loss_wake_everybody() {
    type End = fn(&Device, &mut Option<Gpu<Device>>, &Buffer<Device>);
    let ends: [(&str, bool, End); 6] = [
        ("a shutdown that times out", false, |_, gpu, _| {
            assert!(gpu.as_ref().unwrap().shutdown().timed_out);
        }),
        ("a last drop that times out", false, |_, gpu, _| drop(gpu.take())),
        ("a loss seen by a creation", false, |device, gpu, _| {
            device.faults().remove("pulled");
            let desc = BufferDesc::new(100, Usage::VERTEX);
            assert!(gpu.as_ref().unwrap().create_buffer(&desc).is_err());
        }),
        ("a loss seen by a submission", false, |device, gpu, source| {
            device.faults().remove("pulled");
            assert!(gpu.as_ref().unwrap().read_back(source, 0, 16).is_err());
        }),
        ("a loss while the recording is open", true, |device, gpu, source| {
            device.faults().remove("pulled");
            assert!(gpu.as_ref().unwrap().read_back(source, 0, 16).is_err());
        }),
        ("a shutdown of a lost device", false, |device, gpu, _| {
            device.faults().remove("pulled");
            assert!(gpu.as_ref().unwrap().shutdown().lost.is_some());
        }),
    ];
    for profile in PROFILES {
        for (name, is_open, finish) in &ends {
            let device = device(profile, Lag::Manual);
            let short = Duration::from_millis(20);
            let config = FrameConfig::default().shutdown_timeout(short);
            let mut gpu = Some(gpu(&device, Config::from(config)));
            let source = source(gpu.as_ref().unwrap());
            let counts = Arc::new(Counts::default());
            let counted = Waker::from(counts.clone());
            let (recording, mut tasks) = record(gpu.as_ref().unwrap(), &source, [&counted]);
            let mut open = Some(recording);
            if !is_open {
                open.take().unwrap().submit().unwrap();
                assert!(is_pending(&mut tasks[0], &counted));
            }
            let before = counts.get();
            finish(&device, &mut gpu, &source);
            assert_eq!(counts.get(), before + 1, "{name}");
            assert!(matches!(poll(&mut tasks[0], &counted), Poll::Ready(Err(_))), "{name}");
            drop((open, tasks, source));
            drop(gpu);
        }
    }
}
