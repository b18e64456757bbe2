//! Recording.

pub(crate) mod record;
mod structures;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;
use tenure_core::device::{
    Barrier, BegunQueries, CallRule, Device, DeviceError, QueueId, QueueKind, QueueTransfer, State,
    Subresource, check,
};

use crate::calls::{CallKind, Request};
use crate::clock::SharedClock;
use crate::command::{Command, SAMPLE_BYTES};
use crate::descriptors::{At, DescriptorAt, MOST_READ};
use crate::hazard::HazardKind;
use crate::layout::Span;
use crate::memory::Memory;
use crate::object::{Label, ObjectKind, debug_by_label};
use crate::queries::{QueryCommand, QueryHeap, QueryStep};
use crate::resource::Resource;
use crate::timeline::Queues;

/// The state of a list needed by submissions while it may be recorded again.
pub(crate) struct ListState {
    pub(crate) label: Arc<Label>,
    pub(crate) last_use: SharedClock,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Never begun.
    New,
    Open,
    Closed,
    /// It could not be closed or begun: it can only be destroyed.
    Broken,
}

/// Direct3D 12 refuses to reset a list whose `Close` failed.
const BROKEN: CallRule = CallRule::BegunSound;

/// A command allocator with its list.
///
/// Beyond the contract it records commands in place of an engine's drawing: uses of resources in given states,
/// clears, fills, and checks of bytes on the GPU timeline. [`close`](tenure_core::device::CommandList::close)
/// returns the error of an invalid command (a range outside its resource, a state the queue does not know); an
/// error that depends on the moment of execution is a [`Hazard`](crate::Hazard).
pub struct List {
    pub(crate) queues: Arc<Queues>,
    pub(crate) state: Arc<ListState>,
    pub(crate) queue: QueueId,
    pub(crate) kind: QueueKind,
    phase: Phase,
    /// Whether the list was submitted since it was begun.
    is_submitted: AtomicBool,
    /// The recorded commands. They are recorded through a shared reference, as in a driver's list, so that code that records
    /// cannot swap two lists.
    pub(crate) recorded: RefCell<Recording>,
}

#[derive(Default)]
pub(crate) struct Recording {
    commands: Arc<Vec<Command>>,
    pub(crate) begun: BegunQueries,
    /// The first.
    error: Option<DeviceError>,
}

impl List {
    pub(crate) fn is_from(&self, queues: &Queues) -> bool {
        std::ptr::eq(Arc::as_ptr(&self.queues), queues)
    }

    /// The recorded commands, once it is closed.
    pub(crate) fn closed(&self) -> Option<Arc<Vec<Command>>> {
        (self.phase == Phase::Closed).then(|| Arc::clone(&self.recorded.borrow().commands))
    }

    pub(crate) fn is_submitted(&self) -> bool {
        self.is_submitted.load(Ordering::Relaxed)
    }

    pub(crate) fn note_submitted(&self) {
        self.is_submitted.store(true, Ordering::Relaxed);
    }

    /// Records a command that passed its checks; keeps the first error for `close`.
    pub(crate) fn record(&self, command: Result<Command, DeviceError>) {
        let mut recorded = self.recorded.borrow_mut();
        if self.phase != Phase::Open {
            let rule = CallRule::RecordedOpen;
            recorded.error.get_or_insert(DeviceError::broken_rule(rule));
            return;
        }
        match command {
            Ok(command) => {
                if let Some(commands) = Arc::get_mut(&mut recorded.commands) {
                    commands.push(command);
                }
            }
            Err(error) => {
                recorded.error.get_or_insert(error);
            }
        }
    }

