//! The graphics APIs, and opening their devices.

#[cfg(windows)]
pub(crate) mod d3d12;
/// Direct3D 12 in programs that were not built for Windows.
#[cfg(not(windows))]
pub(crate) mod d3d12 {
    use crate::replay::NoDevice;

    /// The reason for the missing API, and the remedy.
    pub(crate) fn missing() -> NoDevice {
        NoDevice {
            api: "d3d12",
            reason: "this program was not built for Windows".to_owned(),
            remedy: "build it with --target x86_64-pc-windows-msvc or -gnu; Wine runs it, too",
        }
    }
}
pub(crate) mod vulkan;

use std::marker::PhantomData;
use std::sync::Arc;

use tenure::device::Device;

use crate::args::Validation;
use crate::pick::Pick;
use crate::replay::{Hazards, NoDevice, Open, Opened};

/// The use of the validation layer.
pub(crate) struct Layer {
    pub(crate) wanted: Validation,
    /// The destination of its reports.
    pub(crate) hazards: Arc<Hazards>,
}

impl Layer {
    /// No validation layer.
    pub(crate) fn off() -> Self {
        Self { wanted: Validation::Off, hazards: Arc::default() }
    }
}

/// The properties of an adapter that [`Device`] does not have.
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
    /// The optional features of the API, and the workarounds, that tenure uses.
    pub(crate) uses: Vec<String>,
}

/// A graphics API.
pub(crate) trait Api {
    /// An adapter.
    type Adapter;
    /// A device on an adapter.
    type Device: Device;

    /// The name on the command line.
    const NAME: &'static str;

    /// The adapters, the preferred one first.
    fn adapters(layer: &Layer) -> Result<Vec<Self::Adapter>, NoDevice>;

    /// The name of an adapter, as shown to the user.
    fn name(adapter: &Self::Adapter) -> &str;

    /// Opens a device. `layer` must be the value that was passed to [`adapters`](Self::adapters).
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
    /// The adapter that `pick` selects; by default the preferred one.
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
