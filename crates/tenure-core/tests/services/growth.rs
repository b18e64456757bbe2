//! The cost of each object does not grow with the number of objects: every case is played with four times as
//! many, which takes 16 times as long where a cost is quadratic.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use tenure_core::time::Recordings;
use tenure_core::{
    BindingKind, BufferDesc, BufferViewDesc, Config, Error, Format, Gpu, Graph, Plane, Queue, Readback,
    SamplerDesc, SamplerInfo, SetBinding, SetLayoutDesc, State, Subresource, TexelData, TextureDesc,
    TextureRegion, UploadRingDesc, Usage,
};
use tenure_sim::{Device, Lag, Profile};

use super::{device, end, gpu};

/// The CPU time of this thread in nanoseconds.
fn cpu_time() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// Plays a case with `count` objects, with twice, and with four times as many. The case returns the function to
/// measure.
fn grows_evenly(name: &str, count: u32, case: impl Fn(&Gpu<Device>, u32) -> Box<dyn FnOnce() + '_>) {
    let play = |count| {
        let device = device(Profile::VULKAN_NVIDIA, Lag::Manual);
        let gpu = gpu(&device, Config::default());
        let measured = case(&gpu, count);
        let begun = cpu_time();
        measured();
        let took = cpu_time().zip(begun).map(|(now, begun)| now - begun);
        end(gpu, &device);
        took
    };
    let shortest = |count| (0..3).filter_map(|_| play(count)).min();
    // Linux counts CPU time in ticks.
    let tick = 4_000_000;
    let mut times = [None; 2];
    // Other work on the machine may slow a measurement down, but not each of them.
    let is_even = (0..3).any(|_| {
        times = [count, 4 * count].map(shortest);
        matches!(times, [Some(one), Some(four)] if four < 9 * one.max(tick)) || times.contains(&None)
    });
    assert!(is_even, "{name}: {times:?} ns for {count}, and for four times as many");
}

fn source() -> BufferDesc {
    BufferDesc::new(4096, Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST)
}

#[test]
fn awaited_readbacks() {
    grows_evenly("awaited readbacks", 2000, |gpu, count| {
        let buffer = gpu.create_buffer_with(&source(), &[7; 4096]).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "readbacks").unwrap();
        let mut tasks: Vec<Pin<Box<Readback<Device>>>> =
            (0..count).map(|_| Box::pin(recording.read_back(&buffer, 0, 16).unwrap())).collect();
        recording.submit().unwrap();
        Box::new(move || {
            let mut context = Context::from_waker(Waker::noop());
            for task in &mut tasks {
                assert!(task.as_mut().poll(&mut context).is_pending());
            }
            gpu.device().run_until_idle();
            gpu.reclaim().unwrap();
            drop((tasks, buffer));
        })
    });
}

/// In the order of an image decoder.
#[test]
fn rows_of_a_texture() {
    for columns in [false, true] {
        grows_evenly("rows", 2000, |gpu, count| {
            let size = if columns { [count, 16] } else { [16, count] };
            let desc = TextureDesc::d2(size[0], size[1], Format::R8Unorm, Usage::SHADER_READ);
            let texture = gpu.create_texture(&desc).unwrap();
            for line in 0..count {
                let (origin, extent) =
                    if columns { ([line, 0, 0], [1, 16, 1]) } else { ([0, line, 0], [16, 1, 1]) };
                let region = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin, extent };
                gpu.upload_texture(&texture, region, TexelData::new(&[7; 16])).unwrap();
            }
            Box::new(move || {
                gpu.flush_uploads().unwrap();
                drop(texture);
            })
        });
    }
}

/// Some uploads overlap, so that their order matters.
#[test]
fn overlapping_uploads() {
    grows_evenly("overlapping uploads", 2000, |gpu, count| {
        let buffer = gpu.create_buffer(&source()).unwrap();
        for number in 0..u64::from(count) {
            gpu.upload(&buffer, number * 7 % 4000, &[1; 16]).unwrap();
        }
        Box::new(move || {
            gpu.flush_uploads().unwrap();
            drop(buffer);
        })
    });
}

#[test]
fn open_recordings() {
    grows_evenly("open recordings", 1000, |gpu, count| {
        let all: Vec<_> = (0..count).map(|_| gpu.record(Queue::Graphics, "open").unwrap()).collect();
        Box::new(move || {
            for recording in all.into_iter().rev() {
                let buffer = gpu.create_buffer(&source()).unwrap();
                let _ = buffer.raw();
                drop((buffer, recording));
                gpu.reclaim().unwrap();
            }
        })
    });
}

