//! The error for exhausted descriptors, with their kind and users.

use std::fmt;

use super::Error;
use crate::Name;
use crate::device::DescriptorKind;

/// Source of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum DescriptorPart {
    /// Heaps that are not shader-visible. They grow.
    Cpu,
    /// The part of the shader-visible heap for tables.
    Static,
    /// The part of the shader-visible heap for recordings.
    Dynamic,
    /// The number of different samplers that a device supports at once.
    Samplers,
}

impl fmt::Display for DescriptorPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "the CPU-only heaps",
            Self::Static => "the static part",
            Self::Dynamic => "the dynamic part",
            Self::Samplers => "the device's samplers",
        })
    }
}

/// The advice to a program without free descriptors.
struct Remedy(DescriptorPart, DescriptorKind);

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let setting = match (self.0, self.1) {
            (DescriptorPart::Static, DescriptorKind::Sampler) => "static_samplers",
            (DescriptorPart::Static, _) => "static_resources",
            (DescriptorPart::Dynamic, DescriptorKind::Sampler) => "dynamic_samplers",
            (DescriptorPart::Dynamic, _) => "dynamic_resources",
            (DescriptorPart::Cpu | DescriptorPart::Samplers, _) => return f.write_str("share them"),
        };
        write!(f, "raise the setting descriptors.{setting}")
    }
}

/// A holder of descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DescriptorUser {
    /// The name of the tables, samplers or recordings.
    pub name: Name,
    /// The number of descriptors of this name.
    pub count: u32,
}

/// There is no free range of the requested number of descriptors, even after releasing everything that the GPU
/// has finished with. The sizes of the parts are set in [`Config`](crate::Config).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no descriptors for {name}: {requested} consecutive ones of kind {kind:?} requested from {part}{}",
    Rest(self)
)]
#[non_exhaustive]
pub struct NoDescriptors {
    /// The object that needed them: a table, a sampler, or a recording.
    pub name: Name,
    /// Their kind.
    pub kind: DescriptorKind,
    /// The source.
    pub part: DescriptorPart,
    /// The requested number of consecutive descriptors.
    pub requested: u32,
    /// The total number of descriptors.
    pub capacity: u32,
    /// The number of free descriptors.
    pub free: u32,
    /// The size of the largest free range.
    pub largest_free: u32,
    /// The number of dropped descriptors that await recordings or the GPU.
    pub waiting: u32,
    /// The holders of most of them; at most eight.
    pub users: Vec<DescriptorUser>,
}

impl From<NoDescriptors> for Error {
    fn from(error: NoDescriptors) -> Self {
        Self::NoDescriptors(Box::new(error))
    }
}

/// The rest of the message: total, holders, and advice. If the request exceeds the total, it does not advise to
/// drop any.
struct Rest<'a>(&'a NoDescriptors);

impl fmt::Display for Rest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoDescriptors { kind, part, requested, capacity, free, largest_free, waiting, users, .. } =
            self.0;
        let remedy = Remedy(*part, *kind);
        if requested > capacity {
            return write!(f, " (total {capacity}): {remedy}");
        }
        write!(
            f,
            "; of {capacity} in total, {free} are free, up to {largest_free} in a row, and {waiting} wait for the GPU; most are \
             used by {}; drop some, or {remedy}",
            Users(users)
        )
    }
}

struct Users<'a>(&'a [DescriptorUser]);

impl fmt::Display for Users<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, DescriptorUser { name, count }) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{name} ({count})")?;
        }
        Ok(())
    }
}
