//! The events of the log, and their rate limits: a separate program, because `tracing` has one log for each
//! program.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod lines;

use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

use tenure_core::{BufferDesc, Config, Gpu, Queue, Usage};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Profile};

thread_local! {
    /// The log events of this thread.
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Adds to the lines of the thread that logs.
struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LINES.with_borrow_mut(|lines| lines.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines that a program logs on this thread, of every level.
///
/// All tests have one subscriber, set before anything is logged: `tracing` asks once for each place that logs
/// whether anybody listens, on the thread that comes there first, and keeps the answer. While only one thread
/// has its own subscriber (`with_default`), a thread without one caches for both that there is no subscriber.
fn logged(program: impl FnOnce()) -> Vec<String> {
    static LISTEN: Once = Once::new();
    LISTEN.call_once(|| {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
            .with_ansi(false)
            .without_time()
            .with_writer(|| Lines)
            .finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
    LINES.take();
    program();
    String::from_utf8(LINES.take()).unwrap().lines().map(str::to_owned).collect()
}

fn count(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| line.contains(text)).count()
}

#[test]
fn thousands_of_failures_are_a_dozen_lines() {
    let lines = logged(|| {
        let device = Device::new(Profile::DISCRETE);
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let shortage = |call| Fault::nth(1, FaultKind::OutOfMemory).of(call).onwards();
        device.faults().inject(shortage(CallKind::CreateHeap));
        device.faults().inject(shortage(CallKind::CreateCommitted));
        for _ in 0..7300 {
            assert!(gpu.create_buffer(&BufferDesc::new(1 << 20, Usage::VERTEX).name("rock")).is_err());
        }
    });
    assert_eq!(count(&lines, "allocation failed"), 13, "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("allocation failed") && line.contains("times=4096")));
    assert!(count(&lines, "the next step follows") <= 20, "steps are collected, too");
}

#[test]
fn blocks_come_and_go_with_a_line_each() {
    let lines = logged(|| {
        let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
        drop(gpu.create_buffer(&BufferDesc::new(1 << 20, Usage::VERTEX)).unwrap());
        gpu.shutdown();
        drop(gpu);
    });
    let created = count(&lines, "block created") + count(&lines, "heap created");
    let destroyed = count(&lines, "block destroyed") + count(&lines, "heap destroyed");
    assert!(created >= 1, "{lines:#?}");
    assert_eq!(created, destroyed, "{lines:#?}");
}

#[test]
fn leaks_reported_by_a_shutdown_are_not_logged_again() {
    let program = |shuts_down: bool| {
        let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
        let _rock = gpu.create_buffer(&BufferDesc::new(4096, Usage::VERTEX).name("rock")).unwrap();
        if shuts_down {
            assert_eq!(gpu.clone().shutdown().leaks.len(), 1);
        }
        drop((gpu.clone(), gpu));
    };
    assert_eq!(count(&logged(|| program(false)), "still lives"), 1);
    assert_eq!(count(&logged(|| program(true)), "still lives"), 0);
}

#[test]
fn a_forgotten_recording_is_warned_of_once_by_name() {
    let lines = logged(|| {
        let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
        let forgotten = gpu.record(Queue::Graphics, "minimap").unwrap();
        for _ in 0..100 {
            gpu.begin_frame().unwrap().end().unwrap();
        }
        drop(forgotten);
    });
    let warnings: Vec<_> = lines.iter().filter(|line| line.contains("WARN")).collect();
    let [warning] = &*warnings else { panic!("{warnings:#?}") };
    assert!(warning.contains("a recording is still open") && warning.contains("minimap"), "{warning}");
}

/// Once the card's budget is taken, and then ever more rarely.
#[test]
fn resources_in_slower_memory_log_a_few_lines() {
    let lines = logged(|| {
        let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).budgets(vec![64 << 20, 1 << 40, 0]);
        let gpu = Gpu::new(Device::with_config(options), Config::default()).unwrap();
        let desc = BufferDesc::new(20 << 20, Usage::SHADER_READ).name("mesh");
        let meshes: Vec<_> = (0..23).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
        drop(meshes);
    });
    let told: Vec<_> = lines.iter().filter(|line| line.contains("placed in a slower memory type")).collect();
    assert_eq!(told.len(), 5, "of 20 the 1st, 2nd, 4th, 8th and 16th: {told:?}");
    assert!(told.iter().all(|line| line.contains("WARN")), "{told:?}");
}
