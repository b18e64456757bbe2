//! Error numbers that are stable across versions.

use super::Error;
use crate::device::DeviceError;

/// The kind of an [`Error`], without its details. `kind as u32` is stable across versions: for logs, telemetry
/// and bindings to other languages.
///
/// ```
/// use tenure::{Config, Gpu, error::ErrorKind, sim};
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// gpu.shutdown();
/// let error = gpu.begin_frame().unwrap_err();
/// assert_eq!((error.kind(), error.kind() as u32), (ErrorKind::ShutDown, 13));
/// # Ok::<(), tenure::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ErrorKind {
    /// [`Error::Config`]
    Config = 1,
    /// [`Error::OutOfMemory`]
    OutOfMemory = 2,
    /// [`Error::NoDescriptors`]
    NoDescriptors = 3,
    /// [`Error::Device`], except [`DeviceLost`](Self::DeviceLost)
    Device = 4,
    /// [`Error::State`]
    State = 5,
    /// [`Error::OutOfRange`]
    OutOfRange = 6,
    /// [`Error::WrongLength`]
    WrongLength = 7,
    /// [`Error::NotMapped`]
    NotMapped = 8,
    /// [`Error::Timeout`]
    Timeout = 9,
    /// [`Error::TooManyFrames`]
    TooManyFrames = 10,
    /// [`Error::NeverSubmitted`]
    NeverSubmitted = 11,
    /// [`Error::DeviceInUse`]
    DeviceInUse = 12,
    /// [`Error::ShutDown`]
    ShutDown = 13,
    /// [`Error::Foreign`]
    Foreign = 14,
    /// [`Error::Query`]
    Query = 15,
    /// [`Error::Discarded`]
    Discarded = 16,
    /// [`Error::TooLarge`]
    TooLarge = 17,
    /// [`Error::HeldByRecording`]
    HeldByRecording = 18,
    /// [`Error::OtherRecording`]
    OtherRecording = 19,
    /// [`Error::NotAcquired`]
    NotAcquired = 20,
    /// [`Error::Graph`]
    Graph = 21,
    /// [`Error::Transient`]
    Transient = 22,
    /// [`Error::Swapchain`]
    Swapchain = 23,
    /// [`Error::AccelerationStructure`]
    AccelerationStructure = 24,
    /// [`Error::FixedState`]
    FixedState = 25,
    /// [`Error::Contract`]
    Contract = 26,
    /// [`Error::Internal`]
    Internal = 27,
    /// [`Error::Tiles`]
    Tiles = 28,
    /// [`Error::Device`] for a lost device
    DeviceLost = 29,
}

impl Error {
    /// The kind of the error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Config(_) => ErrorKind::Config,
            Self::OutOfMemory(_) => ErrorKind::OutOfMemory,
            Self::NoDescriptors(_) => ErrorKind::NoDescriptors,
            Self::Device { source: DeviceError::Lost { .. }, .. } => ErrorKind::DeviceLost,
            Self::Device { .. } => ErrorKind::Device,
            Self::State { .. } => ErrorKind::State,
            Self::OutOfRange { .. } => ErrorKind::OutOfRange,
            Self::WrongLength { .. } => ErrorKind::WrongLength,
            Self::NotMapped { .. } => ErrorKind::NotMapped,
            Self::Timeout { .. } => ErrorKind::Timeout,
            Self::TooManyFrames { .. } => ErrorKind::TooManyFrames,
            Self::NeverSubmitted { .. } => ErrorKind::NeverSubmitted,
            Self::DeviceInUse => ErrorKind::DeviceInUse,
            Self::ShutDown => ErrorKind::ShutDown,
            Self::Foreign { .. } => ErrorKind::Foreign,
            Self::Query { .. } => ErrorKind::Query,
            Self::Discarded { .. } => ErrorKind::Discarded,
            Self::TooLarge { .. } => ErrorKind::TooLarge,
            Self::HeldByRecording { .. } => ErrorKind::HeldByRecording,
            Self::OtherRecording { .. } => ErrorKind::OtherRecording,
            Self::NotAcquired { .. } => ErrorKind::NotAcquired,
            Self::Graph(_) => ErrorKind::Graph,
            Self::Transient { .. } => ErrorKind::Transient,
            Self::Swapchain { .. } => ErrorKind::Swapchain,
            Self::AccelerationStructure { .. } => ErrorKind::AccelerationStructure,
            Self::FixedState { .. } => ErrorKind::FixedState,
            Self::Contract { .. } => ErrorKind::Contract,
            Self::Internal { .. } => ErrorKind::Internal,
            Self::Tiles { .. } => ErrorKind::Tiles,
        }
    }
}
