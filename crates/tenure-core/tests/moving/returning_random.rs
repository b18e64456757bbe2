//! Random programs whose memory is short now and then.

use tenure_core::{Buffer, Texture};
use tenure_core::{BufferDesc, Config, Format, Gpu, Queue, TexelData, TextureDesc, Usage};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};
use test_random::Rng;

use crate::buffers::{SOON, end};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn run(profile: Profile, seed: u64, faults: bool) -> u64 {
    let mut rng = Rng::new(seed);
    let lag = [Lag::None, Lag::Submissions(3), Lag::Random { max: 12 }][rng.below(3) as usize];
    let gpu =
        Gpu::new(Device::with_config(DeviceConfig::new(profile).seed(seed).lag(lag)), Config::default())
            .unwrap();
    let mut buffers: Vec<(Buffer<Device>, u8, u32)> = Vec::new();
    let mut textures: Vec<(Texture<Device>, u8)> = Vec::new();
    let mut byte = 0_u8;
    let mut open = Vec::new();
    for _ in 0..250 {
        byte = byte.wrapping_add(1);
        if faults && rng.below(20) == 0 {
            let calls = [
                CallKind::Submit,
                CallKind::CreatePlaced,
                CallKind::CreateHeap,
                CallKind::CreateList,
                CallKind::CreateCommitted,
            ];
            let call = calls[rng.below(5) as usize];
            gpu.device().faults().inject(Fault::nth(1 + rng.below(4), FaultKind::OutOfMemory).of(call));
        }
        match rng.below(12) {
            0..=2 => {
                let size = [300, 12 * KIB, 100 * KIB, 900 * KIB, 3 * MIB, 17 * MIB][rng.below(6) as usize];
                let stride = [1, 12, 20][rng.below(3) as usize];
                let mut desc =
                    BufferDesc::new(size, Usage::SHADER_READ).movable().stride(stride).name("mesh");
                if rng.below(3) == 0 {
                    desc = desc.evictable();
                }
                if rng.below(3) == 0 {
                    desc = desc.own_resource().alignment(1 << rng.below(17));
                }
                if let Ok(made) = gpu.create_buffer_with(&desc, &vec![byte; size as usize]) {
                    buffers.push((made, byte, stride));
                }
            }
            3 | 4 => {
                let side = [16, 64, 256, 1024][rng.below(4) as usize];
                let usage =
                    [Usage::SHADER_READ, Usage::SHADER_READ | Usage::RENDER_TARGET][rng.below(2) as usize];
                let mut desc = TextureDesc::d2(side, side, Format::Rgba8Unorm, usage).movable().name("grass");
                if rng.below(3) == 0 {
                    desc = desc.evictable();
                }
                let texels = vec![byte; (side * side * 4) as usize];
                if let Ok(made) = gpu.create_texture_with(&desc, &[TexelData::new(&texels)]) {
                    textures.push((made, byte));
                }
            }
            5 if !buffers.is_empty() => drop(buffers.swap_remove(rng.below(buffers.len() as u64) as usize)),
            6 if !textures.is_empty() => {
                drop(textures.swap_remove(rng.below(textures.len() as u64) as usize))
            }
            7 if !buffers.is_empty() => {
                let at = rng.below(buffers.len() as u64) as usize;
                let (buffer, held, _) = &mut buffers[at];
                let bytes = vec![byte; buffer.size() as usize];
                if gpu.upload(buffer, 0, &bytes).is_ok() {
                    *held = byte;
                }
            }
            8 => {
                let mib = [1, 8, 40, 2000][rng.below(4) as usize];
                gpu.device().set_budget(0, mib * MIB).unwrap();
            }
            9 => {
                let cap = [None, Some(20 * MIB), Some(60 * MIB)][rng.below(3) as usize];
                gpu.set_memory_cap(0, cap).unwrap();
            }
            10 if open.len() < 3 => {
                if let Ok(mut recording) = gpu.record(Queue::Graphics, "use") {
                    for (buffer, ..) in buffers.iter().take(3) {
                        let _maybe_refused = recording.use_resource(
                            buffer,
                            tenure_core::Subresource::All,
                            tenure_core::State::NON_PIXEL_SHADER,
                        );
                    }
                    open.push(recording);
                }
            }
            10 => {
                let _maybe_refused = open.pop().map(|recording| recording.submit());
            }
            _ => {}
        }
        let _maybe_refused = gpu.begin_frame().and_then(|frame| frame.end());
    }
    gpu.device().faults().clear();
    open.clear();
    gpu.set_memory_cap(0, None).unwrap();
    gpu.device().set_budget(0, 4096 * MIB).unwrap();
    (0..150).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
    let mut moves = 0;
    for (buffer, byte, stride) in &buffers {
        let found = gpu.read_back(buffer, 0, buffer.size()).unwrap().wait(SOON).unwrap();
        assert!(found.iter().all(|found| found == byte), "{profile:?} {seed}");
        moves += buffer.moves();
        assert!(buffer.size() < 4096 || buffer.first_element(*stride).is_some(), "{profile:?} {seed}");
    }
    for (texture, byte) in &textures {
        let found = gpu.read_back_texture(texture, texture.info().region(0, 0)).unwrap().wait(SOON).unwrap();
        assert!(found.iter().all(|found| found == byte), "{profile:?} {seed}");
    }
    drop((buffers, textures));
    assert_eq!(gpu.device().take_hazards(), [], "{profile:?} {seed}");
    end(gpu);
    moves
}

/// On any device, with any failure, nothing is lost.
#[test]
fn random_programs_lose_no_contents() {
    let profiles = [
        Profile::VULKAN_NVIDIA,
        Profile::VULKAN_AMD_SMALL_BAR,
        Profile::D3D12_TIER1,
        Profile::D3D12_TIER2,
        Profile::D3D12_ENHANCED,
        Profile::D3D12_REBAR,
        Profile::VULKAN_INTEL,
        Profile::VULKAN_MOBILE,
    ];
    let mut moves = 0;
    for seed in 0..16 {
        moves += run(profiles[seed as usize % 8], seed, seed >= 8);
    }
    assert!(moves > 50, "{moves}");
}