    pub(crate) fn begin_recording(&mut self) -> Result<(), DeviceError> {
        let (queues, before) = (Arc::clone(&self.queues), self.phase);
        if before != Phase::Open {
            self.phase = Phase::Broken;
        }
        queues.call(CallKind::BeginList, Request::default(), || {
            match before {
                Phase::Open => return Err(DeviceError::broken_rule(CallRule::BegunClosed)),
                Phase::Broken => return Err(DeviceError::broken_rule(BROKEN)),
                Phase::New | Phase::Closed => {}
            }
            self.queues.check_unused(&self.state.label, &self.state.last_use, HazardKind::ListInUse, "begin");
            let recorded = self.recorded.get_mut();
            match Arc::get_mut(&mut recorded.commands) {
                Some(commands) => commands.clear(),
                None => recorded.commands = Arc::default(),
            }
            recorded.error = None;
            recorded.begun = BegunQueries::default();
            *self.is_submitted.get_mut() = false;
            self.phase = Phase::Open;
            Ok(())
        })
    }

    pub(crate) fn close_recording(&mut self) -> Result<(), DeviceError> {
        let (queues, is_open) = (Arc::clone(&self.queues), self.phase == Phase::Open);
        if is_open {
            self.phase = Phase::Broken;
        }
        queues.call(CallKind::CloseList, Request::default(), || {
            if !is_open {
                return Err(DeviceError::broken_rule(CallRule::ClosedOpen));
            }
            let recorded = self.recorded.get_mut();
            let ended = recorded.begun.close();
            recorded.error.take().map_or(ended, Err)?;
            self.phase = Phase::Closed;
            Ok(())
        })
    }

    /// A draw or dispatch that accesses `size` bytes of a buffer in `state`.
    ///
    /// Read states read all of it, write states write all of it; for the barrier and race checks unordered access
    /// does both, and it initialises the touched bytes. No byte changes.
    pub fn use_buffer(&self, resource: &Resource, offset: u64, size: u64, state: State) {
        let command = record::buffer_span(resource, offset, size)
            .and_then(|span| check::state(self.kind, state).map(|()| span))
            .map(|span| Command::Use { resource: Arc::clone(&resource.state), span, state });
        self.record(command);
    }

    /// A draw or dispatch that accesses subresources of a texture in `state`; see
    /// [`use_buffer`](Self::use_buffer).
    pub fn use_texture(&self, resource: &Resource, subresource: Subresource, state: State) {
        let command = record::texture_subresource(resource, subresource)
            .and_then(|()| check::state(self.kind, state))
            .map(|()| Command::Use {
                resource: Arc::clone(&resource.state),
                span: Span::Subresource(subresource),
                state,
            });
        self.record(command);
    }

    /// A draw or dispatch that accesses, in `state`, all that a descriptor shows when the command
    /// runs: the bytes or the subresources of its view. See [`use_buffer`](Self::use_buffer).
    ///
    /// The state implies the kind of descriptor: `VERTEX_OR_CONSTANT` for constants, shader reads for read-only
    /// views, unordered accesses for writable ones, the target states for targets, and `COMMON` for samplers.
    /// Targets are found in the heap that is not shader-visible, and are read at the time of the call.
    pub fn use_descriptor(&self, at: DescriptorAt<'_>, state: State) {
        let command = self.shader_state(state).and_then(|()| At::record(&self.queues.properties, at));
        self.record(command.map(|at| Command::UseDescriptor { at, state }));
    }

    /// A dispatch that reads, in `state`, the first `size` bytes that a descriptor shows and writes them to a
    /// buffer, which is in `UNORDERED_ACCESS`, and may be in `COMPUTE_UNORDERED_ACCESS` for `COMPUTE_SHADER`. For a typed
    /// buffer or a texture it repeats the first texel, or block of texels, of the first viewed mip and layer. Bytes
    /// outside the view, or without a resource, read as zero. At most 4,096 bytes.
    pub fn read_descriptor(
        &self,
        at: DescriptorAt<'_>,
        state: State,
        out: &Resource,
        offset: u64,
        size: u64,
    ) {
        let command = self.shader_state(state).and_then(|()| {
            record::buffer_span(out, offset, size)?;
            let limit = MOST_READ as u64;
            if size > limit {
                return Err(DeviceError::invalid_call("not too much is read at once", size, limit));
            }
            let (at, out) = (At::record(&self.queues.properties, at)?, Arc::clone(&out.state));
            Ok(Command::ReadDescriptor { at, state, out, offset, size })
        });
        self.record(command);
    }

