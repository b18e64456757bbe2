//! Resources that become read-only while other threads submit, and what meets them: wrong orders, losses, divided uploads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tenure_core::device::{Permit, prelude::*};
use tenure_core::{
    BufferDesc, CompactionBudget, Config, Error, Format, Gpu, InPlaceConfig, Queue, QueueId, Recording,
    StagingConfig, State, Subresource, Subresources, SyncPoint, TexelData, Texture, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};
use test_random::Rng;

use super::{device, end, gpu, read_only};

const READS: State = State::SHADER_READ;
const COLOR: Format = Format::Rgba8Unorm;

/// Long enough for a thread to arrive at a lock.
const MOMENT: Duration = Duration::from_millis(30);

fn probe(usage: Usage) -> TextureDesc {
    TextureDesc::d2(32, 32, COLOR, usage | Usage::SHADER_READ | Usage::ALL_QUEUES).name("probe")
}

fn read(recording: &mut Recording<Device>, texture: &Texture<Device>) {
    recording.raw().use_texture(texture.raw(), Subresource::All, State::PIXEL_SHADER);
}

/// `submit` arrives, after `before`, at a queue that the program's own work holds; then `meanwhile` runs, and the queue is free
/// again.
fn during<T: Send>(
    gpu: &Gpu<Device>,
    queue: Queue,
    before: impl FnOnce(),
    submit: impl FnOnce() -> T + Send,
    meanwhile: impl FnOnce(),
) -> T {
    let ((held, is_held), (free, is_free)) = (mpsc::channel(), mpsc::channel::<()>());
    thread::scope(|scope| {
        scope.spawn(move || {
            gpu.submit_external(queue, &SyncPoint::NONE, |_| {
                held.send(()).unwrap();
                is_free.recv().unwrap();
                Ok::<(), Error>(())
            })
            .unwrap();
        });
        is_held.recv().unwrap();
        before();
        let submitted = scope.spawn(submit);
        thread::sleep(MOMENT);
        meanwhile();
        free.send(()).unwrap();
        submitted.join().unwrap()
    })
}

/// It has named the texture, and is submitted before the texture is in its read states.
#[test]
fn a_recording_that_is_being_submitted_finds_a_resource_before_it_is_read_only() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Submissions(3));
        let gpu = gpu(&device, Config::default());
        let probe = gpu.create_texture(&probe(Usage::RENDER_TARGET)).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "capture").unwrap();
        recording.use_resource(&probe, Subresource::All, State::RENDER_TARGET).unwrap();
        recording.raw().use_texture(probe.raw(), Subresource::All, State::RENDER_TARGET);
        recording.submit().unwrap();
        let mut reads = gpu.record(Queue::Graphics, "reads").unwrap();
        reads.use_resource(&probe, Subresource::All, State::PIXEL_SHADER).unwrap();
        read(&mut reads, &probe);
        let declare = || gpu.make_read_only(&probe, READS).unwrap();
        during(&gpu, Queue::Graphics, || (), || reads.submit(), declare).unwrap();
        let mut reads = gpu.record(Queue::Graphics, "reads later").unwrap();
        read(&mut reads, &probe);
        reads.submit().unwrap();
        drop(probe);
        end(gpu, &device);
    }
}

