//! The objects of a program, and their model.

mod end;
mod errors;
mod known_objects;
mod recordings;
mod tasks;
mod tiles;

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::{
    AccelerationStructure, Buffer, Frame, Gpu, MovableId, PageAllocator, QueryTicket, Readback, Reserved,
    SetLayout, Texture, Timestamp, Upload, UploadRing,
};
use tenure_sim::{Device, Swapchain};

use crate::callbacks::Callbacks;
use crate::contents::Contents;
use crate::setup::{Setup, Trouble};
pub(crate) use crate::wrong::{Checked, LONG, Wrong, words_of, wrong};
pub(crate) use end::{check_idle, compare, end_after_loss, end_clean};
pub use errors::Refusals;
pub(crate) use known_objects::{
    Grid, KnownBuffer, KnownTexture, Shown, ShownRange, ShownSet, ShownTable, Tiles,
};
pub(crate) use recordings::OpenRecording;
pub(crate) use tasks::Task;

/// The trace of a program; it outlives one that panics.
pub(crate) type Trace = Arc<Mutex<Vec<String>>>;

/// The program, and its model.
pub(crate) struct World {
    pub(crate) trouble: Trouble,
    pub(crate) buffers: Vec<KnownBuffer>,
    pub(crate) textures: Vec<KnownTexture>,
    pub(crate) contents: Contents,
    pub(crate) open: Vec<OpenRecording>,
    pub(crate) reads: Vec<Read>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) shown: Vec<Shown>,
    pub(crate) tables: Vec<ShownTable>,
    pub(crate) sets: Vec<ShownSet>,
    pub(crate) layout: Option<SetLayout<Device>>,
    pub(crate) rings: Vec<UploadRing<Device>>,
    pub(crate) pages: Vec<PageAllocator<Device>>,
    pub(crate) tickets: Vec<QueryTicket<Device, Timestamp>>,
    pub(crate) tiles: Vec<Tiles>,
    pub(crate) structures: Vec<AccelerationStructure<Device>>,
    /// Textures that commands only read.
    pub(crate) read_only: Vec<Texture<Device>>,
    pub(crate) uploads: Vec<Upload>,
    pub(crate) swapchain: Option<Swapchain>,
    /// Other objects that are only kept alive.
    pub(crate) kept: Vec<Box<dyn Any + Send>>,
    pub(crate) frame: Option<Frame<Device>>,
    /// The number of moves of movable resources at the last query.
    pub(crate) moves: HashMap<MovableId, u64>,
    /// No other program shares the manager, so its counters are exact.
    pub(crate) is_alone: bool,
    /// The device was lost, or may be: all bytes become unknown.
    pub(crate) is_lost: bool,
    /// Recordings or frames were leaked.
    pub(crate) has_leaked: bool,
    /// Recordings that were leaked.
    pub(crate) leaked: usize,
    /// Calls that were refused.
    pub(crate) refused: Refusals,
    pub(crate) callbacks: Arc<Callbacks>,
    next: u64,
    trace: Option<Trace>,
    /// Declared last, so that it is dropped last.
    pub(crate) gpu: Gpu<Device>,
}

/// A readback, and its number in the model.
pub(crate) struct Read {
    pub(crate) number: u64,
    pub(crate) readback: Readback<Device>,
}

impl World {
    /// A program that has nothing yet.
    pub(crate) fn new(gpu: Gpu<Device>, callbacks: Arc<Callbacks>, setup: &Setup) -> Self {
        Self {
            trouble: setup.trouble,
            buffers: Vec::new(),
            textures: Vec::new(),
            contents: Contents::default(),
            open: Vec::new(),
            reads: Vec::new(),
            tasks: Vec::new(),
            shown: Vec::new(),
            tables: Vec::new(),
            sets: Vec::new(),
            layout: None,
            rings: Vec::new(),
            pages: Vec::new(),
            tickets: Vec::new(),
            tiles: Vec::new(),
            structures: Vec::new(),
            read_only: Vec::new(),
            uploads: Vec::new(),
            swapchain: None,
            kept: Vec::new(),
            frame: None,
            moves: HashMap::new(),
            is_alone: true,
            is_lost: false,
            has_leaked: false,
            leaked: 0,
            refused: Refusals::new(),
            callbacks,
            next: 0,
            trace: None,
            gpu,
        }
    }

    /// One of several programs that share a manager, by its index: no two of them give objects the same name.
    pub(crate) fn among_others(
        gpu: Gpu<Device>,
        callbacks: Arc<Callbacks>,
        setup: &Setup,
        index: u64,
    ) -> Self {
        Self { is_alone: false, next: index * 1_000_000, ..Self::new(gpu, callbacks, setup) }
    }

    /// Starts the trace of steps.
    pub(crate) fn begin_trace(&mut self, trace: Trace) {
        self.trace = Some(trace);
    }

    /// Adds to the trace, if there is one.
    pub(crate) fn say(&mut self, words: impl FnOnce() -> String) {
        if let Some(trace) = &self.trace {
            trace.lock().unwrap_or_else(PoisonError::into_inner).push(words());
        }
    }

    /// True when the manager's counters change by this program's calls alone.
    pub(crate) fn is_counted(&self) -> bool {
        self.is_alone && !self.callbacks.is_hostile
    }

    /// A number that no other object has.
    pub(crate) const fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn device(&self) -> &Device {
        self.gpu.device()
    }

    pub(crate) fn buffer(&self, number: u64) -> Option<&Buffer<Device>> {
        self.buffers.iter().find(|known| known.number == number).map(|known| &known.buffer)
    }

    /// An open recording uses it: other writes to it meanwhile are not ordered.
    pub(crate) fn is_busy(&self, number: u64) -> bool {
        self.open.iter().any(|open| open.uses(number))
    }

    /// The reserved resource of tiles, by its place in the list.
    pub(crate) fn reserved(&self, place: usize) -> Option<&Reserved<Device>> {
        self.tiles.get(place).map(|tiles| &tiles.reserved)
    }
}
