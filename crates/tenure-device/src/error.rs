//! Errors of devices.

use std::fmt;

use super::{
    ApiCode, BindingKind, CallRule, DescriptorKind, Dimension, Format, HeapCategory, MemoryTypeId, Plane,
    State, Usage, ViewShape,
};

/// A value reported by an error: see [`DeviceError::InvalidDesc`] and [`DeviceError::InvalidCall`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// A count, a size, an index.
    Number(u64),
    /// A level of detail, a bias or a luminance, in thousandths (saturating), so that errors can be compared.
    Thousandths(i64),
    /// A fraction that is not a number.
    NotANumber,
    /// A texel format.
    Format(Format),
    /// A set of uses.
    Usage(Usage),
    /// The dimension of a texture.
    Dimension(Dimension),
    /// The shape of a texture view.
    Shape(ViewShape),
    /// A plane of a format.
    Plane(Plane),
    /// The category of a heap.
    HeapCategory(HeapCategory),
    /// The kind of a descriptor heap.
    DescriptorKind(DescriptorKind),
    /// The kind of a binding of a descriptor set.
    BindingKind(BindingKind),
}

impl FieldValue {
    /// The number, if the value is one.
    #[must_use]
    pub const fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => value.fmt(f),
            Self::Thousandths(i64::MAX) => f.write_str("infinity"),
            Self::Thousandths(i64::MIN) => f.write_str("minus infinity"),
            Self::Thousandths(value) => (*value as f64 / 1000.0).fmt(f),
            Self::NotANumber => f.write_str("not a number"),
            Self::Format(value) => fmt::Debug::fmt(value, f),
            Self::Usage(value) => value.fmt(f),
            Self::Dimension(value) => fmt::Debug::fmt(value, f),
            Self::Shape(value) => fmt::Debug::fmt(value, f),
            Self::Plane(value) => fmt::Debug::fmt(value, f),
            Self::HeapCategory(value) => fmt::Debug::fmt(value, f),
            Self::DescriptorKind(value) => fmt::Debug::fmt(value, f),
            Self::BindingKind(value) => fmt::Debug::fmt(value, f),
        }
    }
}

impl From<u64> for FieldValue {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<u32> for FieldValue {
    fn from(value: u32) -> Self {
        Self::Number(u64::from(value))
    }
}

impl From<f32> for FieldValue {
    fn from(value: f32) -> Self {
        if value.is_nan() {
            return Self::NotANumber;
        }
        Self::Thousandths((f64::from(value) * 1000.0).round() as i64)
    }
}

impl From<Format> for FieldValue {
    fn from(value: Format) -> Self {
        Self::Format(value)
    }
}

impl From<Usage> for FieldValue {
    fn from(value: Usage) -> Self {
        Self::Usage(value)
    }
}

impl From<Dimension> for FieldValue {
    fn from(value: Dimension) -> Self {
        Self::Dimension(value)
    }
}

impl From<ViewShape> for FieldValue {
    fn from(value: ViewShape) -> Self {
        Self::Shape(value)
    }
}

impl From<Plane> for FieldValue {
    fn from(value: Plane) -> Self {
        Self::Plane(value)
    }
}

impl From<HeapCategory> for FieldValue {
    fn from(value: HeapCategory) -> Self {
        Self::HeapCategory(value)
    }
}

impl From<DescriptorKind> for FieldValue {
    fn from(value: DescriptorKind) -> Self {
        Self::DescriptorKind(value)
    }
}

impl From<BindingKind> for FieldValue {
    fn from(value: BindingKind) -> Self {
        Self::BindingKind(value)
    }
}

/// The constraint on a refused field: see [`DeviceError::InvalidDesc`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// At least this.
    AtLeast(u64),
    /// Less than or equal to this: a limit of the device, or of another field.
    AtMost(u64),
    /// Exactly this.
    Exactly(u64),
    /// A multiple of this.
    MultipleOf(u64),
    /// Only these uses.
    Usage(Usage),
    /// Another condition, or a suggested fix.
    Rule(&'static str),
}

impl Allowed {
    /// For alignments.
    pub const POWER_OF_TWO: Self = Self::Rule("a power of two");
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "at least {least}"),
            Self::AtMost(most) => write!(f, "at most {most}"),
            Self::Exactly(only) => write!(f, "{only}"),
            Self::MultipleOf(unit) => write!(f, "a multiple of {unit}"),
            Self::Usage(usage) => write!(f, "of {usage} alone"),
            Self::Rule(rule) => f.write_str(rule),
        }
    }
}