/// Another thread submits the upload when its destination becomes read-only.
#[test]
fn an_upload_that_is_being_submitted_reaches_a_resource_that_becomes_read_only() {
    for profile in Profile::ALL {
        for queue in [Queue::Copy, Queue::Graphics] {
            let device = device(*profile, Lag::Submissions(3));
            let gpu = gpu(&device, Config::default());
            let texture = gpu.create_texture(&probe(Usage::COPY_DST)).unwrap();
            let bytes = BufferDesc::new(4000, Usage::SHADER_READ | Usage::COPY_SRC).own_resource();
            let bytes = gpu.create_buffer(&bytes.name("bytes")).unwrap();
            let region = texture.info().region(0, 0);
            let mut uploads = Vec::new();
            let flushed = during(
                &gpu,
                queue,
                || {
                    let texels = TexelData::new(&[3; 32 * 32 * 4]);
                    uploads.push(gpu.upload_texture(&texture, region, texels).unwrap());
                    uploads.push(gpu.upload(&bytes, 0, &[4; 4000]).unwrap());
                },
                || gpu.flush_uploads(),
                || {
                    gpu.make_read_only(&texture, READS).unwrap();
                    gpu.make_read_only(&bytes, READS | State::COPY_SRC).unwrap();
                },
            );
            flushed.unwrap();
            for upload in uploads {
                assert_eq!(upload.error(), None, "{}", profile.name());
            }
            let mut reads = gpu.record(Queue::Graphics, "reads").unwrap();
            read(&mut reads, &texture);
            reads.raw().use_buffer(bytes.raw(), bytes.offset(), 4000, State::NON_PIXEL_SHADER);
            reads.raw().expect_bytes(bytes.raw(), bytes.offset(), &[4; 4000]);
            reads.submit().unwrap();
            drop((texture, bytes));
            end(gpu, &device);
        }
    }
}

/// Ends the other threads, also when the test fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Threads create, upload and declare, while others submit and compact.
#[test]
fn threads_declare_while_others_submit() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_ENHANCED, Profile::DISCRETE] {
        let device = device(profile, Lag::Submissions(2));
        let gpu = gpu(&device, Config::default());
        let done = AtomicBool::new(false);
        let is_done = || done.load(Ordering::Relaxed);
        thread::scope(|scope| {
            let _done = Done(&done);
            scope.spawn(|| {
                while !is_done() {
                    gpu.record(Queue::Graphics, "others").unwrap().submit().unwrap();
                    gpu.reclaim().unwrap();
                }
            });
            scope.spawn(|| {
                while !is_done() {
                    gpu.compact(CompactionBudget { bytes: 8 << 20, moves: 64, pieces: 1000 }).unwrap();
                }
            });
            let mut kept = Vec::new();
            for round in 0..60 {
                let made: Vec<_> =
                    (0..8).map(|_| gpu.create_texture(&probe(Usage::COPY_DST).movable()).unwrap()).collect();
                let texels = [round; 32 * 32 * 4];
                for texture in &made {
                    gpu.upload_texture(texture, texture.info().region(0, 0), TexelData::new(&texels))
                        .unwrap();
                }
                made.iter().for_each(|texture| gpu.make_read_only(texture, READS).unwrap());
                let mut reads = gpu.record(Queue::Graphics, "reads").unwrap();
                for texture in made.iter().chain(&kept) {
                    let (commands, scratch) = reads.split();
                    let object = scratch.texture(texture).unwrap();
                    commands.raw().use_texture(object, Subresource::All, State::PIXEL_SHADER);
                }
                reads.submit().unwrap();
                kept.extend(made.into_iter().step_by(3));
                if kept.len() > 20 {
                    kept.drain(..7);
                }
            }
        });
        end(gpu, &device);
    }
}

/// A divided upload goes to a texture that recordings on several queues read meanwhile.
#[test]
fn a_texture_that_is_read_is_uploaded_again_in_pieces() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Submissions(3));
        let staging = StagingConfig::default().max_pending(64 << 10);
        let gpu = gpu(&device, Config::default().staging(staging));
        let desc = TextureDesc::d2(256, 256, COLOR, Usage::SHADER_READ).read_only(READS).name("terrain");
        let mut texels = vec![1; 256 * 256 * 4];
        let terrain = gpu.create_texture_with(&desc, &[TexelData::new(&texels)]).unwrap();
        for round in 2..5 {
            let open = read_only::QUEUES.map(|queue| gpu.record(queue, "open").unwrap());
            for queue in read_only::QUEUES {
                read_only::submit_reads(&gpu, queue, &[&terrain]);
            }
            texels.fill(round);
            gpu.upload_texture(&terrain, desc.info.region(0, 0), TexelData::new(&texels)).unwrap();
            for mut recording in open {
                read_only::read(&gpu, &mut recording, &[&terrain]);
                recording.submit().unwrap();
            }
        }
        drop(terrain);
        end(gpu, &device);
    }
}

