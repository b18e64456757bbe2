//! The graphics APIs, and opening their devices.

#[cfg(all(windows, feature = "d3d12"))]
pub(crate) mod d3d12;
#[cfg(feature = "vulkan")]
mod headless;
mod pick;
#[cfg(feature = "vulkan")]
pub(crate) mod vulkan;

use std::marker::PhantomData;
use std::sync::Arc;

use tenure::device::Device;

use crate::adapter_properties::About;
use crate::args::{Pick, ReplayArgs, Validation};
use crate::examined::{Failure, Presentation};
use crate::replay::{Hazards, NoDevice, Open, Opened, Real, Target};

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

/// A graphics API.
pub(crate) trait Api {
    type Adapter;
    type Device: Device;

    /// The name on the command line.
    const NAME: &'static str;

    /// The adapters, the preferred one first.
    fn adapters(layer: &Layer) -> Result<Vec<Self::Adapter>, NoDevice>;

    /// The name of an adapter, as shown to the user.
    fn name(adapter: &Self::Adapter) -> &str;

    /// Opens a device. `layer` must be the value that was passed to [`adapters`](Self::adapters).
    fn open(adapter: &Self::Adapter, layer: &Layer) -> Result<Opened<Self::Device>, NoDevice>;

    /// Describes an adapter and a device on it.
    fn about(adapter: &Self::Adapter, device: &Self::Device) -> About;

    /// Presents images without a window on the adapter with this index.
    fn present(_number: usize, _found: &mut Presentation) -> Result<(), Failure> {
        Err(Failure::Unsupported(format!("{} presents to windows only", Self::NAME)))
    }
}

/// Target that opens devices on one adapter of an API.
struct Chosen<A> {
    pick: Option<Pick>,
    validation: Validation,
    api: PhantomData<A>,
}

/// Replays on the adapter that the arguments select; by default the preferred one.
pub(crate) fn chosen<A: Api + 'static>(args: &ReplayArgs) -> Box<dyn Target> {
    let (pick, validation) = (args.adapter.clone(), args.validation.unwrap_or_default());
    Box::new(Real(Chosen::<A> { pick, validation, api: PhantomData }))
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
