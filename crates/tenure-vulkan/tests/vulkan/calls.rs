//! The calls of the driver in one frame of each kind, counted: one more is a failure.

use conformance::Harness as _;
use tenure_core::{
    Buffer, BufferDesc, Config, Format, Frame, Gpu, MemoryUse, Queue, Recording, State, Subresource,
    TexelData, Texture, TextureDesc, Usage,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, DeviceConfig};

use crate::basics::LONG;
use crate::disguise::Costume;
use crate::harness::Vulkan;

/// Calls in one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Calls {
    /// `vkQueueSubmit2`.
    submits: u64,
    /// Semaphores that submissions wait for.
    waits: usize,
    /// `vkResetCommandPool`.
    resets: u64,
    /// `vkCmdPipelineBarrier2`.
    barriers: usize,
    /// Barriers of images in these.
    images: usize,
    /// `vkGetSemaphoreCounterValue`.
    counters: u64,
    /// `vkCmdCopyBuffer` and `vkCmdCopyBufferToImage`.
    copies: u64,
}

/// The calls of the fourth frame: the ones before it fill pools. Each frame begins when the GPU is idle.
fn count(vulkan: &Vulkan, gpu: &Gpu<Device>, mut frame: impl FnMut(&Gpu<Device>)) -> Calls {
    let disguise = vulkan.disguise();
    let calls = |name| disguise.calls(name);
    let totals = || {
        let copies = calls("vkCmdCopyBuffer") + calls("vkCmdCopyBufferToImage");
        let (submits, resets) = (calls("vkQueueSubmit2"), calls("vkResetCommandPool"));
        [submits, resets, calls("vkGetSemaphoreCounterValue"), copies]
    };
    let mut counted = Calls::default();
    for _ in 0..4 {
        assert!(gpu.wait(&gpu.submitted(), LONG).unwrap());
        disguise.take_trace();
        disguise.take_barriers();
        let before = totals();
        frame(gpu);
        let after = totals();
        let [submits, resets, counters, copies] = std::array::from_fn(|index| after[index] - before[index]);
        let waits = disguise.take_trace().iter().map(|batch| batch.waits.len()).sum();
        let recorded = disguise.take_barriers();
        let images = recorded.iter().map(|call| call.images.len()).sum();
        counted = Calls { submits, waits, resets, barriers: recorded.len(), images, counters, copies };
    }
    counted
}

const SIDE: u32 = 32;

fn textures(gpu: &Gpu<Device>, usage: Usage, count: usize) -> Vec<Texture<Device>> {
    let desc = TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage | Usage::COPY_DST);
    let texels = [7; (SIDE * SIDE * 4) as usize];
    (0..count).map(|_| gpu.create_texture_with(&desc, &[TexelData::new(&texels)]).unwrap()).collect()
}

fn read(gpu: &Gpu<Device>, queue: Queue, textures: &[Texture<Device>], state: State) {
    let mut recording = gpu.record(queue, "reader").unwrap();
    for texture in textures {
        recording.use_resource(texture, Subresource::All, state).unwrap();
    }
    recording.submit().unwrap();
}

/// Counts one kind of frame on a card with a queue of each kind. The work gets the frame's number.
fn counted(make: impl FnOnce(&Gpu<Device>) -> Box<dyn FnMut(&Gpu<Device>, u8)>) -> Calls {
    let mut number = 0;
    counted_in_frame(|gpu| {
        let mut work = make(gpu);
        Box::new(move |gpu, _| {
            work(gpu, number);
            number += 1;
        })
    })
}

/// As [`counted`], for work that submits by the frame.
fn counted_in_frame(
    make: impl FnOnce(&Gpu<Device>) -> Box<dyn FnMut(&Gpu<Device>, &Frame<Device>)>,
) -> Calls {
    let vulkan = Vulkan::disguised(Costume::discrete(), &DeviceConfig::default());
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let mut work = make(&gpu);
    let calls = count(&vulkan, &gpu, |gpu| {
        let frame = gpu.begin_frame().unwrap();
        work(gpu, &frame);
        frame.end().unwrap();
    });
    drop(work);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
    calls
}

/// Static textures.
#[test]
fn a_static_frame_of_a_discrete_card() {
    let calls = counted(|gpu| {
        let textures = textures(gpu, Usage::SHADER_READ, 8);
        Box::new(move |gpu, _| read(gpu, Queue::Graphics, &textures, State::PIXEL_SHADER))
    });
    assert_eq!(calls, Calls { submits: 1, resets: 1, counters: 1, ..Calls::default() });
}

/// Two queues that only read the same textures do not wait for each other.
#[test]
fn a_frame_of_a_discrete_card_with_compute() {
    let calls = counted(|gpu| {
        let textures = textures(gpu, Usage::SHADER_READ, 8);
        Box::new(move |gpu, _| {
            read(gpu, Queue::Graphics, &textures, State::PIXEL_SHADER);
            read(gpu, Queue::Compute, &textures, State::NON_PIXEL_SHADER);
        })
    });
    assert_eq!(calls, Calls { submits: 2, resets: 2, counters: 2, ..Calls::default() });
}

