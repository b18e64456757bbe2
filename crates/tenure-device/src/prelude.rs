//! The methods of devices, lists and mappings, for code with a concrete device: imports the traits without
//! their names.
//!
//! ```
//! use tenure::device::prelude::*;
//!
//! let device = tenure::sim::Device::new(tenure::sim::Profile::DISCRETE);
//! assert!(device.status().is_ok() && device.budget()?.len() == device.properties().memory_heaps.len());
//! # Ok::<(), tenure::error::DeviceError>(())
//! ```

pub use crate::contract::{
    CommandList as _, DescriptorDevice as _, Device as _, Mapping as _, MemoryDevice as _, QueryDevice as _,
    QueueDevice as _, RayDevice as _, ResidencyDevice as _, SetDevice as _, TileDevice as _,
};
