//! All descriptors of a manager.

use std::sync::atomic::{AtomicU64, Ordering};

use super::cpu_heaps::CpuHeaps;
use super::forms::Forms;
use super::recorded_sets::RecordedSetsPool;
use super::sampler::Samplers;
use super::set_layout::Form;
use super::visible::VisibleHeaps;
use crate::device::{DescriptorKind, DescriptorLimits, Device, DeviceError, Permit};
use crate::gpu::Shared;
use crate::{Config, ConfigError, Error, Name};

/// The heaps, and the blocks of sets.
pub(crate) struct DescriptorStore<D: Device> {
    pub(super) cpu: CpuHeaps<D>,
    pub(super) visible: VisibleHeaps<D>,
    pub(super) samplers: Samplers<D>,
    pub(super) forms: Forms<D>,
    pub(super) recorded_sets: RecordedSetsPool<D>,
    /// Heaps, layouts and blocks of sets that were ever created.
    made: AtomicU64,
    /// Blocks of sets that there are.
    set_blocks: AtomicU64,
}

/// What is left of a store, for those who destroy it.
pub(crate) struct Remains<D: Device> {
    heaps: Vec<D::DescriptorHeap>,
}

impl<D: Device> DescriptorStore<D> {
    pub(crate) fn new(config: &Config, limits: &DescriptorLimits) -> Result<Self, ConfigError> {
        Ok(Self {
            cpu: CpuHeaps::default(),
            visible: VisibleHeaps::new(config, limits)?,
            samplers: Samplers::default(),
            forms: Forms::default(),
            recorded_sets: RecordedSetsPool::default(),
            made: AtomicU64::new(0),
            set_blocks: AtomicU64::new(0),
        })
    }

    /// An API object was created.
    pub(super) fn note_made(&self) {
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// API objects that were ever created.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    pub(super) fn note_set_block(&self) {
        self.note_made();
        self.set_blocks.fetch_add(1, Ordering::Relaxed);
    }

    /// Destroys a block of sets that nothing uses.
    pub(super) fn destroy_set_block(&self, device: &D, block: D::SetBlock) {
        device.destroy_set_block(Permit::own(), block);
        self.set_blocks.fetch_sub(1, Ordering::Relaxed);
    }

    /// Blocks of sets that there are.
    pub(super) fn set_blocks(&self) -> u64 {
        self.set_blocks.load(Ordering::Relaxed)
    }

    /// Destroys the heaps and blocks that nothing has used for the configured frames. Cost: layouts.
    pub(crate) fn end_frame(&self, shared: &Shared<D>) {
        let idle_frames = u64::from(shared.config.idle_frames);
        self.retire(shared.device(), shared.current_frame().saturating_sub(idle_frames));
    }

    /// Destroys the heaps and blocks that nothing uses.
    pub(crate) fn trim(&self, device: &D) {
        self.retire(device, u64::MAX);
        self.destroy_blocks(device, Form::trim);
    }

    fn retire(&self, device: &D, oldest: u64) {
        self.cpu.retire(device, oldest);
        self.destroy_blocks(device, |form, retired| form.retire(oldest, retired));
    }

    /// Destroys what `take_out` takes out of each layout. The layouts are held until then: on another
    /// thread the last handle of one may be released meanwhile, and a layout outlives its blocks.
    fn destroy_blocks(&self, device: &D, take_out: impl Fn(&Form<D>, &mut Vec<D::SetBlock>)) {
        let (mut retired, mut held) = (Vec::new(), Vec::new());
        self.forms.each(|form| {
            let before = retired.len();
            take_out(&form, &mut retired);
            if retired.len() > before {
                held.push(form);
            }
        });
        retired.into_iter().for_each(|block| self.destroy_set_block(device, block));
    }

    /// The heaps, to be destroyed; the layouts and their blocks went with the last handles.
    pub(crate) fn take_all(&mut self) -> Remains<D> {
        let mut heaps = self.cpu.take_all();
        heaps.extend(self.visible.take_all());
        Remains { heaps }
    }
}

impl<D: Device> Remains<D> {
    pub(crate) fn destroy(self, device: &D) {
        self.heaps.into_iter().for_each(|heap| device.destroy_descriptor_heap(Permit::own(), heap));
    }
}

impl<D: Device> Shared<D> {
    /// Asks the device once more when it is short of something and something can be given back.
    pub(super) fn retry<T>(&self, mut ask: impl FnMut() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
        match ask() {
            Err(error) if error.is_shortage() => {
                self.make_room();
                ask()
            }
            answer => answer,
        }
    }

    /// The heaps that shaders see, as far as the device has them: of views, and of samplers.
    pub(crate) fn visible_heaps(
        &self,
        recording: &'static str,
    ) -> Result<[Option<&D::DescriptorHeap>; 2], Error> {
        let name = Name::from(recording);
        let heap = |kind| {
            let has = self.descriptors.visible.has(kind);
            has.then(|| self.visible(&name, kind).map(|heap| &heap.heap)).transpose()
        };
        Ok([heap(DescriptorKind::Resource)?, heap(DescriptorKind::Sampler)?])
    }
}
