//! `tenure devices`: the devices of each API.

mod found;
mod table;

use std::io::Write;

use tenure::device::{Api as Rules, Device};
use tenure::sim;

#[cfg(windows)]
use crate::api::d3d12::D3d12;
use crate::api::vulkan::Vulkan;
use crate::api::{About, Api, Layer};
use crate::args::DevicesArgs;
use crate::error::CliError;
use crate::output;
use crate::replay::{NoDevice, Verdict};
use found::Found;

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

/// The devices that were found, and the reasons for those that were not.
#[derive(Default)]
struct Devices {
    found: Vec<Found>,
    missing: Vec<NoDevice>,
}

impl Devices {
    /// Opens and closes every device of every API.
    fn gather(with_sim: bool) -> Self {
        let mut devices = Self::default();
        devices.find_all::<Vulkan>();
        #[cfg(windows)]
        devices.find_all::<D3d12>();
        #[cfg(not(windows))]
        devices.missing.push(crate::api::d3d12::missing());
        if with_sim {
            devices.found.extend(sim::Profile::ALL.iter().copied().filter_map(simulated));
        }
        devices
    }

    fn find_all<A: Api>(&mut self) {
        match A::adapters(&Layer::off()) {
            Err(missing) => self.missing.push(missing),
            Ok(adapters) => {
                for (number, adapter) in adapters.iter().enumerate() {
                    match open::<A>(number, adapter) {
                        Ok(found) => self.found.push(found),
                        Err(missing) => self.missing.push(missing),
                    }
                }
            }
        }
    }
}

fn open<A: Api>(number: usize, adapter: &A::Adapter) -> Result<Found, NoDevice> {
    let name = A::name(adapter);
    let describe =
        |reason| NoDevice { api: A::NAME, reason: format!("{number} ({name}): {reason}"), remedy: "" };
    let opened = A::open(adapter, &Layer::off()).map_err(|missing| describe(missing.reason))?;
    let device = opened.device();
    let about = A::about(adapter, device);
    Found::new(number.to_string(), about, device).map_err(|error| describe(error.to_string()))
}

fn simulated(profile: sim::Profile) -> Option<Found> {
    let device = sim::Device::new(profile);
    let api = match device.properties().api {
        Rules::Direct3D12 => "Direct3D 12",
        Rules::Vulkan => "Vulkan",
    };
    let about = About {
        kind: "simulated",
        version: format!("as {api}"),
        driver: "none".to_owned(),
        vendor: 0,
        device: 0,
        uses: Vec::new(),
    };
    Found::new(profile.name().to_owned(), about, &device).ok()
}
