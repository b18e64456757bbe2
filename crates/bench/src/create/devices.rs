//! Opening devices.

use super::peer::Peer;
use super::report::Line;
use super::{Args, DeviceName, PEER, SUBJECTS, measure_device, measure_way};
use crate::null;

/// Measures every way on one device.
pub(super) fn measure(name: DeviceName, args: &Args) -> Result<Vec<Line>, String> {
    match name {
        DeviceName::Null => {
            measure_device("null", args, || Ok(null::Device::new(tenure_sim::Profile::D3D12_TIER2)))
        }
        DeviceName::Sim => {
            let options =
                || tenure_sim::Options::new(tenure_sim::Profile::D3D12_TIER2).lag(tenure_sim::Lag::None);
            measure_device("sim", args, || Ok(tenure_sim::Device::with_options(options())))
        }
        DeviceName::Vulkan => vulkan(args),
        DeviceName::D3d12 => d3d12(args),
    }
}

fn vulkan(args: &Args) -> Result<Vec<Line>, String> {
    let open = || {
        tenure_vulkan::Device::create(&tenure_vulkan::Options::default()).map_err(|error| error.to_string())
    };
    let mut lines = measure_device("vulkan", args, open)?;
    let device = open()?;
    for subject in SUBJECTS {
        if args.wants(subject, PEER) {
            let mut peer = Peer::new(&device, subject)?;
            lines.push(measure_way("vulkan", PEER, subject, args, &mut peer)?);
        }
        #[cfg(not(windows))]
        if args.wants(subject, super::VK_MEM) {
            let mut peer = super::vma::Vma::new(&device, subject)?;
            lines.push(measure_way("vulkan", super::VK_MEM, subject, args, &mut peer)?);
        }
    }
    Ok(lines)
}

#[cfg(windows)]
fn d3d12(args: &Args) -> Result<Vec<Line>, String> {
    let open =
        || tenure_d3d12::Device::create(&tenure_d3d12::Options::default()).map_err(|error| error.to_string());
    measure_device("d3d12", args, open)
}

#[cfg(not(windows))]
fn d3d12(_: &Args) -> Result<Vec<Line>, String> {
    Err("Direct3D 12 is on Windows alone".to_owned())
}
