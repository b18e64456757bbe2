//! A texture of which two queues have a subresource each.

use tenure_core::{Format, Queue, State, Subresource, TexelData, TextureDesc, Usage};
use tenure_sim::{Lag, Options, Profile};

use crate::buffers::{compact, end, with};
use crate::lifetimes::{assert_no_hazards, one_in_eight};

/// Each queue finds its mip in the state in which it left it, and as its own, also where it is not named again.
#[test]
fn each_queue_keeps_its_mips() {
    for (mine, other) in [(0, 1), (1, 0)] {
        let gpu = with(Options::new(Profile::VULKAN_NVIDIA).lag(Lag::Submissions(3)));
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
