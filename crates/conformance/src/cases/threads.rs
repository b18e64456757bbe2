//! Many threads at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use tenure_core::{BufferDesc, Config, Error, Format, FrameConfig, MemoryUse, Queue, TextureDesc, Usage};

use crate::Harness;
use crate::bench::{Bench, assert_bytes, contents};
use test_random::Rng;

/// The work of one thread: it creates, writes, checks and drops buffers until it is stopped, at least once.
fn work<H: Harness>(bench: &Bench<'_, H>, seed: u64, stop: &AtomicBool) -> Result<(), Error> {
    let mut rng = Rng::new(seed);
    let (mut meshes, mut written) = (Vec::new(), Vec::new());
    loop {
        match rng.below(8) {
            0..3 => {
                let usage = [Usage::VERTEX, Usage::CONSTANT, Usage::UNORDERED_ACCESS];
                let usage = usage[usize::try_from(rng.below(3)).unwrap()];
                meshes.push(bench.gpu.create_buffer(&BufferDesc::new(rng.size(16), usage))?);
            }
            3..5 => {
                let desc = BufferDesc::new(rng.size(12), Usage::CONSTANT).memory(MemoryUse::Upload);
                let buffer = bench.gpu.create_buffer(&desc)?;
                let bytes = rng.bytes(desc.size);
                buffer.write(0, &bytes)?;
                written.push((buffer, bytes));
            }
            5 => {
                let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, Usage::SHADER_READ);
                drop(bench.gpu.create_texture(&desc)?);
            }
            6 => drop(bench.gpu.record(Queue::Copy, "discarded")?),
            _ => bench.gpu.reclaim()?,
        }
        if meshes.len() > 40 {
            meshes.drain(..rng.size(5) as usize);
        }
        if written.len() > 20 {
            let (buffer, bytes) = written.swap_remove(usize::try_from(rng.below(20)).unwrap());
            assert_bytes(&contents(&buffer), &bytes, "a thread's own bytes");
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

/// Stops the threads, also when the submitting thread panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Eight threads create, write and drop buffers while another thread begins, submits and ends frames.
pub fn eight_threads_and_a_submitter<H: Harness>(harness: &H) {
    let bench = Bench::with(harness, Config::from(FrameConfig::default().idle(2)));
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    thread::scope(|scope| {
        let (bench, stop) = (&bench, &stop);
        let threads: Vec<_> = (0..8).map(|seed| scope.spawn(move || work(bench, seed, stop))).collect();
        let guard = Stop(stop);
        let mut rng = Rng::new(100);
        let shared = BufferDesc::new(5000, Usage::VERTEX | Usage::COPY_SRC);
        let shared = bench.gpu.create_buffer(&shared).unwrap();
        while begun.elapsed() < harness.effort().threads {
            let frame = bench.gpu.begin_frame().unwrap();
            let bytes = rng.bytes(5000);
            bench.upload(&shared, 0, &bytes);
            if frame.number() % 8 == 0 {
                assert_bytes(&bench.download(&shared, 0, 5000), &bytes, "the submitter's bytes");
            }
            frame.end().unwrap();
        }
        drop(guard);
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
    });
    bench.end();
}
