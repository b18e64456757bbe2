//! The devices of graphics APIs.

use super::Devices;
use super::device_properties::Found;
use crate::api::{Api, Layer};
use crate::replay::NoDevice;

impl Devices {
    pub(super) fn find_all<A: Api>(&mut self) {
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
