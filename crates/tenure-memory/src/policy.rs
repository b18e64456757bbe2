//! The placement policy for each kind of resource.
//!
//! The first row of the subject with a limit of at least the size determines the placement. Limits are fields of [`Config`].
//!
//! | subject | up to | placement |
//! | --- | --- | --- |
//! | upload buffer | `uploads.max_small` | with the buddy suballocator: a range of the small upload pool |
//! | | `uploads.max_pooled` | a range of the upload pool |
//! | | any | committed, mapped |
//! | readback buffer | `pools.max_pooled_buffer` | a range of the readback pool |
//! | | any | committed, mapped |
//! | vertex/index buffer | `pools.small_buffer_slot` | a range of the small-buffer pool |
//! | read-only buffer | `pools.max_pooled_buffer` | a range of the read-only pool |
//! | | any | committed |
//! | indirect arguments | `pools.max_pooled_buffer` | a range of the indirect pool |
//! | | any | committed |
//! | acceleration structure, read by shaders at most | `pools.max_pooled_buffer` | a range of the acceleration structure pool |
//! | | any | committed |
//! | buffer written by the GPU | `pools.max_pooled_buffer` | placed: it has a state of its own |
//! | | any | committed |
//! | texture | `pools.max_texture_block` | placed, in the pool of its kind |
//! | | any | committed |
//!
//! Pages filled by the manager itself follow the rows for dynamic and readback buffers, but have their own pools
//! ([`page_pool`]).
//!
//! Before the table: resources for which the driver prefers dedicated memory are committed; [`Strategy::Placed`] turns ranges
//! into placed resources, [`Strategy::Committed`] everything into committed ones. The size of a range includes the padding for
//! its stride; a buffer whose stride would add too much padding, or that requests a separate API resource, is placed instead.
//!
//! When more than three quarters of the device's allocation limit are in use, resources that would be committed are placed
//! instead ([`shared_pool`]), unless the driver requires dedicated memory, or [`Strategy::Committed`] is set.

use super::{MemoryUse, PoolKind};
use crate::device::{Requirements, ResourceDesc, TextureInfo, Usage};
use crate::{Config, Strategy, UploadSuballocator};

/// Kind of resource in the policy table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A buffer rewritten by the CPU.
    Upload,
    /// A buffer read by the CPU.
    Readback,
    /// Vertices, indices or both, without other usages.
    Mesh,
    /// Any other buffer that the GPU only reads.
    ReadOnly,
    /// Indirect arguments not written by the GPU.
    Indirect,
    /// Acceleration structures, which shaders may read and copies access; no other usages.
    AccelerationStructure,
    /// Written by shaders, or with a usage that no shared buffer has: it needs its own state.
    Unordered,
    /// Any texture.
    Texture,
}

/// Placement of a resource by the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementKind {
    /// In a range of a shared buffer.
    Range(PoolKind),
    /// In a shared heap, as a separate API resource.
    Placed(PoolKind),
    /// In dedicated memory.
    Committed,
}

/// The largest size of a row.
enum UpTo {
    SmallUpload,
    PooledUpload,
    SmallSlot,
    PooledBuffer,
}

use PlacementKind::{Committed, Placed, Range};
use UpTo::{PooledBuffer, PooledUpload, SmallSlot, SmallUpload};

type Row = (Subject, UpTo, PlacementKind);

const BUFFERS: &[Row] = &[
    (Subject::Upload, SmallUpload, Range(PoolKind::SmallUploads)),
    (Subject::Upload, PooledUpload, Range(PoolKind::Uploads)),
    (Subject::Readback, PooledBuffer, Range(PoolKind::Readbacks)),
    (Subject::Mesh, SmallSlot, Range(PoolKind::SmallBuffers)),
    (Subject::Mesh, PooledBuffer, Range(PoolKind::ReadOnlyBuffers)),
    (Subject::ReadOnly, PooledBuffer, Range(PoolKind::ReadOnlyBuffers)),
    (Subject::Indirect, PooledBuffer, Range(PoolKind::IndirectBuffers)),
    (Subject::AccelerationStructure, PooledBuffer, Range(PoolKind::AccelerationStructures)),
    (Subject::Unordered, PooledBuffer, Placed(PoolKind::UnorderedBuffers)),
];

impl UpTo {
    const fn bytes(&self, config: &Config) -> u64 {
        match self {
            // The general suballocator serves all sizes: two pools would only reserve more memory.
            SmallUpload if matches!(config.uploads.suballocator, UploadSuballocator::General) => 0,
            SmallUpload => config.uploads.max_small,
            PooledUpload => config.uploads.max_pooled,
            SmallSlot => config.pools.small_buffer_slot,
            PooledBuffer => config.pools.max_pooled_buffer,
        }
    }
}

const COPIES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);
const MESH: Usage = Usage::VERTEX.union(Usage::INDEX);
const TRACED: Usage = Usage::ACCELERATION_STRUCTURE.union(Usage::SHADER_READ).union(COPIES);

