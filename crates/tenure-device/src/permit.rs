//! Permits for calls whose misuse is undefined behaviour.
#![expect(unsafe_code, reason = "permits are how the contract is unsafe")]

use std::fmt;
use std::marker::PhantomData;

use super::Device;

/// Permission to call what a device cannot check: the calls of [`Device`] that take one, and
/// `Commands::raw_mut`.
///
/// A driver trusts its caller that the GPU is done with what is destroyed or overwritten, and that
/// what is submitted still exists. Where such a call takes a permit, breaking what its documentation
/// asks for is undefined behaviour on a real device. Tenure makes itself one for its own calls;
/// programs need none, unless they use the contract without tenure.
///
/// It is for one type of device: code that is given one cannot use it on another. A device that wraps another makes one for the
/// inner device itself. It has no size, and costs nothing.
///
/// ```
/// use tenure::device::{Device, Permit};
/// use tenure::{DeviceError, QueueId};
///
/// fn empty_submission<D: Device>(device: &D, serial: u64) -> Result<(), DeviceError> {
///     // SAFETY: the caller gives the serials of queue 0 in order, and nothing else submits to it.
///     let permit = unsafe { Permit::new() };
///     device.submit(permit, QueueId(0), &[], &[], serial)
/// }
/// ```
///
/// Without `unsafe` there is none:
///
/// ```compile_fail,E0277
/// use tenure::device::{Device, Permit};
///
/// fn too_early<D: Device>(device: &D, resource: D::Resource) {
///     device.destroy_resource(Permit::checked(), resource); // `D` is not known to be `Checked`
/// }
/// ```
///
/// On a device that finds such mistakes itself no promise is needed:
///
/// ```
/// use tenure::device::{Device as _, Permit};
/// use tenure::QueueId;
///
/// let device = tenure::sim::Device::new(tenure::sim::Profile::DISCRETE);
/// let list = device.create_list(Permit::checked(), QueueId(0))?;
/// device.destroy_list(Permit::checked(), list);
/// # Ok::<(), tenure::DeviceError>(())
/// ```
pub struct Permit<D>(PhantomData<fn() -> D>);

impl<D: Device> Permit<D> {
    /// A permit for a real device.
    ///
    /// # Safety
    /// Every call that is made with it, or with a copy of it, keeps what that call's documentation
    /// asks of its caller.
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

/// A device on which no call is undefined behaviour: the simulated device, which answers a breach of
/// the contract with an error or a report. Devices that do nothing are such, too.
pub trait Checked: Device {}
