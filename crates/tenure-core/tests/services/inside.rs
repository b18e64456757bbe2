//! Calls inside the program's own submission, while other threads submit uploads and tile mappings: none waits for
//! those threads, which wait for the queue.

use std::sync::Barrier;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tenure_core::{
    Buffer, BufferDesc, Config, Error, Gpu, InPlaceConfig, Queue, Reserved, ReservedDesc, SyncPoint,
    TileRegion, Usage,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Lag, Profile};

use super::{device, gpu};

/// Longer than any of the calls takes.
const FOREVER: Duration = Duration::from_secs(60);
/// The time in which the other threads reach the queue.
const MOMENT: Duration = Duration::from_millis(50);

const TILE: TileRegion = TileRegion::buffer(0, 1);

struct Objects {
    buffer: Buffer<Device>,
    tiles: [Reserved<Device>; 2],
}

impl Objects {
    fn new(gpu: &Gpu<Device>) -> Self {
        let desc = BufferDesc::new(1 << 20, Usage::SHADER_READ | Usage::COPY_DST).name("buffer");
        let tiles = ["one", "other"].map(|name| {
            let desc = ReservedDesc::buffer(1 << 20, Usage::SHADER_READ).name(name);
            gpu.create_reserved(&desc).unwrap()
        });
        Self { buffer: gpu.create_buffer(&desc).unwrap(), tiles }
    }
}

type Call = fn(&Gpu<Device>, &Objects);

fn lose(gpu: &Gpu<Device>) {
    gpu.device().faults().remove("pulled out");
}

const CALLS: [(&str, Call); 12] = [
    ("upload statistics", |gpu, _| assert!(gpu.upload_stats().pending_bytes < 1 << 20)),
    ("statistics", |gpu, _| drop(gpu.stats())),
    ("trim", |gpu, _| gpu.trim()),
    ("an upload", |gpu, objects| drop(gpu.upload(&objects.buffer, 0, &[2; 8]))),
    ("a reclaim", |gpu, _| drop(gpu.reclaim())),
    ("a shutdown", |gpu, _| drop(gpu.clone().shutdown())),
    ("a reclaim after a loss", |gpu, objects| {
        lose(gpu);
        drop(gpu.upload(&objects.buffer, 0, &[2; 8]));
        drop(gpu.reclaim());
    }),
    ("a shutdown after a loss", |gpu, _| {
        lose(gpu);
        drop(gpu.clone().shutdown());
    }),
    ("the number of mapped tiles", |_, objects| assert!(objects.tiles[0].mapped_tiles() < 2)),
    ("mapped tiles", |_, objects| assert!(objects.tiles[0].map(Queue::Graphics, TILE).is_err())),
    ("unmapped tiles", |_, objects| assert!(objects.tiles[0].unmap(Queue::Graphics, TILE).is_err())),
    ("copied mappings", |_, Objects { tiles: [one, other], .. }| {
        assert!(other.copy_mappings(Queue::Graphics, TILE, one, TILE).is_err());
    }),
];

/// Runs a call inside the program's own submission, and `others` on threads that wait for the queue meanwhile.
fn play(name: &str, others: &'static [Call], call: Call) {
    let (over, is_over) = mpsc::channel();
    // A scope would wait for a call that hangs.
    thread::spawn(move || {
        let device = device(Profile::VULKAN_LAVAPIPE, Lag::None);
        let staged = InPlaceConfig::default().initial_data(false).uploads(false);
        let gpu = gpu(&device, Config::from(staged));
        let objects = Objects::new(&gpu);
        let inside = Barrier::new(1 + others.len());
        let (gpu, objects, inside) = (&gpu, &objects, &inside);
        thread::scope(|scope| {
            for other in others {
                scope.spawn(move || {
                    inside.wait();
                    other(gpu, objects);
                });
            }
            let _answer = gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |_| {
                inside.wait();
                thread::sleep(MOMENT);
                call(gpu, objects);
                Ok::<(), Error>(())
            });
        });
        over.send(()).unwrap();
    });
    assert!(is_over.recv_timeout(FOREVER).is_ok(), "{name}");
}

// Refused after a loss.
static SUBMISSIONS: [Call; 2] = [
    |gpu, objects| {
        let _answer = gpu.upload(&objects.buffer, 0, &[1; 64]);
        let _answer = gpu.flush_uploads();
    },
    |_, objects| {
        let _answer = objects.tiles[0].map(Queue::Graphics, TILE);
    },
];

#[test]
fn no_call_waits_for_a_thread_that_waits_for_the_queue() {
    for (name, call) in CALLS {
        play(name, &SUBMISSIONS, call);
    }
}

/// In a shortage tenure submits pending uploads, also where it holds its own locks.
fn lack_memory(gpu: &Gpu<Device>) {
    for call in [CallKind::CreateHeap, CallKind::CreateCommitted] {
        gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(call).onwards());
    }
}

static SHORTAGES: [Call; 2] = [
    // A new page of uploads, after those that the memory has room for.
    |gpu, Objects { buffer, .. }| {
        lack_memory(gpu);
        let _refused = (0..64).find_map(|_| gpu.upload(buffer, 0, &[1; 16 << 10]).err());
    },
    // A new heap of transient resources.
    |gpu, Objects { buffer, .. }| {
        let recording = gpu.record(Queue::Graphics, "frame").unwrap();
        gpu.upload(buffer, 0, &[1; 64]).unwrap();
        lack_memory(gpu);
        let desc = BufferDesc::new(1 << 20, Usage::UNORDERED_ACCESS).name("transient");
        assert!(recording.transient_buffer(&desc).is_err());
    },
];

#[test]
fn no_call_waits_for_a_thread_that_finds_memory_short() {
    play("an upload", &SHORTAGES[..1], |gpu, objects| {
        drop(gpu.upload(&objects.buffer, 0, &[2; 16 << 10]));
    });
    play("statistics", &SHORTAGES[1..], |gpu, _| drop(gpu.stats()));
}
