//! The frames: recorded by threads, submitted by one, checked by their readbacks.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tenure::device::Device;
use tenure::{Error, Gpu, Queue, Readback, Recording, State, Subresource};
use voxel_world::Result;

use crate::meter::{Meter, Spent, timed};
use crate::options::Options;
use crate::painter::{Constants, DRAWS_A_TABLE, Painter};
use crate::scene::{
    DRAWS, MESH_BYTES, MESHES, Scene, TABLES, THREADS, draw_word, expected, mesh_word, table_meshes,
};

/// The number of frames before the count begins.
const WARM_UP: u64 = 100;
/// Repetitions of all uploads, constants and tables in the first frame, so that memory suffices for this number
/// of frames in flight, even if the GPU falls behind later.
const FIRST_TIMES: usize = FRAMES_IN_FLIGHT + 1;
const FRAMES_IN_FLIGHT: usize = 3;
/// Maximum of command lists of a frame on one queue: for each thread its own and one for the uploads before it,
/// each with one list for barriers before it.
const LISTS: usize = 4 * THREADS;

/// The result of a thread for its part of a frame.
struct Share<D: Device> {
    recording: Recording<D>,
    readback: Option<Readback<D>>,
    spent: Spent,
}

/// The submitting thread's connection to a recording thread.
struct Worker<D: Device> {
    /// The numbers of frames.
    orders: Sender<u64>,
    shares: Receiver<std::result::Result<Share<D>, Error>>,
}

/// A frame with a pending readback.
struct Awaited<D: Device> {
    number: u64,
    readback: Readback<D>,
}

/// Runs the frames and prints their cost.
pub(crate) fn run<P: Painter>(options: &Options, gpu: Gpu<P::Device>) -> Result<()> {
    let properties = gpu.device().properties();
    println!("{} ({}), {} frames", properties.name, properties.backend, options.frames);
    let scene = Scene::new(gpu, P::mesh_view())?;
    let painter = P::new(&scene)?;
    for queue in [Queue::Graphics, Queue::Compute, Queue::Copy] {
        scene.gpu.reserve_recordings(queue, LISTS * FRAMES_IN_FLIGHT)?;
    }
    let mut meter = Meter::default();
    let warm = thread::scope(|scope| -> Result<_> {
        let workers: Vec<_> = (0..THREADS)
            .map(|index| {
                let ((orders, order), (done, shares)) = (channel(), channel());
                let (scene, painter) = (&scene, &painter);
                scope.spawn(move || work(index, scene, painter, &order, &done));
                Worker { orders, shares }
            })
            .collect();
        let mut awaited = VecDeque::new();
        let mut warm = None;
        for _ in 0..options.frames {
            let start = Instant::now();
            let (number, spent) = frame(&scene, &workers, &mut awaited)?;
            if number >= WARM_UP {
                meter.push(spent, start.elapsed());
                warm.get_or_insert_with(|| scene.gpu.stats());
            }
        }
        awaited.into_iter().try_for_each(check)?;
        warm.ok_or_else(|| "there were frames after the first ones".into())
    })?;
    let stats = scene.gpu.stats();
    let created = stats.objects_created() - warm.objects_created();
    meter.print();
    println!(
        "API objects created after the first {WARM_UP} frames: {created} (heaps {}, resources {}, command lists {}, \
         of descriptors {})",
        stats.heaps_created - warm.heaps_created,
        stats.resources_created - warm.resources_created,
        stats.lists_created - warm.lists_created,
        stats.descriptors.objects_created - warm.descriptors.objects_created,
    );
    println!("waits for the GPU: {} of {:.1} ms in all", stats.frame_waits, stats.frame_wait_ns as f64 / 1e6);
    println!("most memory ever taken: {:.1} MB", stats.peak_reserved as f64 / 1e6);
    drop(painter);
    let report = scene.into_gpu().shutdown();
    if !report.is_clean() {
        return Err(format!("{report:?}").into());
    }
    if created == 0 { Ok(()) } else { Err("frames create API objects".into()) }
}

