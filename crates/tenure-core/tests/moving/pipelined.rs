//! Programs that have a recording open at the end of each frame.

use tenure_core::{
    BufferDesc, CompactionBudget, CompactionConfig, Config, Format, Gpu, Queue, Recording, State,
    Subresource, Texture, TextureDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

use crate::buffers::{by_hand, end, end_frame};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn gpu(config: Config) -> Gpu<Device> {
    Gpu::new(Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(3))), config)
        .unwrap()
}

fn textures(gpu: &Gpu<Device>, side: u32, count: usize, step: usize) -> Vec<Texture<Device>> {
    let desc = TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::SHADER_READ).movable();
    let all: Vec<_> = (0..count).map(|_| gpu.create_texture(&desc).unwrap()).collect();
    all.into_iter().step_by(step).collect()
}

/// Resources of the recordings wait, and all others move.
#[test]
fn resources_in_use_do_not_delay_other_moves() {
    for hot in [40, 400, 2000] {
        let gpu = gpu(Config::default());
        let desc = BufferDesc::new(20 * KIB, Usage::VERTEX).movable();
        let all: Vec<_> = (0..hot * 8).map(|_| gpu.create_buffer_with(&desc, &[1; 64]).unwrap()).collect();
        let hot: Vec<_> = all.into_iter().step_by(8).collect();
        let cold = textures(&gpu, 128, 4000, 5);
        let record = || {
            let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
            for buffer in &hot {
                recording.use_resource(buffer, Subresource::All, State::VERTEX_OR_CONSTANT).unwrap();
            }
            recording
        };
        let mut last = record();
        for _ in 0..100 {
            let next = record();
            last.submit().unwrap();
            last = next;
            end_frame(&gpu);
        }
        let moved = cold.iter().filter(|texture| texture.moves() > 0).count();
        assert!(moved > 500, "{} hot: {moved} of {}", hot.len(), cold.len());
        assert!(hot.iter().all(|buffer| buffer.moves() == 0));
        drop(last);
        (0..100).for_each(|_| end_frame(&gpu));
        assert!(hot.iter().any(|buffer| buffer.moves() > 0));
        drop((hot, cold));
        end(gpu);
    }
}

fn hold(gpu: &Gpu<Device>, textures: &[Texture<Device>]) -> Recording<Device> {
    let mut recording = gpu.record(Queue::Graphics, "load").unwrap();
    for texture in textures {
        recording.use_resource(texture, Subresource::All, State::PIXEL_SHADER).unwrap();
    }
    recording
}

/// Moves that waited for a recording are not all made at once when it ends.
#[test]
fn waiting_moves_respect_the_budget() {
    let limits = CompactionConfig::default().frame_moves(5);
    for config in [CompactionConfig::default(), limits] {
        let gpu = gpu(Config::from(config.clone()));
        let textures = textures(&gpu, 1024, 200, 8);
        let recording = hold(&gpu, &textures);
        (0..100).for_each(|_| end_frame(&gpu));
        assert_eq!(gpu.compaction_stats().moves, 0);
        drop(recording);
        for _ in 0..100 {
            let before = gpu.compaction_stats();
            end_frame(&gpu);
            let after = gpu.compaction_stats();
            assert!(after.moves - before.moves <= config.frame_moves.into(), "{before:?} {after:?}");
            assert!(after.bytes - before.bytes <= 16 * MIB, "{before:?} {after:?}");
        }
        assert!(gpu.compaction_stats().moves > 10, "{:?}", gpu.compaction_stats());
        drop(textures);
        end(gpu);
    }
}

/// The same with explicit compaction, which finishes.
#[test]
fn waiting_moves_respect_the_budget_by_hand() {
    let gpu = gpu(by_hand());
    let textures = textures(&gpu, 1024, 200, 8);
    (0..8).for_each(|_| end_frame(&gpu));
    let recording = hold(&gpu, &textures);
    let all = CompactionBudget { bytes: 1 << 30, moves: 1000, pieces: 10_000 };
    assert!((0..20).any(|_| gpu.compact(all).unwrap().waiting > 10));
    drop(recording);
    let budget = CompactionBudget { bytes: 10 * MIB, moves: 100, pieces: 1000 };
    let mut is_done = false;
    for _ in 0..100 {
        let report = gpu.compact(budget).unwrap();
        assert!(report.bytes <= 10 * MIB, "{report:?}");
        end_frame(&gpu);
        is_done = report.is_done;
        if is_done {
            break;
        }
    }
    assert!(is_done && gpu.compaction_stats().moves > 10);
    drop(textures);
    end(gpu);
}
