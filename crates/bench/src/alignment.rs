//! Memory reserved by small buffers and textures on Direct3D 12 with and without tight alignment, on the
//! simulated device: it follows the rules of Agility SDK 1.618 and 1.619.4, and no timing is involved.

use tenure_core::{BufferDesc, Config, Error, Format, Gpu, PoolConfig, Strategy, TextureDesc, Usage};
use tenure_sim::{Device, DeviceConfig, Profile};
use test_random::Rng;

use crate::Result;
use crate::table::table;

/// Half of these are buffers, half textures.
const COUNT: u32 = 20_000;

/// Runs the measurements and prints them.
///
/// # Errors
/// The errors of the manager.
pub fn run() -> Result {
    let rows = lines(COUNT)?.into_iter().map(|(strategy, kind, live, ratios)| {
        format!("{strategy} | {kind} | {} | {:.2} | {:.2}", live >> 10, ratios[0], ratios[1])
    });
    println!("{}", table("strategy | resources | live (KiB) | reserved / live, off | on", rows));
    Ok(())
}

/// Whether the resource of a number is created.
type Kind = fn(u32) -> bool;

/// Resources with even numbers are buffers, the others textures.
const KINDS: [(&str, Kind); 3] =
    [("buffers", |number| number % 2 == 0), ("textures", |number| number % 2 == 1), ("both", |_| true)];

const STRATEGIES: [(&str, Strategy); 3] =
    [("pooled", Strategy::Pooled), ("placed", Strategy::Placed), ("committed", Strategy::Committed)];

/// A strategy and a kind of resources, the requested bytes with packed texels, and the driver's bytes, without
/// and with tight alignment.
type Line = (&'static str, &'static str, u64, [f64; 2]);

fn lines(count: u32) -> Result<Vec<Line>, Error> {
    let mut lines = Vec::new();
    for (name, strategy) in STRATEGIES {
        for (kind, is_created) in KINDS {
            let of = |is_tight| measure(count, strategy, is_created, is_tight);
            let ((live, off), (_, on)) = (of(false)?, of(true)?);
            lines.push((name, kind, live, [off, on].map(|reserved| reserved as f64 / live as f64)));
        }
    }
    Ok(lines)
}

/// Bytes of all resources, and those reserved for them.
fn measure(count: u32, strategy: Strategy, is_created: Kind, is_tight: bool) -> Result<(u64, u64), Error> {
    let device = Device::with_config(DeviceConfig::new(Profile::D3D12_TIER2).tight_alignment(is_tight));
    let gpu = Gpu::new(device, Config::from(PoolConfig::default().strategy(strategy)))?;
    let mut random = Rng::new(1);
    let (mut live, mut buffers, mut textures) = (0, Vec::new(), Vec::new());
    for number in 0..count {
        // The random numbers are always drawn for both, so that each kind is the same alone and beside the
        // other.
        let (size, side) = (16 + random.below(2032), 4 + random.below(29) as u32);
        if !is_created(number) {
            continue;
        }
        if number % 2 == 0 {
            buffers.push(gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX | Usage::COPY_DST))?);
            live += size;
        } else {
            let desc = TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::SHADER_READ);
            live += desc.info.packed_bytes().unwrap_or(0);
            textures.push(gpu.create_texture(&desc)?);
        }
    }
    Ok((live, gpu.stats().reserved))
}

#[cfg(test)]
mod tests {

    /// Tight alignment never takes more memory, and heaps are little larger than their resources.
    #[test]
    fn tight_alignment_saves() -> Result<(), tenure_core::Error> {
        for (strategy, kind, _, [off, on]) in super::lines(2_000)? {
            assert!(on <= off, "{strategy} {kind}: {on}, not {off}");
            assert!((strategy, kind) != ("placed", "buffers") || off > 50.0, "{strategy} {kind}: {off}");
            assert!(strategy == "committed" || on < 2.0, "{strategy} {kind}: {on}");
        }
        Ok(())
    }
}