/// The same textures, each of one queue family at a time.
#[test]
fn a_frame_of_a_discrete_card_with_exclusive_textures() {
    let calls = counted(|gpu| {
        let textures = textures(gpu, Usage::SHADER_READ | Usage::EXCLUSIVE, 8);
        Box::new(move |gpu, _| {
            read(gpu, Queue::Graphics, &textures, State::PIXEL_SHADER);
            read(gpu, Queue::Compute, &textures, State::NON_PIXEL_SHADER);
        })
    });
    let expected = Calls { submits: 4, waits: 2, resets: 4, barriers: 4, images: 32, counters: 2, copies: 0 };
    assert_eq!(calls, expected);
}

/// Texels of all mips, and bytes of many buffers in one API buffer: one copy for each pair of objects, and no
/// transfer of the old contents.
#[test]
fn a_frame_of_a_discrete_card_with_uploads() {
    for usage in [Usage::SHADER_READ, Usage::SHADER_READ | Usage::RENDER_TARGET] {
        let calls = counted(|gpu| {
            let mips = SIDE.ilog2() + 1;
            let desc = TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage | Usage::COPY_DST).mips(mips);
            let texture = gpu.create_texture(&desc).unwrap();
            let desc = BufferDesc::new(256, Usage::VERTEX | Usage::COPY_DST);
            let buffers: Vec<Buffer<Device>> = (0..64).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
            Box::new(move |gpu, number| {
                for mip in 0..mips {
                    let texels = vec![number; (SIDE * SIDE * 4) as usize >> (2 * mip)];
                    let region = texture.info().region(mip, 0);
                    gpu.upload_texture(&texture, region, TexelData::new(&texels)).unwrap();
                }
                for buffer in &buffers {
                    gpu.upload(buffer, 0, &[number; 128]).unwrap();
                }
                read(gpu, Queue::Graphics, std::slice::from_ref(&texture), State::PIXEL_SHADER);
            })
        });
        let shared =
            Calls { submits: 2, waits: 2, resets: 2, barriers: 2, images: 2, counters: 2, copies: 2 };
        let handed =
            Calls { submits: 3, waits: 2, resets: 3, barriers: 3, images: 3, counters: 2, copies: 2 };
        let expected = if usage == Usage::SHADER_READ { shared } else { handed };
        assert_eq!(calls, expected, "{usage}");
    }
}

/// Several recordings; each reads bytes that the one before wrote.
#[test]
fn a_frame_of_a_discrete_card_with_several_recordings() {
    let calls = counted(|gpu| {
        let targets = textures(gpu, Usage::SHADER_READ | Usage::RENDER_TARGET, 5);
        Box::new(move |gpu, _| {
            for pair in targets.windows(2) {
                let mut recording = gpu.record(Queue::Graphics, "pass").unwrap();
                recording.use_resource(&pair[0], Subresource::All, State::PIXEL_SHADER).unwrap();
                recording.use_resource(&pair[1], Subresource::All, State::RENDER_TARGET).unwrap();
                recording.submit().unwrap();
            }
        })
    });
    assert_eq!(
        calls,
        Calls { submits: 4, resets: 4, barriers: 4, images: 7, counters: 1, ..Calls::default() }
    );
}

/// Dispatches on the graphics queue that hand bytes on to one another, and draws that read other bytes: no barrier
/// names the stages of draws.
#[test]
fn barriers_of_compute_shaders_name_their_stage_alone() {
    let vulkan = Vulkan::disguised(Costume::discrete(), &DeviceConfig::default());
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let usage = Usage::UNORDERED_ACCESS | Usage::SHADER_READ;
    let lights = gpu.create_buffer(&BufferDesc::new(4096, usage)).unwrap();
    let desc = TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage);
    let bloom = gpu.create_texture(&desc).unwrap();
    let (write, read) = (State::COMPUTE_UNORDERED_ACCESS, State::COMPUTE_SHADER);
    let disguise = vulkan.disguise();
    for number in 0..2 {
        disguise.take_barriers();
        let mut recording = gpu.record(Queue::Graphics, "dispatches").unwrap();
        for state in [write, write, read] {
            recording.use_resource(&lights, Subresource::All, state).unwrap();
            recording.use_resource(&bloom, Subresource::All, state).unwrap();
            recording.barriers();
        }
        recording.submit().unwrap();
        let recorded = disguise.take_barriers();
        let memory: Vec<_> = recorded.iter().flat_map(|call| &call.memory).collect();
        let images: Vec<_> = recorded.iter().flat_map(|call| &call.images).collect();
        // Between the dispatches; in the first frame the buffer is new, but the image gets its layout.
        assert_eq!((memory.len(), images.len()), (2 + number, 3));
        for [(before, _), (after, _)] in memory.into_iter().chain(images) {
            let compute = vk::PipelineStageFlags2::COMPUTE_SHADER;
            assert_eq!((*before, *after), (compute, compute));
        }
    }
    drop((lights, bloom));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}

