//! A texture with one subresource on each of two queues.

use tenure_core::{
    Buffer, BufferDesc, BufferViewDesc, CompactionBudget, Format, Gpu, Queue, State, Subresource, TexelData,
    TextureDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};
use test_random::Rng;

use crate::buffers::{compact, end, with};
use crate::lifetimes::{assert_no_hazards, one_in_eight};

/// Each queue finds its mip in its last state and owned by the queue, also if the state is not declared again.
#[test]
fn each_queue_keeps_its_mips() {
    for (mine, other) in [(0, 1), (1, 0)] {
        let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::Submissions(3)));
        let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
        let desc = TextureDesc::d2(256, 256, Format::Rgba8Unorm, usage).mips(2).movable();
        let kept = one_in_eight(&gpu, 128, || gpu.create_texture(&desc).unwrap());
        for texture in &kept {
            for mip in 0..2 {
                let region = texture.info().region(mip, 0);
                let texels = vec![7; region.extent[0] as usize * region.extent[1] as usize * 4];
                gpu.upload_texture(texture, region, TexelData::new(&texels)).unwrap();
            }
        }
        let uses =
            [(Queue::Compute, mine, State::UNORDERED_ACCESS), (Queue::Graphics, other, State::PIXEL_SHADER)];
        for names in [true, false] {
            for (queue, mip, state) in uses {
                let mut recording = gpu.record(queue, "use").unwrap();
                for texture in &kept {
                    if names {
                        recording.use_resource(texture, Subresource::One(mip), state).unwrap();
                    }
                    let (commands, scratch) = recording.split();
                    let object = scratch.texture(texture).unwrap();
                    if !names {
                        commands.raw().use_texture(object, Subresource::One(mip), state);
                    }
                }
                recording.submit().unwrap();
            }
            if names {
                compact(&gpu);
                assert!(kept.iter().all(|texture| texture.moves() == 0), "each queue has a part of it");
            }
        }
        assert_no_hazards(&gpu);
        drop(kept);
        end(gpu);
    }
}

/// Textures that two queues use a part of while their moves wait move once one queue has used all of them.
#[test]
fn textures_that_were_divided_move_later() {
    let reserved = [false, true].map(|divides| {
        let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA));
        let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
        let desc = TextureDesc::d2(256, 256, Format::Rgba8Unorm, usage).mips(2).movable();
        let kept = one_in_eight(&gpu, 128, || gpu.create_texture(&desc).unwrap());
        let using = |queue, part, state| {
            let mut recording = gpu.record(queue, "use").unwrap();
            for texture in &kept {
                recording.use_resource(texture, part, state).unwrap();
            }
            recording
        };
        if divides {
            let open = using(Queue::Graphics, Subresource::One(0), State::UNORDERED_ACCESS);
            let budget = CompactionBudget { bytes: 64 << 20, moves: 100, pieces: 10_000 };
            assert!(
                (0..10).any(|_| gpu.compact(budget).unwrap().waiting > 0),
                "moves wait for the recording"
            );
            open.submit().unwrap();
            using(Queue::Compute, Subresource::One(1), State::UNORDERED_ACCESS).submit().unwrap();
            compact(&gpu);
            assert!(kept.iter().all(|texture| texture.moves() == 0), "each queue has a part of it");
        }
        using(Queue::Graphics, Subresource::All, State::PIXEL_SHADER).submit().unwrap();
        // After a change compaction tries again where it has found nothing to do.
        let one_more = gpu.create_texture(&desc).unwrap();
        compact(&gpu);
        assert_no_hazards(&gpu);
        let reserved = gpu.stats().reserved;
        drop((kept, one_more));
        end(gpu);
        reserved
    });
    assert!(reserved[1] <= reserved[0] * 11 / 10, "{reserved:?}");
}

/// A buffer that the copy queue has used and moved, and the graphics queue has moved afterwards, is read in its
/// new place without declaring its state again.
#[test]
fn a_move_after_one_by_another_queue_is_visible() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let gpu = with(DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::Submissions(3)));
        let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
        let desc = BufferDesc::new(40_000, usage).movable();
        let mut all = Vec::new();
        let mut recording = gpu.record(Queue::Copy, "copy").unwrap();
        for _ in 0..16 {
            all.push(gpu.create_buffer_with(&desc, &[1; 40_000]).unwrap());
        }
        gpu.flush_uploads().unwrap();
        let all: Vec<_> = all.into_iter().step_by(7).collect();
        gpu.reclaim().unwrap();
        let name = |gpu: &Gpu<Device>, buffer: &Buffer<Device>| {
            let mut recording = gpu.record(Queue::Graphics, "name").unwrap();
            recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
            recording.submit().unwrap()
        };
        if rng.below(2) == 0 {
            name(&gpu, &all[1]);
        }
        recording.copy_buffer(&all[2], 0, &all[1], 0, 1000).unwrap();
        recording.submit().unwrap();
        for _ in 0..rng.below(5) {
            gpu.begin_frame().unwrap().end().unwrap();
        }
        let view = gpu.create_buffer_view(&all[2], &BufferViewDesc::raw()).unwrap();
        name(&gpu, &all[2]);
        for _ in 0..rng.below(4) {
            gpu.compact(CompactionBudget { bytes: 1 << 20, moves: 100, pieces: 10_000 }).unwrap();
        }
        let mut recording = gpu.record(Queue::Graphics, "use at rest").unwrap();
        let (commands, scratch) = recording.split();
        let place = scratch.buffer(&all[2]).unwrap();
        commands.raw().use_buffer(place.raw(), place.offset(), 40_000, State::NON_PIXEL_SHADER);
        recording.submit().unwrap();
        gpu.device().run_until_idle();
        let hazards = gpu.device().take_hazards();
        assert!(hazards.is_empty(), "{seed}: {hazards:?}");
        drop((all, view));
        end(gpu);
    }
}
