//! What small buffers and textures reserve on Direct3D 12 with tight alignment and without, on the simulated device: it
//! follows the rules of Agility SDK 1.618 and 1.619.4, and no timing is involved.

use std::fmt;

use comfy_table::{Table, presets};
use serde_json::{Value, json};
use tenure_core::{BufferDesc, Config, Error, Format, Gpu, PoolConfig, Strategy, TextureDesc, Usage};
use tenure_sim::{Device, Options, Profile};
use test_random::Rng;

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Half of these are buffers, half textures.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(2..=40_000))]
    pub count: u32,
    /// Where the sizes come from.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Runs the measurements and prints them.
///
/// # Errors
/// The errors of the manager.
pub fn run(args: &Args) -> Result<(), Error> {
    let report = Report::new(args)?;
    if args.json {
        println!("{:#}", report.to_json());
    } else {
        println!("{report}");
    }
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

struct Report(Vec<Line>);

impl Report {
    fn new(args: &Args) -> Result<Self, Error> {
        let mut lines = Vec::new();
        for (strategy, how) in STRATEGIES {
            for (kind, what) in KINDS {
                let (live, off) = measure(args, how, what, false)?;
                let (_, on) = measure(args, how, what, true)?;
                lines.push(Line { strategy, kind, live, reserved: [off, on] });
            }
        }
        Ok(Self(lines))
    }

    fn to_json(&self) -> Value {
        let line = |line: &Line| {
            let ([off, on], [off_ratio, on_ratio]) = (line.reserved, line.ratios());
            json!({
                "strategy": line.strategy,
                "kind": line.kind,
                "live": line.live,
                "reserved": off,
                "reserved_tight": on,
                "reserved_over_live": off_ratio,
                "reserved_over_live_tight": on_ratio,
            })
        };
        json!(self.0.iter().map(line).collect::<Vec<_>>())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["strategy", "resources", "live (KiB)", "reserved / live, off", "on"]);
        for line in &self.0 {
            let [off, on] = line.ratios().map(|ratio| format!("{ratio:.2}"));
            let live = (line.live >> 10).to_string();
            table.add_row([line.strategy.to_owned(), line.kind.to_owned(), live, off, on]);
        }
        write!(f, "{table}")
    }
}

/// Bytes of what is created, and those reserved for it.
fn measure(args: &Args, strategy: Strategy, kind: Kind, is_tight: bool) -> Result<(u64, u64), Error> {
    let device = Device::with_options(Options::new(Profile::D3D12_TIER2).tight_alignment(is_tight));
    let gpu = Gpu::new(device, Config::from(PoolConfig { strategy, ..PoolConfig::default() }))?;
    let mut random = Rng::new(args.seed);
    let (mut live, mut buffers, mut textures) = (0, Vec::new(), Vec::new());
    for number in 0..args.count {
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
    use super::{Args, Report};

    /// With tight alignment nothing takes more than without, and what lies in heaps takes little more than it is.
    #[test]
    fn tight_alignment_saves() -> Result<(), tenure_core::Error> {
        let report = Report::new(&Args { json: false, count: 2_000, seed: 1 })?;
        for line in &report.0 {
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
