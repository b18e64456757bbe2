//! What small buffers and textures reserve on Direct3D 12 with tight alignment and without, on the simulated device: it
//! follows the rules of Agility SDK 1.618 and 1.619.4, and no timing is involved.

use tenure_core::{BufferDesc, Config, Error, Format, Gpu, PoolConfig, Strategy, TextureDesc, Usage};
use tenure_sim::{Device, Options, Profile};
use test_random::Rng;

use crate::table::{row, table};

/// Half of these are buffers, half textures.
const COUNT: u32 = 20_000;

/// Runs the measurements and prints them.
///
/// # Errors
/// The errors of the manager.
pub fn run() -> Result<(), Error> {
    let rows = lines(COUNT)?.into_iter().map(|line| {
        let [off, on] = line.ratios().map(|ratio| format!("{ratio:.2}"));
        row![line.strategy, line.kind, line.live >> 10, off, on]
    });
    println!("{}", table(&["strategy", "resources", "live (KiB)", "reserved / live, off", "on"], rows));
    Ok(())
}

/// What is created.
#[derive(Clone, Copy)]
enum Kind {
    Buffers,
    Textures,
    Both,
}

const KINDS: [(&str, Kind); 3] =
    [("buffers", Kind::Buffers), ("textures", Kind::Textures), ("both", Kind::Both)];

const STRATEGIES: [(&str, Strategy); 3] =
    [("pooled", Strategy::Pooled), ("placed", Strategy::Placed), ("committed", Strategy::Committed)];

/// One way to place one kind of resources.
struct Line {
    strategy: &'static str,
    kind: &'static str,
    /// Bytes of what was asked for, texels packed.
    live: u64,
    /// Bytes taken from the driver, without tight alignment and with it.
    reserved: [u64; 2],
}

impl Line {
    fn ratios(&self) -> [f64; 2] {
        self.reserved.map(|bytes| bytes as f64 / self.live as f64)
    }
}

fn lines(count: u32) -> Result<Vec<Line>, Error> {
    let mut lines = Vec::new();
    for (strategy, how) in STRATEGIES {
        for (kind, what) in KINDS {
            let (live, off) = measure(count, how, what, false)?;
            let (_, on) = measure(count, how, what, true)?;
            lines.push(Line { strategy, kind, live, reserved: [off, on] });
        }
    }
    Ok(lines)
}

/// Bytes of what is created, and those reserved for it.
fn measure(count: u32, strategy: Strategy, kind: Kind, is_tight: bool) -> Result<(u64, u64), Error> {
    let device = Device::with_options(Options::new(Profile::D3D12_TIER2).tight_alignment(is_tight));
    let gpu = Gpu::new(device, Config::from(PoolConfig { strategy, ..PoolConfig::default() }))?;
    let mut random = Rng::new(1);
    let (mut live, mut buffers, mut textures) = (0, Vec::new(), Vec::new());
    for number in 0..count {
        let is_buffer = number % 2 == 0;
        // Both are drawn in any case, so that each kind is the same by itself and beside the other.
        let (size, side) = (16 + random.below(2032), 4 + random.below(29) as u32);
        match kind {
            Kind::Buffers | Kind::Both if is_buffer => {
                let desc = BufferDesc::new(size, Usage::VERTEX | Usage::COPY_DST);
                buffers.push(gpu.create_buffer(&desc)?);
                live += size;
            }
            Kind::Textures | Kind::Both if !is_buffer => {
                let desc = TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::SHADER_READ);
                live += desc.info.packed_bytes().unwrap_or(0);
                textures.push(gpu.create_texture(&desc)?);
            }
            _ => {}
        }
    }
    Ok((live, gpu.stats().reserved))
}

#[cfg(test)]
mod tests {

    /// With tight alignment nothing takes more than without, and what lies in heaps takes little more than it is.
    #[test]
    fn tight_alignment_saves() -> Result<(), tenure_core::Error> {
        for line in super::lines(2_000)? {
            let ([off, on], name) = (line.ratios(), format!("{} {}", line.strategy, line.kind));
            assert!(on <= off, "{name}: {on}, not {off}");
            if (line.strategy, line.kind) == ("placed", "buffers") {
                assert!(off > 50.0, "{name}: {off}");
            }
            assert!(line.strategy == "committed" || on < 2.0, "{name}: {on}");
        }
        Ok(())
    }
}