    /// A dispatch that samples a texture, in `state`, in the middle of the first viewed mip and layer, with a
    /// sampler's filter for texels larger than pixels. Writes the four channels, a byte each in an `Rgba8Unorm`
    /// texture, as four words of 32 bits to a buffer, in states as for [`read_descriptor`](Self::read_descriptor); missing
    /// resources give zero.
    pub fn sample_descriptor(
        &self,
        sampler: DescriptorAt<'_>,
        texture: DescriptorAt<'_>,
        state: State,
        out: &Resource,
        offset: u64,
    ) {
        let command = self.shader_state(state).and_then(|()| {
            record::buffer_span(out, offset, SAMPLE_BYTES)?;
            let at = |at| At::record(&self.queues.properties, at);
            let (sampler, texture) = (at(sampler)?, at(texture)?);
            let out = Arc::clone(&out.state);
            Ok(Command::SampleDescriptor { sampler, texture, state, out, offset })
        });
        self.record(command);
    }

    /// Checks the state of a descriptor, and that the queue has shaders.
    pub(crate) fn shader_state(&self, state: State) -> Result<(), DeviceError> {
        record::has_shaders(self.kind)?;
        check::state(self.kind, state)
    }

    /// Clears subresources of a texture to a repeated `texel`: one byte, or the bytes of a block of its format.
    /// The texture is in the state of its target usage (`RENDER_TARGET`, `DEPTH_WRITE`), or `COPY_DST`, or
    /// `UNORDERED_ACCESS`: the first that its usage allows.
    pub fn clear_texture(&self, resource: &Resource, subresource: Subresource, texel: &[u8]) {
        let command = record::clear(resource, subresource, texel).map(|()| Command::ClearTexture {
            resource: Arc::clone(&resource.state),
            subresource,
            pattern: SmallVec::from_slice(texel),
        });
        self.record(command);
    }

    /// Sets bytes of a buffer, in state `COPY_DST` if its usage allows that, otherwise in `UNORDERED_ACCESS`.
    pub fn fill_buffer(&self, resource: &Resource, offset: u64, size: u64, byte: u8) {
        let command = record::buffer_span(resource, offset, size).map(|_| Command::FillBuffer {
            resource: Arc::clone(&resource.state),
            offset,
            size,
            byte,
        });
        self.record(command);
    }

    /// Checks, when the command runs, that a resource holds `bytes` at `offset` of its linear layout (rows follow
    /// one another, then slices, mips, layers). Counts as a read in the current state of the resource; other
    /// bytes are a [`WrongBytes`](crate::HazardKind::WrongBytes) hazard.
    pub fn expect_bytes(&self, resource: &Resource, offset: u64, bytes: &[u8]) {
        let limit = resource.state.layout.bytes();
        let command = record::inside(offset, bytes.len() as u64, limit).map(|_| Command::ExpectBytes {
            resource: Arc::clone(&resource.state),
            offset,
            bytes: bytes.into(),
        });
        self.record(command);
    }

    /// Records a command about queries that passed its checks.
    pub(crate) fn query(
        &self,
        checked: Result<(), DeviceError>,
        heap: &QueryHeap,
        (first, count): (u32, u32),
        step: QueryStep,
    ) {
        let heap = Arc::clone(&heap.state);
        self.record(checked.map(|()| Command::Query(QueryCommand { heap, first, count, step })));
    }