/// The copy queue goes on with other uploads, while the graphics queue is busy with what comes before the declaration.
#[test]
fn uploads_do_not_wait_for_resources_that_they_do_not_write() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::DISCRETE] {
        let device = device(profile, Lag::Manual);
        let staged = InPlaceConfig::default().initial_data(false).uploads(false);
        let gpu = gpu(&device, Config::from(staged));
        let grass = probe(Usage::COPY_DST).read_only(READS);
        let grass = gpu.create_texture_with(&grass, &[TexelData::new(&[1; 4096])]).unwrap();
        gpu.flush_uploads().unwrap();
        let rock = gpu.create_buffer_with(&BufferDesc::new(4000, Usage::VERTEX), &[2; 4000]).unwrap();
        let upload = gpu.upload(&rock, 0, &[3; 4000]).unwrap();
        gpu.flush_uploads().unwrap();
        while device.complete_one(Queue::Copy.id(device.properties())).is_some() {}
        assert!(upload.sync_point().unwrap().is_covered_by(&gpu.completed().unwrap()), "{}", profile.name());
        drop((grass, rock));
        end(gpu, &device);
    }
}

/// The program's own submission reads it on another queue.
#[test]
fn external_work_comes_after_the_uploads_of_what_it_reads() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Submissions(3));
        let gpu = gpu(&device, Config::default());
        let rock = BufferDesc::new(4000, Usage::SHADER_READ).read_only(READS).name("rock");
        let rock = gpu.create_buffer_with(&rock, &[1; 4000]).unwrap();
        for round in 2..4 {
            read_only::submit_reads(&gpu, Queue::Compute, &[]);
            gpu.upload(&rock, 0, &[round; 4000]).unwrap();
            let queue = Queue::Compute.id(gpu.device().properties());
            let mut list = device.create_list(Permit::checked(), queue).unwrap();
            list.begin().unwrap();
            list.use_buffer(rock.raw(), rock.offset(), 4000, State::NON_PIXEL_SHADER);
            list.expect_bytes(rock.raw(), rock.offset(), &[round; 4000]);
            list.close().unwrap();
            let run = |mut queue: tenure_sim::NativeQueue<'_>| {
                queue.submit(&[&list], &[], &[]).map_err(Error::from)
            };
            let ((), at) = gpu.submit_external(Queue::Compute, &SyncPoint::NONE, run).unwrap();
            assert!(device.run_until_idle());
            assert!(gpu.wait(&at, Duration::from_secs(1)).unwrap());
            device.destroy_list(Permit::checked(), list);
        }
        drop(rock);
        end(gpu, &device);
    }
}

#[test]
fn copies_from_a_read_only_resource_need_no_barrier() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Submissions(3));
        let gpu = gpu(&device, Config::default());
        let usage = Usage::INDEX | Usage::COPY_SRC;
        let desc = BufferDesc::new(1000, usage).read_only(State::INDEX | State::COPY_SRC).name("indices");
        let indices = gpu.create_buffer_with(&desc, &[5; 1000]).unwrap();
        let copy = gpu.create_buffer(&BufferDesc::new(1000, Usage::COPY_DST | Usage::COPY_SRC)).unwrap();
        let mut recording = gpu.record(Queue::Copy, "copy").unwrap();
        recording.copy_buffer(&indices, 0, &copy, 0, 1000).unwrap();
        recording.submit().unwrap();
        let readbacks = [gpu.read_back(&indices, 0, 1000).unwrap(), gpu.read_back(&copy, 0, 1000).unwrap()];
        let texture =
            TextureDesc::d2(32, 32, COLOR, Usage::COPY_SRC).read_only(State::COPY_SRC).name("source");
        let texture = gpu.create_texture_with(&texture, &[TexelData::new(&[6; 4096])]).unwrap();
        let texels = gpu.read_back_texture(&texture, texture.info().region(0, 0)).unwrap();
        assert!(device.run_until_idle());
        for readback in readbacks {
            assert_eq!(readback.wait(Duration::from_secs(1)).unwrap(), [5; 1000], "{}", profile.name());
        }
        assert_eq!(texels.wait(Duration::from_secs(1)).unwrap(), [6; 4096]);
        drop((indices, copy, texture, texels));
        end(gpu, &device);
    }
}