/// The same recordings, submitted in one call.
#[test]
fn recordings_submitted_together_on_a_discrete_card() {
    let chain = |gpu: &Gpu<Device>, targets: &[Texture<Device>]| -> Vec<Recording<Device>> {
        let passes = targets.windows(2).map(|pair| {
            let mut recording = gpu.record(Queue::Graphics, "pass").unwrap();
            recording.use_resource(&pair[0], Subresource::All, State::PIXEL_SHADER).unwrap();
            recording.use_resource(&pair[1], Subresource::All, State::RENDER_TARGET).unwrap();
            recording
        });
        passes.collect()
    };
    let calls = counted_in_frame(|gpu| {
        let targets = textures(gpu, Usage::SHADER_READ | Usage::RENDER_TARGET, 5);
        Box::new(move |gpu, frame| {
            frame.submit_all(chain(gpu, &targets)).unwrap();
        })
    });
    let expected = Calls { submits: 1, resets: 4, barriers: 4, images: 7, counters: 1, ..Calls::default() };
    assert_eq!(calls, expected);
}

/// Four recordings draw to targets of their own, a fifth one reads all: barriers of the four are one command.
#[test]
fn passes_submitted_together_on_a_discrete_card() {
    for is_together in [false, true] {
        let calls = counted_in_frame(|gpu| {
            let targets = textures(gpu, Usage::SHADER_READ | Usage::RENDER_TARGET, 4);
            Box::new(move |gpu, frame| {
                let mut passes: Vec<_> = targets
                    .iter()
                    .map(|target| {
                        let mut pass = gpu.record(Queue::Graphics, "shadow").unwrap();
                        pass.use_resource(target, Subresource::All, State::RENDER_TARGET).unwrap();
                        pass
                    })
                    .collect();
                let mut light = gpu.record(Queue::Graphics, "light").unwrap();
                for target in &targets {
                    light.use_resource(target, Subresource::All, State::PIXEL_SHADER).unwrap();
                }
                passes.push(light);
                if is_together {
                    frame.submit_all(passes).unwrap();
                } else {
                    for pass in passes {
                        pass.submit().unwrap();
                    }
                }
            })
        });
        let (submits, barriers) = if is_together { (1, 2) } else { (5, 5) };
        let expected = Calls { submits, barriers, resets: 5, images: 8, counters: 1, ..Calls::default() };
        assert_eq!(calls, expected, "{is_together}");
    }
}

/// Graphics and compute in turn, which share textures that both only read: one submission a queue.
#[test]
fn queues_in_turn_submitted_together_on_a_discrete_card() {
    let calls = counted_in_frame(|gpu| {
        let textures = textures(gpu, Usage::SHADER_READ, 8);
        Box::new(move |gpu, frame| {
            let passes = (0..6).map(|number| {
                let (queue, state) = match number % 2 {
                    0 => (Queue::Graphics, State::PIXEL_SHADER),
                    _ => (Queue::Compute, State::NON_PIXEL_SHADER),
                };
                let mut pass = gpu.record(queue, "pass").unwrap();
                for texture in &textures {
                    pass.use_resource(texture, Subresource::All, state).unwrap();
                }
                pass
            });
            frame.submit_all(passes.collect()).unwrap();
        })
    });
    assert_eq!(calls, Calls { submits: 2, resets: 6, counters: 2, ..Calls::default() });
}

/// Copies of one recording between the ranges of few API buffers.
#[test]
fn copies_of_a_recording_on_a_discrete_card() {
    let calls = counted(|gpu| {
        let make = |desc: BufferDesc| -> Vec<Buffer<Device>> {
            (0..50).map(|_| gpu.create_buffer(&desc).unwrap()).collect()
        };
        let sources = make(BufferDesc::new(256, Usage::COPY_SRC).memory(MemoryUse::Upload));
        let meshes = make(BufferDesc::new(256, Usage::VERTEX | Usage::COPY_DST));
        Box::new(move |gpu, _| {
            let mut recording = gpu.record(Queue::Graphics, "copies").unwrap();
            for (source, mesh) in sources.iter().zip(&meshes) {
                recording.copy_buffer(source, 0, mesh, 0, 256).unwrap();
            }
            // Depends on the copies before it.
            recording.copy_buffer(&sources[1], 0, &meshes[0], 0, 256).unwrap();
            recording.submit().unwrap();
        })
    });
    assert_eq!(
        calls,
        Calls { submits: 1, resets: 1, barriers: 2, counters: 1, copies: 2, ..Calls::default() }
    );
}