    pub(crate) fn barrier(
        &self,
        barrier: &Barrier<'_, impl Device<Resource = Resource>>,
    ) -> Result<Command, DeviceError> {
        match *barrier {
            Barrier::Transition { resource, subresource, before, after, transfer } => {
                self.check_transition(resource, subresource, before, after, transfer)?;
                let resource = Arc::clone(&resource.state);
                Ok(Command::Transition { resource, subresource, before, after, transfer })
            }
            Barrier::Unordered { resource } => {
                Ok(Command::Unordered { resource: Arc::clone(&resource.state) })
            }
            Barrier::Aliasing { before, after, from, to } => {
                if matches!(after.state.memory, Memory::Committed { .. }) {
                    return Err(DeviceError::broken_rule(CallRule::AliasingPlaced));
                }
                Ok(Command::Aliasing {
                    before: before.map(|before| Arc::clone(&before.state)),
                    after: Arc::clone(&after.state),
                    from,
                    to,
                })
            }
        }
    }

    fn check_transition(
        &self,
        resource: &Resource,
        subresource: Subresource,
        before: State,
        after: State,
        transfer: Option<QueueTransfer>,
    ) -> Result<(), DeviceError> {
        record::subresource(resource, subresource)?;
        let is_peers = transfer.is_some_and(|transfer| [transfer.from, transfer.to].contains(&QueueId::PEER));
        if after.is_empty() && !self.queues.promotes() && !(is_peers && self.queues.is_d3d12()) {
            return Err(DeviceError::broken_rule(CallRule::NeverToCommon));
        }
        let Some(transfer) = transfer else {
            check::state(self.kind, before)?;
            return check::state(self.kind, after);
        };
        if transfer.from == QueueId::PEER || transfer.to == QueueId::PEER {
            return self.check_peer(resource, subresource, [before, after], transfer);
        }
        if self.queues.is_d3d12() {
            return Err(DeviceError::broken_rule(
                "Direct3D 12 knows no transfers: all queues are of one family",
            ));
        }
        for (queue, state) in [(transfer.from, before), (transfer.to, after)] {
            check::state(self.queues.queue(queue)?.kind, state)?;
        }
        self.check_transfer_queue(self.queue == transfer.from || self.queue == transfer.to, transfer.to)
    }

    fn check_transfer_queue(&self, is_part: bool, to: QueueId) -> Result<(), DeviceError> {
        let refused = || {
            let rule = CallRule::TransferQueue;
            DeviceError::invalid_call(rule, u64::from(self.queue.0), u64::from(to.0))
        };
        if is_part { Ok(()) } else { Err(refused()) }
    }

    /// Checks that a shared resource goes to a peer, or comes from one, as a whole.
    fn check_peer(
        &self,
        resource: &Resource,
        subresource: Subresource,
        [before, after]: [State; 2],
        QueueTransfer { from, to }: QueueTransfer,
    ) -> Result<(), DeviceError> {
        if resource.state.sharing.is_none() {
            return Err(DeviceError::broken_rule(CallRule::PeerTakesShared));
        }
        if subresource != Subresource::All || before != after {
            return Err(DeviceError::broken_rule(CallRule::PeerTakesAll));
        }
        check::state(self.kind, after)?;
        let own = if from == QueueId::PEER { to } else { from };
        self.check_transfer_queue(own == self.queue, to)
    }
}

debug_by_label!(List);

impl Queues {
    pub(crate) fn create_list(self: &Arc<Self>, queue: QueueId) -> Result<List, DeviceError> {
        let kind = self.queue(queue)?.kind;
        let state =
            ListState { label: self.register.create(ObjectKind::List), last_use: SharedClock::default() };
        Ok(List {
            queues: Arc::clone(self),
            state: Arc::new(state),
            queue,
            kind,
            phase: Phase::New,
            is_submitted: AtomicBool::new(false),
            recorded: RefCell::default(),
        })
    }

    pub(crate) fn destroy_list(&self, list: &List) {
        let ListState { label, last_use } = &*list.state;
        self.check_unused(label, last_use, HazardKind::DestroyedInUse, "destroy_list");
        self.register.destroy(label);
    }
}