/// Mips are made first, then the texture is read-only, moves, and can be filled by uploads alone.
#[test]
fn a_texture_is_read_only_after_its_mips_were_made() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Submissions(3));
        let gpu = gpu(&device, Config::default());
        if !gpu.generates_mips(COLOR) {
            end(gpu, &device);
            continue;
        }
        let usage = Usage::COPY_SRC | Usage::COPY_DST | Usage::SHADER_READ;
        let desc = TextureDesc::d2(32, 32, COLOR, usage | Usage::ALL_QUEUES).mips(4).movable().name("rock");
        let gap = gpu.create_texture(&desc).unwrap();
        let rock = gpu.create_texture(&desc).unwrap();
        gpu.upload_texture(&rock, desc.info.region(0, 0), TexelData::new(&[7; 4096])).unwrap();
        // Two recordings, submitted in the other order.
        let mut late = gpu.record(Queue::Graphics, "last mip").unwrap();
        late.generate_mips(&rock, Subresources::mips(2..4)).unwrap();
        let mut early = gpu.record(Queue::Graphics, "first mips").unwrap();
        early.generate_mips(&rock, Subresources::mips(0..3)).unwrap();
        drop(gap);
        gpu.compact(CompactionBudget { bytes: 8 << 20, moves: 64, pieces: 1000 }).unwrap();
        early.submit().unwrap();
        late.submit().unwrap();
        gpu.make_read_only(&rock, READS).unwrap();
        for _ in 0..2 {
            let mut recording = gpu.record(Queue::Graphics, "again").unwrap();
            let refused = recording.generate_mips(&rock, Subresources::ALL).unwrap_err();
            assert!(matches!(refused, Error::State { .. }), "{refused}");
            recording.submit().unwrap();
            for queue in read_only::QUEUES {
                read_only::submit_reads(&gpu, queue, &[&rock]);
            }
            gpu.compact(CompactionBudget { bytes: 8 << 20, moves: 64, pieces: 1000 }).unwrap();
        }
        drop(rock);
        end(gpu, &device);
    }
}

/// Uploads, declares, reads and moves until the device is removed.
fn program(gpu: &Gpu<Device>) -> Result<(), Error> {
    let desc = probe(Usage::RENDER_TARGET | Usage::COPY_DST).movable();
    let gap = gpu.create_texture(&desc)?;
    let texture = gpu.create_texture_with(&desc.clone().read_only(READS), &[TexelData::new(&[1; 4096])])?;
    let later = gpu.create_texture_with(&desc, &[TexelData::new(&[2; 4096])])?;
    let rock = BufferDesc::new(4000, Usage::SHADER_READ).read_only(READS);
    let rock = gpu.create_buffer_with(&rock, &[3; 4000])?;
    gpu.make_read_only(&later, READS)?;
    drop(gap);
    for round in 0..2 {
        let mut recording = gpu.record(Queue::Graphics, "reads")?;
        for texture in [&texture, &later] {
            let (commands, scratch) = recording.split();
            let object = scratch.texture(texture)?;
            commands.raw().use_texture(object, Subresource::All, State::PIXEL_SHADER);
        }
        recording.submit()?;
        gpu.compact(CompactionBudget { bytes: 8 << 20, moves: 64, pieces: 1000 })?;
        gpu.upload_texture(&texture, texture.info().region(0, 0), TexelData::new(&[round; 4096]))?;
        gpu.upload(&rock, 100, &[round; 100])?;
        gpu.begin_frame()?.end()?;
    }
    Ok(())
}

