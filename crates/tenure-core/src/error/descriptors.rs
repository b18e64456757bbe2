//! No descriptors are left: of which kind, and which objects have them.

use std::fmt;

use super::Error;
use crate::Name;
use crate::device::DescriptorKind;

/// Where descriptors are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum DescriptorPart {
    /// Heaps that shaders do not see. They grow.
    Cpu,
    /// The part of the heap that shaders see which is for tables.
    Static,
    /// The part of the heap that shaders see which is for recordings.
    Dynamic,
    /// The different samplers that a device takes at once.
    Samplers,
}

impl fmt::Display for DescriptorPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "the heaps that shaders do not see",
            Self::Static => "the static part",
            Self::Dynamic => "the dynamic part",
            Self::Samplers => "the samplers that the device takes at once",
        })
    }
}

/// What a program can do when there are none left.
struct Remedy(DescriptorPart, DescriptorKind);

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.0, self.1) {
            (DescriptorPart::Static, DescriptorKind::Sampler) => "raise DescriptorConfig::static_samplers",
            (DescriptorPart::Static, _) => "raise DescriptorConfig::static_resources",
            (DescriptorPart::Dynamic, DescriptorKind::Sampler) => "raise DescriptorConfig::dynamic_samplers",
            (DescriptorPart::Dynamic, _) => "raise DescriptorConfig::dynamic_resources",
            (DescriptorPart::Cpu | DescriptorPart::Samplers, _) => "share them",
        })
    }
}

/// Who has descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DescriptorUser {
    /// The name of the tables, samplers or recordings.
    pub name: Name,
    /// Descriptors of all of that name.
    pub count: u32,
}

/// There are not as many free descriptors in a row as were asked for, even after giving back all that
/// the GPU is done with. The parts are chosen in [`Config`](crate::Config).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no descriptors for {name}: {requested} in a row asked for, of kind {kind:?}, from {part}{}",
    Rest(self)
)]
#[non_exhaustive]
pub struct NoDescriptors {
    /// What they were for: a table, a sampler, or a recording.
    pub name: Name,
    /// Their kind.
    pub kind: DescriptorKind,
    /// Where they were to come from.
    pub part: DescriptorPart,
    /// How many in a row.
    pub requested: u32,
    /// How many there are.
    pub capacity: u32,
    /// How many of them are free.
    pub free: u32,
    /// The longest free row.
    pub largest_free: u32,
    /// How many were dropped and wait for recordings or the GPU.
    pub waiting: u32,
    /// Who has most of them; at most eight.
    pub users: Vec<DescriptorUser>,
}

impl From<NoDescriptors> for Error {
    fn from(error: NoDescriptors) -> Self {
        Self::NoDescriptors(Box::new(error))
    }
}

/// How many there are, who has them, and what helps: where there never are so many, nothing that is dropped.
struct Rest<'a>(&'a NoDescriptors);

impl fmt::Display for Rest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoDescriptors { kind, part, requested, capacity, free, largest_free, waiting, users, .. } =
            self.0;
        let remedy = Remedy(*part, *kind);
        if requested > capacity {
            return write!(f, ", of which there are {capacity}: {remedy}");
        }
        write!(
            f,
            "; of its {capacity} {free} are free, up to {largest_free} in a row, and {waiting} wait for the GPU; most are \
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