/// The subject of a buffer.
#[must_use]
pub const fn buffer_subject(usage: Usage, memory_use: MemoryUse) -> Subject {
    let is_structure = usage.contains(Usage::ACCELERATION_STRUCTURE) && TRACED.contains(usage);
    match memory_use {
        MemoryUse::GpuOnly if is_structure => Subject::AccelerationStructure,
        _ if !usage.is_read_only() => Subject::Unordered,
        MemoryUse::Upload | MemoryUse::GpuUpload => Subject::Upload,
        MemoryUse::Readback if COPIES.contains(usage) => Subject::Readback,
        MemoryUse::Readback => Subject::Unordered,
        MemoryUse::GpuOnly if usage.contains(Usage::INDIRECT) => Subject::Indirect,
        MemoryUse::GpuOnly if usage.intersects(MESH) && MESH.union(COPIES).contains(usage) => Subject::Mesh,
        MemoryUse::GpuOnly => Subject::ReadOnly,
    }
}

/// The placement of a buffer that takes `size` bytes.
///
/// ```
/// use tenure::Config;
/// use tenure::memory::{PoolKind, policy::{PlacementKind, Subject, place_buffer}};
/// let config = Config::default();
/// assert_eq!(place_buffer(Subject::Mesh, 1000, &config), PlacementKind::Range(PoolKind::SmallBuffers));
/// assert_eq!(place_buffer(Subject::Mesh, 1 << 20, &config), PlacementKind::Range(PoolKind::ReadOnlyBuffers));
/// assert_eq!(place_buffer(Subject::Mesh, 1 << 30, &config), PlacementKind::Committed);
/// ```
#[must_use]
pub fn place_buffer(subject: Subject, size: u64, config: &Config) -> PlacementKind {
    let fits = |row: &&Row| row.0 == subject && size <= row.1.bytes(config);
    let placement = BUFFERS.iter().find(fits).map_or(Committed, |row| row.2);
    match (config.pools.strategy, placement) {
        (Strategy::Pooled, _) => placement,
        (Strategy::Placed, Range(_)) => Placed(PoolKind::PlacedBuffers),
        (Strategy::Placed, Placed(_) | Committed) => placement,
        (Strategy::Committed, _) => Committed,
    }
}

/// The placement of a buffer of `size` bytes that must be a separate API resource.
#[must_use]
pub fn place_buffer_alone(subject: Subject, size: u64, config: &Config) -> PlacementKind {
    match place_buffer(subject, size, config) {
        Range(_) => Placed(PoolKind::PlacedBuffers),
        placement => placement,
    }
}

/// The pool of the manager's own pages: staging memory, constants, readbacks.
///
/// A shared buffer has one state. Copies may write the program's mapped buffers. Therefore pages that such copies read, or that
/// commands read without declaring it, are never in the same API buffer.
#[must_use]
pub const fn page_pool(memory_use: MemoryUse) -> PoolKind {
    match memory_use {
        MemoryUse::Readback => PoolKind::ReadbackPages,
        MemoryUse::GpuOnly | MemoryUse::Upload | MemoryUse::GpuUpload => PoolKind::UploadPages,
    }
}

/// The placement of a texture, by its requirements.
#[must_use]
pub fn place_texture(info: &TextureInfo, needs: &Requirements, config: &Config) -> PlacementKind {
    if needs.wants_dedicated()
        || needs.size > config.pools.max_texture_block
        || config.pools.strategy == Strategy::Committed
    {
        return Committed;
    }
    Placed(texture_pool(info, needs.alignment))
}

/// The pool for a resource that would be committed, when the device allows few more allocations.
#[must_use]
pub fn shared_pool(desc: &ResourceDesc, needs: &Requirements) -> PoolKind {
    match desc {
        ResourceDesc::Texture(info) => texture_pool(info, needs.alignment),
        ResourceDesc::Buffer(info) if info.usage.contains(Usage::UNORDERED_ACCESS) => {
            PoolKind::UnorderedBuffers
        }
        ResourceDesc::Buffer(_) => PoolKind::PlacedBuffers,
    }
}

const SMALL_TEXTURE_ALIGNMENT: u64 = 4 << 10;
const TEXTURE_ALIGNMENT: u64 = 64 << 10;

fn texture_pool(info: &TextureInfo, alignment: u64) -> PoolKind {
    let usage = info.usage;
    // D3D12 requires a heap with the alignment of multisampled textures, even for those that are aligned to 64 KiB.
    if info.samples > 1 || alignment > TEXTURE_ALIGNMENT {
        PoolKind::MultisampledTextures
    } else if usage.intersects(Usage::TEXTURE_ONLY) {
        PoolKind::Targets
    } else if usage.contains(Usage::UNORDERED_ACCESS) {
        PoolKind::UnorderedTextures
    } else if alignment <= SMALL_TEXTURE_ALIGNMENT {
        PoolKind::SmallTextures
    } else {
        PoolKind::Textures
    }
}
