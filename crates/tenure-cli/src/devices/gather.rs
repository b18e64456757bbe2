//! Finding devices.

use tenure::device::{Api as Rules, Device};
use tenure::sim;

use super::found::Found;
#[cfg(windows)]
use crate::api::d3d12::D3d12;
use crate::api::vulkan::Vulkan;
use crate::api::{About, Api, Layer};
use crate::replay::NoDevice;

/// What there is, and what there is not.
#[derive(Default)]
pub(super) struct Devices {
    pub(super) found: Vec<Found>,
    pub(super) missing: Vec<NoDevice>,
}

impl Devices {
    /// Opens every device of every API for a moment.
    pub(super) fn gather(with_sim: bool) -> Self {
        let mut devices = Self::default();
        devices.look_for::<Vulkan>();
        #[cfg(windows)]
        devices.look_for::<D3d12>();
        #[cfg(not(windows))]
        devices.missing.push(crate::api::d3d12::missing());
        if with_sim {
            devices.found.extend(sim::Profile::ALL.iter().copied().filter_map(simulated));
        }
        devices
    }

    fn look_for<A: Api>(&mut self) {
        match A::adapters(&Layer::off()) {
            Err(missing) => self.missing.push(missing),
            Ok(adapters) => {
                for (number, adapter) in adapters.iter().enumerate() {
                    match find::<A>(number, adapter) {
                        Ok(found) => self.found.push(found),
                        Err(missing) => self.missing.push(missing),
                    }
                }
            }
        }
    }
}

fn find<A: Api>(number: usize, adapter: &A::Adapter) -> Result<Found, NoDevice> {
    let name = A::name(adapter);
    let of_it =
        |reason| NoDevice { api: A::NAME, reason: format!("{number} ({name}): {reason}"), remedy: "" };
    let opened = A::open(adapter, &Layer::off()).map_err(|missing| of_it(missing.reason))?;
    let device = opened.device();
    let about = A::about(adapter, device);
    Found::new(number.to_string(), about, device).map_err(|error| of_it(error.to_string()))
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
