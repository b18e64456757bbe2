//! Permits for calls whose misuse is undefined behaviour.
#![expect(unsafe_code, reason = "permits are how the contract is unsafe")]

use std::fmt;
use std::marker::PhantomData;

use super::Device;

/// The permission for calls that a device cannot check: the calls of [`Device`] that take one, and `Commands::raw_mut`.
///
/// A driver relies on its caller: the GPU must have finished with destroyed or overwritten objects, and submitted objects must
/// still exist. A call that takes a permit has undefined behaviour on a real device if the conditions in its documentation are
/// broken. Tenure creates a permit for its own calls; programs need none, unless they use the contract without tenure.
///
/// It is valid for one type of device: code that receives one cannot use it for another type. A device that wraps another
/// creates the permit for the inner device itself. It is zero-sized.
///
/// ```
/// use tenure::device::{Device, Permit};
/// use tenure::{device::QueueId, error::DeviceError};
///
/// fn empty_submission<D: Device>(device: &D, serial: u64) -> Result<(), DeviceError> {
///     // SAFETY: the caller gives the serials of queue 0 in order, and nothing else submits to it.
///     let permit = unsafe { Permit::new() };
///     device.submit(permit, QueueId(0), &[], &[], serial)
/// }
/// ```
///
/// Without `unsafe` no permit can be created:
///
/// ```compile_fail,E0277
/// use tenure::device::{Device, Permit};
///
/// fn too_early<D: Device>(device: &D, resource: D::Resource) {
///     device.destroy_resource(Permit::checked(), resource); // `D` is not known to be `Checked`
/// }
/// ```
///
/// A device that detects such mistakes itself requires no promise:
///
/// ```
/// use tenure::device::{Permit, prelude::*};
/// use tenure::device::QueueId;
///
/// let device = tenure::sim::Device::new(tenure::sim::Profile::DISCRETE);
/// let list = device.create_list(Permit::checked(), QueueId(0))?;
/// device.destroy_list(Permit::checked(), list);
/// # Ok::<(), tenure::error::DeviceError>(())
/// ```
pub struct Permit<D>(PhantomData<fn() -> D>);

impl<D> Permit<D> {
    /// A permit for a real device.
    ///
    /// # Safety
    /// Every call made with it, or with a copy of it, must fulfil the conditions in that call's documentation.
    #[must_use]
    pub const unsafe fn new() -> Self {
        Self(PhantomData)
    }

    /// A permit for a device that checks everything itself.
    #[must_use]
    pub const fn checked() -> Self
    where
        D: Checked,
    {
        Self(PhantomData)
    }
}

impl<D> Clone for Permit<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Permit<D> {}

impl<D> fmt::Debug for Permit<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}

/// A device without undefined behaviour: the simulated device, which responds to a violation of the contract with an error or a
/// report. Devices that do nothing qualify, too.
pub trait Checked: Device {}
