//! Automatic moves, at the end of frames.

use tenure_core::{BufferDesc, CompactionConfig, Config, Format, Gpu, TextureDesc, TextureViewDesc, Usage};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

use crate::buffers::{end, end_frame};

const KIB: u64 = 1 << 10;

fn gpu(config: Config) -> Gpu<Device> {
    Gpu::new(Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(3))), config)
        .unwrap()
}

/// Of 2,000 textures with views every tenth is kept: the reserved bytes shrink to their size, and then nothing
/// more moves.
#[test]
fn automatic_compaction_frees_sparse_memory() {
    let gpu = gpu(Config::default());
    let desc = TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::SHADER_READ).movable().name("level");
    let all: Vec<_> = (0..2000)
        .map(|byte| {
            let texture = gpu.create_texture(&desc).unwrap();
            let texels = vec![byte as u8; 256 << 10];
            let region = texture.info().region(0, 0);
            gpu.upload_texture(&texture, region, tenure_core::TexelData::new(&texels)).unwrap();
            let view = gpu.create_texture_view(&texture, &TextureViewDesc::sampled()).unwrap();
            (texture, view)
        })
        .collect();
    gpu.flush_uploads().unwrap();
    let kept: Vec<_> =
        all.into_iter().enumerate().filter(|(index, _)| index % 10 == 0).map(|(_, kept)| kept).collect();
    let live = kept.len() as u64 * 256 * KIB;
    let reserved = || {
        let stats = gpu.report();
        let pools = stats.pools.iter().filter(|pool| format!("{:?}", pool.stats.kind) == "Textures");
        pools.map(|pool| pool.stats.reserved).sum::<u64>()
    };
    assert!(reserved() > 9 * live);
    (0..200).for_each(|_| end_frame(&gpu));
    let share = live as f64 / reserved() as f64;
    assert!(share >= 0.95, "{share}");
    let moves = || kept.iter().map(|(texture, _)| texture.moves()).sum::<u64>();
    let before = moves();
    assert!(before > 0 && kept.iter().all(|(texture, _)| texture.moves() <= 1), "nothing moves twice");
    let submissions = gpu.device().calls().made(tenure_sim::CallKind::Submit);
    (0..200).for_each(|_| end_frame(&gpu));
    assert_eq!((moves(), gpu.device().calls().made(tenure_sim::CallKind::Submit)), (before, submissions));
    for (index, (texture, _)) in kept.iter().enumerate() {
        let region = texture.info().region(0, 0);
        let found = gpu.read_back_texture(texture, region).unwrap();
        let found = found.wait(std::time::Duration::from_secs(10)).unwrap();
        assert!(found.iter().all(|byte| *byte == (index * 10) as u8));
    }
    drop(kept);
    end(gpu);
}

/// Nothing moves in a program that creates and drops resources in each frame.
#[test]
fn short_lived_resources_do_not_move() {
    let gpu = gpu(Config::default());
    let desc = BufferDesc::new(100 * KIB, Usage::VERTEX).movable();
    let mut live = Vec::new();
    for frame in 0..100 {
        let count = if frame % 4 == 0 { 60 } else { 20 };
        live.truncate(count);
        while live.len() < count {
            live.push(gpu.create_buffer_with(&desc, &[1; 64]).unwrap());
        }
        end_frame(&gpu);
    }
    let moved: u64 = live.iter().map(|buffer| buffer.moves()).sum();
    assert!(moved < 60, "{moved}");
    drop(live);
    end(gpu);
}

/// The configuration limits the moves, or forbids them.
#[test]
fn the_configuration_is_kept() {
    let limits = [
        CompactionConfig::default().is_automatic(false),
        CompactionConfig::default().min_free(100),
        CompactionConfig::default().quiet_frames(1000),
        CompactionConfig::default().frame_moves(1),
        CompactionConfig::default().frame_bytes(200 * KIB),
    ];
    for (limits, most) in limits.into_iter().zip([0, 0, 0, 1, 2]) {
        let gpu = gpu(Config::from(limits.clone()));
        let desc = BufferDesc::new(100 * KIB, Usage::VERTEX).movable();
        let all: Vec<_> = (0..400).map(|_| gpu.create_buffer_with(&desc, &[1; 64]).unwrap()).collect();
        let kept: Vec<_> =
            all.into_iter().enumerate().filter(|(index, _)| index % 10 == 0).map(|(_, kept)| kept).collect();
        let mut before = 0;
        for _ in 0..60 {
            end_frame(&gpu);
            let now: u64 = kept.iter().map(|buffer| buffer.moves()).sum();
            assert!(now - before <= most, "{limits:?}: {before} -> {now}");
            before = now;
        }
        assert_eq!(before > 0, most > 0, "{limits:?}");
        drop(kept);
        end(gpu);
    }
    let wrong = [
        CompactionConfig::default().min_free(0),
        CompactionConfig::default().frame_moves(0),
        CompactionConfig::default().frame_bytes(1),
        CompactionConfig::default().frame_pieces(0),
        CompactionConfig::default().quiet_frames(u32::MAX),
    ];
    for wrong in wrong {
        assert!(Config::from(wrong).validate().unwrap_err().field.starts_with("compaction."));
    }
}
