//! Buffers and textures: memory requirements, creation, and writes by the CPU.

mod create;
mod handle;
mod host_copy;
mod image;
mod object;

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tenure_core::device::{State, TextureCache, Usage};

pub use handle::Resource;
pub(crate) use handle::{Backing, VkUsage};
pub(crate) use host_copy::image_copy;
use image::{FormatProperties, ImageSupport, KnownImage};
pub(crate) use object::{Object, Plan};

use crate::loaded::{Loaded, part_of_device};
use crate::memory::Memories;

/// The buffers and textures of a device: their cached requirements and shared state.
pub(crate) struct Resources {
    loaded: Arc<Loaded>,
    pub(crate) memory: Arc<Memories>,
    support: ImageSupport,
    formats: FormatProperties,
    known: TextureCache<KnownImage>,
    /// Bit *i* is set for format *i* if its images are blitted with a linear filter; queried once.
    blitted: OnceLock<u128>,
    /// The states in whose layouts the CPU may write images.
    written_in: State,
    /// Size of the address space for all sparse resources, in bytes.
    sparse_bytes: AtomicU64,
    /// A texture was created that is an input attachment.
    has_input_attachments: AtomicBool,
}

impl Resources {
    pub(crate) fn new(memory: Arc<Memories>) -> Self {
        let loaded = memory.loaded().clone();
        Self {
            written_in: host_copy::states(&loaded.api),
            loaded,
            memory,
            support: ImageSupport::default(),
            formats: FormatProperties::default(),
            known: TextureCache::new(),
            blitted: OnceLock::new(),
            sparse_bytes: AtomicU64::new(0),
            has_input_attachments: AtomicBool::new(false),
        }
    }

    /// Whether any texture may be an input attachment. Code that records uses of one is synchronised with its
    /// creation.
    pub(crate) fn has_input_attachments(&self) -> bool {
        self.has_input_attachments.load(Ordering::Relaxed)
    }

    /// Notes the creation of a resource with this usage.
    fn note_usage(&self, usage: Usage) {
        if usage.contains(Usage::INPUT_ATTACHMENT) {
            self.has_input_attachments.store(true, Ordering::Relaxed);
        }
    }
}

part_of_device!(Resources);
