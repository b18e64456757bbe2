//! `tenure devices`: the devices of each API.

mod device_properties;
#[cfg(any(feature = "vulkan", all(windows, feature = "d3d12")))]
mod real;
mod table;

use std::io::Write;

use tenure::device::{Api as Rules, Device};
use tenure::sim;

use crate::adapter_properties::About;
use crate::args::DevicesArgs;
use crate::error::CliError;
use crate::output;
use crate::replay::{NoDevice, Verdict};
pub(crate) use device_properties::{Found, vulkan_profile};
pub(crate) use table::{bytes, tables};

pub(crate) fn run(args: &DevicesArgs) -> Result<Verdict, CliError> {
    let devices = Devices::gather(args.sim);
    let verdict = if devices.found.is_empty() { Verdict::Faulty } else { Verdict::Clean };
    Ok(output::tell(verdict, |out| {
        if args.json {
            for found in &devices.found {
                serde_json::to_writer(&mut *out, found)?;
                writeln!(out)?;
            }
            devices.missing.iter().for_each(output::complain);
            return Ok(());
        }
        write!(out, "{}", table::tables(&devices.found))?;
        for missing in &devices.missing {
            writeln!(out, "{missing}")?;
        }
        Ok(())
    })?)
}

/// The devices found, and the reasons for missing ones.
#[derive(Default)]
struct Devices {
    found: Vec<Found>,
    missing: Vec<NoDevice>,
}

impl Devices {
    /// Opens and closes every device of every API.
    fn gather(with_sim: bool) -> Self {
        let mut devices = Self::default();
        #[cfg(feature = "vulkan")]
        devices.find_all::<crate::api::vulkan::Vulkan>();
        #[cfg(not(feature = "vulkan"))]
        devices.missing.push(crate::feature::Feature::Vulkan.no_device());
        #[cfg(all(windows, feature = "d3d12"))]
        devices.find_all::<crate::api::d3d12::D3d12>();
        #[cfg(not(all(windows, feature = "d3d12")))]
        devices.missing.push(crate::feature::Feature::D3d12.no_device());
        if with_sim {
            devices.found.extend(sim::Profile::ALL.iter().copied().filter_map(simulated));
        }
        devices
    }
}

fn simulated(profile: sim::Profile) -> Option<Found> {
    let device = sim::Device::new(profile);
    Found::new(profile.name().to_owned(), about_simulated(&device), &device).ok()
}

pub(crate) fn about_simulated(device: &sim::Device) -> About {
    let api = match device.properties().api {
        Rules::Direct3D12 => "Direct3D 12",
        Rules::Vulkan => "Vulkan",
    };
    About {
        kind: "simulated",
        version: format!("as {api}"),
        driver: "none".to_owned(),
        vendor: 0,
        device: 0,
        uses: Vec::new(),
    }
}