/// The values of a violated rule, in brackets; empty without values.
struct Values<'a>(&'a Option<FieldValue>, &'a Option<FieldValue>);

impl fmt::Display for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(Some(value), Some(limit)) => write!(f, " ({value}, limit {limit})"),
            Self(Some(value), None) => write!(f, " ({value})"),
            Self(None, Some(limit)) => write!(f, " (limit {limit})"),
            Self(None, None) => Ok(()),
        }
    }
}

/// An error of a call of the [`Device`](super::Device) contract.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The driver is out of memory of that type for this request.
    #[error("the driver refused {requested} B of memory type {}", memory.0)]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// The requested memory type.
        memory: MemoryTypeId,
    },
    /// The driver was not called: the request exceeds the memory of the heap, the budget of the operating system, or the
    /// program's cap (`Gpu::set_memory_cap`).
    #[error("{requested} B of memory type {} exceed the heap, its budget or the program's cap", memory.0)]
    NotGranted {
        /// Bytes asked for.
        requested: u64,
        /// The requested memory type.
        memory: MemoryTypeId,
    },
    /// The driver was not called, because of `NEVER_ALLOCATE`.
    #[error(
        "no block of memory type {} has {requested} B free for this, and NEVER_ALLOCATE forbids a driver \
         allocation: request less, or without it", memory.0
    )]
    NeverAllocate {
        /// Bytes asked for.
        requested: u64,
        /// The memory type.
        memory: MemoryTypeId,
    },
    /// No suitable memory type is local to the GPU, and `DEVICE_LOCAL_ONLY` forbids the others.
    #[error(
        "no device-local memory can hold {requested} B for this use, and DEVICE_LOCAL_ONLY forbids memory \
         type {}, which can: request without it, or with another MemoryUse", memory.0
    )]
    DeviceLocalOnly {
        /// Bytes asked for.
        requested: u64,
        /// The memory type that would be used without the flag.
        memory: MemoryTypeId,
    },
    /// The driver is out of host memory or object slots.
    #[error("the driver is out of host memory or objects ({what})")]
    OutOfHostMemory {
        /// The call that failed.
        what: &'static str,
    },
    /// The driver is out of device memory for other purposes than allocations: descriptors, command buffers, page tables, a
    /// submission.
    #[error("the driver is out of device memory of its own ({what})")]
    OutOfDeviceMemory {
        /// The call that failed.
        what: &'static str,
    },
    /// The limit on live memory allocations is reached.
    #[error(
        "the device allows {limit} memory allocations at once and all are in use: fewer committed resources, or larger blocks, \
         take fewer"
    )]
    TooManyAllocations {
        /// The device's limit.
        limit: u64,
    },
    /// The device lacks a required feature.
    #[error("the device does not support {feature}")]
    Unsupported {
        /// The feature, in the API's terms.
        feature: &'static str,
    },
    /// The device does not support a texel format, or this use of it: see
    /// [`MemoryDevice::supports_format`](super::MemoryDevice::supports_format).
    #[error("the device does not support {feature} in the format {format:?}")]
    UnsupportedFormat {
        /// The format.
        format: Format,
        /// The unsupported use.
        feature: &'static str,
    },
    /// A description that no device accepts, or one beyond this device's limits.
    #[error("invalid description: {field} = {value}: must be {allowed}")]
    InvalidDesc {
        /// The invalid field.
        field: &'static str,
        /// The value.
        value: FieldValue,
        /// The constraint on the field.
        allowed: Allowed,
    },
    /// The resource was not created for this usage.
    #[error("the resource needs the usage {needs}, and was created with {has}")]
    MissingUsage {
        /// The required uses.
        needs: Usage,
        /// The usage of the resource.
        has: Usage,
    },
    /// A state that the call does not allow.
    #[error("broken rule: {rule}: {state} (allowed: {allowed})")]
    InvalidState {
        /// The broken rule.
        rule: CallRule,
        /// The requested state, or the state of the resource.
        state: State,
        /// The allowed states.
        allowed: State,
    },
    /// A violated rule of the API: wrong heap, misaligned offset, out of range.
    #[error("broken rule: {rule}{}", Values(value, limit))]
    InvalidCall {
        /// The broken rule.
        rule: CallRule,
        /// The value that violates it; `None` if the rule needs no value.
        value: Option<FieldValue>,
        /// The limit of the value, if there is one.
        limit: Option<FieldValue>,
    },
    /// A call of the graphics API failed for a reason that no rule of the contract covers.
    #[error("{call} failed ({code})")]
    ApiFailed {
        /// The API call.
        call: &'static str,
        /// The returned code.
        code: ApiCode,
    },
    /// The device was removed, reset or lost. All further calls fail.
    #[error("the device is lost: {reason}")]
    Lost {
        /// The driver's reason.
        reason: String,
    },
}