#[test]
fn the_device_is_removed_or_short_at_any_call() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::D3D12_ENHANCED, Profile::DISCRETE] {
        for kind in [FaultKind::Removed("hung".into()), FaultKind::OutOfHostMemory] {
            for nth in 1.. {
                let device = device(profile, Lag::Submissions(2));
                let gpu = gpu(&device, Config::default());
                device.faults().inject(Fault::nth(nth, kind.clone()));
                let refused = program(&gpu);
                device.faults().clear();
                let has_struck = CallKind::ALL.iter().any(|call| device.calls().failed(*call) > 0);
                let is_lost = matches!(&refused, Err(error) if error.is_device_lost());
                if !is_lost {
                    // A shortage passes, and nothing is left half done.
                    program(&gpu).unwrap();
                    assert!(device.run_until_idle());
                }
                let report = gpu.shutdown();
                assert!(is_lost || report.is_clean(), "{nth}: {report:?}");
                drop(gpu);
                let hazards = device.take_hazards();
                assert!(hazards.is_empty(), "{}, {kind:?} {nth}: {hazards:?}", profile.name());
                if !has_struck {
                    assert!(nth > 20, "many calls can fail");
                    break;
                }
            }
        }
    }
}

/// The last writer is another queue, which may own the texture.
#[test]
fn a_resource_that_another_queue_wrote_becomes_read_only() {
    for profile in Profile::ALL {
        for usage in [Usage::empty(), Usage::ALL_QUEUES] {
            let device = device(*profile, Lag::Submissions(3));
            let gpu = gpu(&device, Config::default());
            let written = Usage::UNORDERED_ACCESS | Usage::SHADER_READ | usage;
            let texture = TextureDesc::d2(32, 32, COLOR, written).mips(2).name("texture");
            let texture = gpu.create_texture(&texture).unwrap();
            let desc = BufferDesc::new(4000, written).own_resource().name("buffer");
            let buffer = gpu.create_buffer(&desc).unwrap();
            for (queue, mip) in [(Queue::Graphics, 0), (Queue::Compute, 1)] {
                let mut recording = gpu.record(queue, "writes").unwrap();
                recording.use_resource(&texture, Subresource::One(mip), State::UNORDERED_ACCESS).unwrap();
                recording.use_resource(&buffer, Subresource::All, State::UNORDERED_ACCESS).unwrap();
                recording.raw().use_texture(texture.raw(), Subresource::One(mip), State::UNORDERED_ACCESS);
                recording.raw().use_buffer(buffer.raw(), buffer.offset(), 4000, State::UNORDERED_ACCESS);
                recording.submit().unwrap();
            }
            gpu.make_read_only(&texture, READS).unwrap();
            gpu.make_read_only(&buffer, READS).unwrap();
            for queue in [Queue::Compute, Queue::Graphics, Queue::Compute] {
                let mut recording = gpu.record(queue, "reads").unwrap();
                let state = read_only::shader_reads(&gpu, &recording);
                let is_found = recording.use_resource(&texture, Subresource::All, state).is_ok();
                if is_found {
                    recording.raw().use_texture(texture.raw(), Subresource::All, state);
                }
                assert!(is_found || (queue == Queue::Compute && usage.is_empty()), "{}", profile.name());
                recording.raw().use_buffer(buffer.raw(), buffer.offset(), 4000, State::NON_PIXEL_SHADER);
                recording.submit().unwrap();
            }
            drop((texture, buffer));
            end(gpu, &device);
        }
    }
}

/// A texture of a random program.
struct Item {
    number: u64,
    texture: Texture<Device>,
    is_read_only: bool,
}

/// An open recording, with the numbers of the textures that it has written and read.
struct Opened {
    recording: Recording<Device>,
    written: Vec<u64>,
    read: Vec<u64>,
}