/// One frame of all threads.
fn frame<D: Device>(
    scene: &Scene<D>,
    workers: &[Worker<D>],
    awaited: &mut VecDeque<Awaited<D>>,
) -> Result<(u64, Spent)> {
    let mut spent = Spent::default();
    let waited = scene.gpu.stats().frame_wait_ns;
    let frame = timed(&mut spent.frame, || scene.gpu.begin_frame())?;
    spent.frame = spent.frame.saturating_sub(Duration::from_nanos(scene.gpu.stats().frame_wait_ns - waited));
    let number = frame.number();
    for worker in workers {
        worker.orders.send(number)?;
    }
    // All of them: draws of one thread read uploads of another.
    let shares = workers.iter().map(|worker| Ok(worker.shares.recv()??)).collect::<Result<Vec<_>>>()?;
    for share in shares {
        spent.add(&share.spent);
        timed(&mut spent.submits, || frame.submit(share.recording))?;
        if let Some(readback) = share.readback {
            awaited.push_back(Awaited { number, readback });
        }
    }
    timed(&mut spent.frame, || frame.end())?;
    if awaited.len() > FRAMES_IN_FLIGHT
        && let Some(oldest) = awaited.pop_front()
    {
        check(oldest)?;
    }
    Ok((number, spent))
}

/// Compares the words written by the GPU with the expected ones.
fn check<D: Device>(Awaited { number, readback }: Awaited<D>) -> Result<()> {
    let bytes = readback.wait(Duration::from_secs(60))?;
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    let expected = expected(number);
    match words.iter().zip(&expected).position(|(found, expected)| found != expected) {
        None if words.len() == expected.len() => Ok(()),
        wrong => Err(format!("frame {number}: word {wrong:?} of {} is wrong", words.len()).into()),
    }
}

/// A thread that records its share of each frame, until there are no more.
fn work<P: Painter>(
    index: usize,
    scene: &Scene<P::Device>,
    painter: &P,
    orders: &Receiver<u64>,
    done: &Sender<std::result::Result<Share<P::Device>, Error>>,
) {
    let mut mesh = vec![0_u8; MESH_BYTES];
    let mut times = FIRST_TIMES;
    while let Ok(number) = orders.recv() {
        let share = record(index, scene, painter, number, (&mut mesh, times));
        times = 1;
        if done.send(share).is_err() {
            return;
        }
    }
}

fn record<P: Painter>(
    index: usize,
    scene: &Scene<P::Device>,
    painter: &P,
    number: u64,
    (bytes, times): (&mut [u8], usize),
) -> std::result::Result<Share<P::Device>, Error> {
    let mut spent = Spent::default();
    for mesh in (index..MESHES).step_by(THREADS) {
        bytes[..4].copy_from_slice(&mesh_word(number, mesh).to_le_bytes());
        for _ in 0..times {
            timed(&mut spent.uploads, || scene.gpu.upload(&scene.meshes[mesh], 0, bytes))?;
        }
    }
    let mut recording = timed(&mut spent.recording, || scene.gpu.record(Queue::Graphics, "draws"))?;
    let (commands, scratch) = recording.split();
    timed(&mut spent.recording, || {
        commands.use_resource(&scene.output, Subresource::All, State::UNORDERED_ACCESS)?;
        let mut meshes = scene.meshes.iter();
        meshes.try_for_each(|mesh| commands.use_resource(mesh, Subresource::All, State::NON_PIXEL_SHADER))?;
        commands.barriers();
        Ok::<_, Error>(())
    })?;
    painter.begin(scene, commands)?;
    let share = TABLES / THREADS;
    for table in index * share..(index + 1) * share {
        let constants: [Constants; DRAWS_A_TABLE] = std::array::from_fn(|draw| {
            let draw = table * DRAWS_A_TABLE + draw;
            let mut constants = [0; 16];
            constants[..2].copy_from_slice(&[draw as u32, draw_word(number, draw)]);
            constants
        });
        let views = table_meshes(table).map(|mesh| &scene.views[mesh]);
        for _ in 1..times {
            painter.prepare(scratch, views, &constants)?;
        }
        let prepared = timed(&mut spent.prepared, || painter.prepare(scratch, views, &constants))?;
        painter.draw(scene, commands.raw(), table * DRAWS_A_TABLE, &prepared);
    }
    // The last submitted recording reads the output of all.
    let readback = if index + 1 == THREADS {
        Some(timed(&mut spent.recording, || commands.read_back(&scene.output, 0, scene.output.size()))?)
    } else {
        None
    };
    Ok(Share { recording, readback, spent })
}

const _: () = assert!(TABLES * DRAWS_A_TABLE == DRAWS && TABLES.is_multiple_of(THREADS));
