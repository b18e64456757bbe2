//! The graphics APIs, and opening devices of them.

#[cfg(windows)]
pub(crate) mod d3d12;
#[cfg(not(windows))]
#[path = "no_d3d12.rs"]
pub(crate) mod d3d12;
mod pick;
pub(crate) mod vulkan;

use std::marker::PhantomData;
use std::sync::Arc;

use tenure::device::Device;

pub(crate) use pick::Pick;

use crate::args::Validation;
use crate::replay::{Hazards, NoDevice, Open, Opened};

/// What the validation layer is to do.
pub(crate) struct Layer {
    pub(crate) wanted: Validation,
    /// Where it reports.
    pub(crate) hazards: Arc<Hazards>,
}

impl Layer {
    /// None.
    pub(crate) fn off() -> Self {
        Self { wanted: Validation::Off, hazards: Arc::default() }
    }
}

/// What an API says of an adapter, and the contract does not.
pub(crate) struct About {
    /// Discrete, integrated, …
    pub(crate) kind: &'static str,
    /// The API's version, or feature level.
    pub(crate) version: String,
    /// The driver's name and version.
    pub(crate) driver: String,
    /// The vendor's PCI number.
    pub(crate) vendor: u32,
    /// The device's PCI number.
    pub(crate) device: u32,
    /// What of the API's own is used.
    pub(crate) uses: Vec<String>,
}

/// An API.
pub(crate) trait Api {
    /// A GPU that is there.
    type Adapter;
    /// A device on it.
    type Device: Device;

    /// As command lines write it.
    const NAME: &'static str;

    /// The adapters that there are, the one to prefer first.
    fn adapters(layer: &Layer) -> Result<Vec<Self::Adapter>, NoDevice>;

    /// For people.
    fn name(adapter: &Self::Adapter) -> &str;

    /// Opens a device. `layer` is what the adapter was found with.
    fn open(adapter: &Self::Adapter, layer: &Layer) -> Result<Opened<Self::Device>, NoDevice>;

    /// Describes an adapter, and a device on it.
    fn about(adapter: &Self::Adapter, device: &Self::Device) -> About;
}

/// Opens devices on one adapter of an API.
pub(crate) struct Chosen<A> {
    pick: Option<Pick>,
    validation: Validation,
    api: PhantomData<A>,
}

impl<A: Api> Chosen<A> {
    /// The adapter that `pick` means, else the one to prefer.
    pub(crate) const fn new(pick: Option<Pick>, validation: Validation) -> Self {
        Self { pick, validation, api: PhantomData }
    }
}

impl<A: Api> Open for Chosen<A> {
    type Device = A::Device;

    fn open(&self, hazards: &Arc<Hazards>) -> Result<Opened<A::Device>, NoDevice> {
        let layer = Layer { wanted: self.validation, hazards: Arc::clone(hazards) };
        let adapters = A::adapters(&layer)?;
        let names: Vec<_> = adapters.iter().map(|adapter| A::name(adapter).to_owned()).collect();
        let missing = |reason| NoDevice { api: A::NAME, reason, remedy: "see tenure devices" };
        let index = Pick::index(self.pick.as_ref(), &names).map_err(missing)?;
        let adapter = adapters.get(index).ok_or_else(|| missing("there is no device".to_owned()))?;
        A::open(adapter, &layer)
    }
}