#[test]
fn submissions_behind_a_slow_gpu() {
    grows_evenly("submissions", 1000, |gpu, count| {
        let buffer = gpu.create_buffer_with(&source(), &[7; 4096]).unwrap();
        Box::new(move || {
            let mut tickets = Vec::new();
            for _ in 0..count {
                let mut recording = gpu.record(Queue::Graphics, "late").unwrap();
                recording.use_resource(&buffer, Subresource::All, State::COPY_SRC).unwrap();
                tickets.push(recording.write_timestamp().unwrap());
                recording.submit().unwrap();
                let dropped = gpu.create_buffer(&source()).unwrap();
                let _ = dropped.raw();
            }
            gpu.device().run_until_idle();
            assert!(tickets.iter().all(|ticket| ticket.poll().unwrap().is_some()));
            drop((tickets, buffer));
        })
    });
}

#[test]
fn views_of_a_buffer() {
    grows_evenly("views", 2000, |gpu, count| {
        let buffer = gpu.create_buffer(&source()).unwrap();
        Box::new(move || {
            let view = |_| gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap();
            let views: Vec<_> = (0..count).map(view).collect();
            drop((views, buffer));
            gpu.reclaim().unwrap();
        })
    });
}

#[test]
fn recordings_beside_an_open_one() {
    grows_evenly("recordings beside an open one", 4000, |_, count| {
        Box::new(move || {
            let recordings = Recordings::new();
            let _held = recordings.open("held", 0);
            for _ in 0..count {
                let other = recordings.open("other", 0);
                assert_eq!(recordings.list().len(), 2);
                recordings.close(other);
            }
        })
    });
}

#[test]
fn frames_of_a_ring_in_an_open_recording() {
    grows_evenly("frames of a ring", 4000, |gpu, count| {
        let ring = gpu.create_upload_ring(&UploadRingDesc::new(1 << 20).name("ring")).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "open").unwrap();
        Box::new(move || {
            for _ in 0..count {
                let _ = ring.allocate(recording.split().1, 16, 16).unwrap();
                ring.close();
            }
            drop((recording, ring));
        })
    });
}

#[test]
fn samplers() {
    grows_evenly("samplers", 900, |gpu, count| {
        Box::new(move || {
            let sampler = |number| {
                let info = SamplerInfo::default().max_lod(number as f32);
                gpu.create_sampler(&SamplerDesc::new(info)).unwrap()
            };
            let samplers: Vec<_> = (0..count).map(sampler).collect();
            drop(samplers);
            gpu.reclaim().unwrap();
        })
    });
}

#[test]
fn set_layouts() {
    grows_evenly("set layouts", 1000, |gpu, count| {
        Box::new(move || {
            let bindings = [SetBinding::new(0, BindingKind::Buffer)];
            let layout = |_| gpu.create_set_layout(&SetLayoutDesc::new(&bindings)).unwrap();
            let layouts: Vec<_> = (0..count).map(layout).collect();
            drop(layouts);
            gpu.reclaim().unwrap();
        })
    });
}

/// Each recording has a part of a heap of queries.
#[test]
fn heaps_of_queries() {
    grows_evenly("heaps of queries", 1000, |gpu, count| {
        Box::new(move || {
            let mut tickets = Vec::new();
            for _ in 0..count {
                let mut recording = gpu.record(Queue::Graphics, "timed").unwrap();
                tickets.push(recording.write_timestamp().unwrap());
                recording.submit().unwrap();
            }
            gpu.device().run_until_idle();
            drop(tickets);
            gpu.trim();
            assert!(gpu.device().calls().live_query_heaps < 2, "heaps that nothing uses go");
        })
    });
}

#[test]
fn passes_of_a_graph() {
    grows_evenly("passes of a graph", 100, |gpu, count| {
        let mut graph = Graph::new();
        let buffer = |number| {
            let usage = Usage::COPY_SRC | Usage::SHADER_READ;
            graph.buffer(BufferDesc::new(4096, usage).name(format!("buffer {number}")))
        };
        let buffers: Vec<_> = (0..=count).map(buffer).collect();
        for (number, pair) in buffers.windows(2).enumerate() {
            let mut pass = graph.pass(Queue::Graphics, format!("pass {number}"));
            if number > 0 {
                pass = pass.uses(pair[0], State::COPY_SRC);
            }
            let _id = pass.uses(pair[1], State::COPY_DST).id();
        }
        Box::new(move || {
            let frame = gpu.begin_frame().unwrap();
            frame.execute(&graph, |_, _, _| Ok::<_, Error>(())).unwrap();
            frame.end().unwrap();
        })
    });
}