impl DeviceError {
    /// [`InvalidDesc`](Self::InvalidDesc).
    ///
    /// ```
    /// use tenure::device::Allowed;
    /// use tenure::error::DeviceError;
    /// let refused = DeviceError::invalid_desc("width", 40_000_u64, Allowed::AtMost(16_384));
    /// assert_eq!(refused.to_string(), "invalid description: width = 40000: must be at most 16384");
    /// ```
    #[must_use]
    pub fn invalid_desc(field: &'static str, value: impl Into<FieldValue>, allowed: Allowed) -> Self {
        Self::InvalidDesc { field, value: value.into(), allowed }
    }

    /// [`InvalidCall`](Self::InvalidCall) with the value that violates the rule, and its limit.
    ///
    /// ```
    /// use tenure::device::{CallRule, DeviceError};
    /// let refused = DeviceError::invalid_call(CallRule::InsideResource, 300_u64, 256_u64);
    /// assert_eq!(refused.to_string(), "broken rule: the range is inside the resource (300, limit 256)");
    /// ```
    #[must_use]
    pub fn invalid_call(
        rule: impl Into<CallRule>,
        value: impl Into<FieldValue>,
        limit: impl Into<FieldValue>,
    ) -> Self {
        Self::InvalidCall { rule: rule.into(), value: Some(value.into()), limit: Some(limit.into()) }
    }

    /// [`InvalidCall`](Self::InvalidCall) with the value that violates the rule.
    #[must_use]
    pub fn invalid_value(rule: impl Into<CallRule>, value: impl Into<FieldValue>) -> Self {
        Self::InvalidCall { rule: rule.into(), value: Some(value.into()), limit: None }
    }

    /// [`InvalidCall`](Self::InvalidCall) without values.
    #[must_use]
    pub fn broken_rule(rule: impl Into<CallRule>) -> Self {
        Self::InvalidCall { rule: rule.into(), value: None, limit: None }
    }

    /// The error for a queue that cannot discard a texture of this usage: see [`State::to_discard`].
    #[must_use]
    pub fn cannot_discard(usage: Usage) -> Self {
        let rule = "a target on graphics queues, or UNORDERED_ACCESS on graphics and compute queues, \
                    for the queue to discard the texture";
        Self::invalid_desc("usage", usage, Allowed::Rule(rule))
    }

    /// The error for a write state combined with another state.
    #[must_use]
    pub fn write_state_alone(state: State) -> Self {
        let allowed = State::all() - State::WRITES;
        Self::InvalidState { rule: CallRule::WriteStateAlone, state, allowed }
    }

    /// True for errors that another block size, another memory type or a later attempt may avoid.
    #[must_use]
    pub const fn is_shortage(&self) -> bool {
        matches!(
            self,
            Self::OutOfMemory { .. }
                | Self::NotGranted { .. }
                | Self::NeverAllocate { .. }
                | Self::DeviceLocalOnly { .. }
                | Self::OutOfHostMemory { .. }
                | Self::OutOfDeviceMemory { .. }
                | Self::TooManyAllocations { .. }
        )
    }
}