/// Textures are written on several queues, become read-only while recordings with them are open, are uploaded to, move and are
/// read with and without names.
fn play(profile: Profile, seed: u64) {
    let mut rng = Rng::new(seed);
    let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Random { max: 4 }).seed(seed));
    let gpu = gpu(&device, Config::default());
    let (mut items, mut open): (Vec<Item>, Vec<Opened>) = (Vec::new(), Vec::new());
    let mut declared = Vec::new();
    let texels = [1; 4096];
    for number in 0..200 {
        let count = items.len() as u64;
        let index = rng.below(count.max(1)) as usize;
        if open.len() > 3 || (!open.is_empty() && rng.below(5) == 0) {
            let Opened { recording, written, read } = open.swap_remove(rng.below(open.len() as u64) as usize);
            let is_late = |numbers: &[u64]| numbers.iter().any(|number| declared.contains(number));
            let is_graphics = recording.queue() == QueueId(0);
            match recording.submit() {
                Ok(_) => assert!(!is_late(&written), "{} {seed}", profile.name()),
                // A compute queue may not find it.
                Err(error) => assert!(is_late(&written) || (!is_graphics && is_late(&read)), "{error}"),
            }
            continue;
        }
        match rng.below(10) {
            0 | 1 => {
                let usage =
                    Usage::RENDER_TARGET | Usage::UNORDERED_ACCESS | Usage::SHADER_READ | Usage::COPY_DST;
                let usage = if rng.below(2) == 0 { usage } else { usage | Usage::ALL_QUEUES };
                let desc = TextureDesc::d2(32, 32, COLOR, usage).name("item");
                let desc = if rng.below(3) == 0 { desc } else { desc.movable() };
                let texture = gpu.create_texture_with(&desc, &[TexelData::new(&texels)]).unwrap();
                items.push(Item { number, texture, is_read_only: false });
            }
            2 if count > 0 && !items[index].is_read_only => {
                gpu.make_read_only(&items[index].texture, READS).unwrap();
                items[index].is_read_only = true;
                declared.push(items[index].number);
            }
            3 if count > 0 => {
                let region = items[index].texture.info().region(0, 0);
                gpu.upload_texture(&items[index].texture, region, TexelData::new(&texels)).unwrap();
            }
            4 => drop(gpu.compact(CompactionBudget { bytes: 8 << 20, moves: 64, pieces: 1000 }).unwrap()),
            5 => {
                gpu.begin_frame().unwrap().end().unwrap();
            }
            6 if count > 6 => drop(items.swap_remove(index)),
            _ if count > 0 => {
                if open.is_empty() || rng.below(2) == 0 {
                    let queue = read_only::QUEUES[rng.below(2) as usize];
                    let recording = gpu.record(queue, "open").unwrap();
                    open.push(Opened { recording, written: Vec::new(), read: Vec::new() });
                }
                let last = open.len() - 1;
                let Opened { recording, written, read } = &mut open[last];
                let reads = read_only::shader_reads(&gpu, recording);
                let is_written = rng.below(2) == 0 && !items[index].is_read_only;
                let state = match is_written {
                    true if recording.queue() == QueueId(0) && rng.below(2) == 0 => State::RENDER_TARGET,
                    true => State::UNORDERED_ACCESS,
                    false => reads,
                };
                let Item { number, texture, is_read_only } = &items[index];
                let (commands, scratch) = recording.split();
                let object = scratch.texture(texture).unwrap();
                // Refused where a queue cannot read it; a name has no effect otherwise.
                if commands.use_resource(texture, Subresource::All, state).is_err() {
                    assert!(is_read_only);
                    continue;
                }
                commands.raw().use_texture(object, Subresource::All, state);
                if is_written { written.push(*number) } else { read.push(*number) }
            }
            _ => {}
        }
    }
    drop((open, items));
    end(gpu, &device);
}

#[test]
fn random_programs_that_declare_textures_have_no_hazards() {
    for profile in Profile::ALL {
        for seed in 0..8 {
            play(*profile, seed);
        }
    }
}
