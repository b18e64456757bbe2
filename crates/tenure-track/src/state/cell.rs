//! The state of one API resource after the submissions so far.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::rules::{Rules, is_read, is_valid};
use super::tracker::Hints;
use super::{D3d12Layout, Layout, ResourceKind, StateError};
use crate::device::{
    Api, Features, MAX_QUEUES, Properties, QueueId, QueueKind, QueueSerial, QueueTransfer, ResourceDesc,
    State, StateModel, Subresource, Usage,
};
use crate::time::SyncPoint;

/// Maximum number of tracked subresources: more than any API allows (16 mips of 2048 layers with two planes), and a bound on
/// the allocation for separate states.
pub const MAX_SUBRESOURCES: u32 = 1 << 16;

/// The last id of a cell.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// The state of one subresource after the submissions so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) state: State,
    /// Whether it was reached without a barrier: more reads are free.
    pub(super) promoted: bool,
    /// On `Explicit`: the states in which the owner has used it since its last barrier.
    pub(super) open: State,
    /// On `Explicit`: the states in which each other queue has read since; waiting for `at` made all writes visible to such a
    /// queue.
    pub(super) reads: [State; MAX_QUEUES],
    /// Equal to the owner's count in `epochs` while no barrier follows the last unordered accesses; 0: none.
    pub(super) unordered: u32,
    /// The submission that led to `state`; its queue owns the contents.
    pub(super) at: Option<QueueSerial>,
    /// On `Promotion`: whether that submission was on a copy queue.
    pub(super) copied: bool,
    /// True for a target that was neither discarded nor written since it was created or had new memory.
    pub(super) uninitialized: bool,
}

impl Part {
    pub(super) const NO_READS: [State; MAX_QUEUES] = [State::COMMON; MAX_QUEUES];

    /// A part in `state` without uses since.
    pub(super) const fn in_state(state: State, at: Option<QueueSerial>) -> Self {
        Self {
            state,
            promoted: false,
            open: State::COMMON,
            reads: Self::NO_READS,
            unordered: 0,
            at,
            copied: false,
            uninitialized: false,
        }
    }

    /// The part as a later submission finds it, after D3D12's decay.
    ///
    /// Irrelevant fields are reset, so that equivalent parts are equal.
    pub(super) fn settled(self, rules: Rules, submission: QueueSerial) -> Self {
        if self.at == Some(submission) { self } else { self.settled_after(rules) }
    }

    /// The state of the part for any submission after its last use.
    pub(super) fn settled_after(mut self, rules: Rules) -> Self {
        let Some(at) = self.at else { return self };
        self.at = Some(QueueSerial { serial: 0, ..at });
        if rules.model == StateModel::Promotion {
            let fixed = self.state == State::ACCELERATION_STRUCTURE;
            let buffer = rules.kind == ResourceKind::Buffer && !fixed;
            if buffer || self.copied || (self.promoted && !self.state.is_write()) {
                self.state = State::COMMON;
                self.at = None;
            }
            self.promoted = false;
            self.copied = false;
            // The end of a submission orders everything before it.
            self.unordered = 0;
        }
        self
    }

    /// On `Explicit`: the uses of the part on a queue since its last barrier, in the submissions so far. Without a queue: the
    /// uses on all queues.
    pub(super) fn open_on(&self, queue: Option<QueueId>) -> State {
        let owner = self.at.map(|at| at.queue);
        // A barrier made for another queue leads to the state, and the owner has not used the part since.
        let owned = if self.open.is_empty() { self.state } else { self.open };
        match queue {
            Some(_) if queue == owner => owned,
            Some(queue) => self.reads.get(queue.index()).copied().unwrap_or_default(),
            None => self.reads.iter().fold(owned, |all, reads| all | *reads),
        }
    }
}

/// The state of all subresources after the submissions so far.
#[derive(Clone, Debug)]
pub(super) struct Submitted {
    pub(super) parts: Parts<Part>,
    /// Per queue, the number of its unordered barriers on the whole resource. Never 0.
    pub(super) epochs: [u32; MAX_QUEUES],
    /// The queue of the last aliasing barrier for the resource, and the states after it.
    pub(super) led: Option<(QueueId, State)>,
    /// Per queue, the last submission that used any part.
    pub(super) uses: [u64; MAX_QUEUES],
    /// Per queue, the last submission that wrote or moved any part.
    pub(super) changes: [u64; MAX_QUEUES],
    /// Transfers released by one queue and not acquired by the other, because the acquiring submission was refused. Nearly
    /// always empty.
    pub(super) released: Vec<Released>,
}

/// The submitted half of a transfer between queue families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Released {
    pub(super) subresource: Subresource,
    pub(super) before: State,
    pub(super) after: State,
    pub(super) transfer: QueueTransfer,
}

/// The usage state of one API resource; all ranges of a pooled buffer share the state of their buffer.
///
/// The resource keeps it for its lifetime. [`Tracker`](super::Tracker)s refer to it while commands are recorded,
/// [`resolve`](super::resolve) updates it when they are submitted.
///
/// One state applies to the whole resource as long as all subresources agree. Thread-safe; `resolve` and the getters of the
/// submitted state take a small lock; during recording, only [`Tracker::activate`](super::Tracker::activate) does.
#[derive(Debug)]
pub struct StateCell {
    id: u64,
    kind: ResourceKind,
    subresources: u32,
    allowed: State,
    initial: State,
    layouts: Api,
    reads_are_copied: bool,
    needs_initialization: bool,
    /// Whether no queue family owns its contents alone.
    is_of_all_families: bool,
    /// Whether different submissions use different bytes of it.
    has_disjoint_uses: bool,
    /// The declared read states, as bits; 0: not read-only.
    read_only: AtomicU32,
    /// A submission has brought its contents into the declared read states, for all queues.
    is_published: AtomicBool,
    hints: Hints,
    submitted: Mutex<Submitted>,
}

/// True for resources with compression data on Direct3D 12.
const fn is_target(usage: Usage) -> bool {
    usage.intersects(Usage::RENDER_TARGET.union(Usage::DEPTH_STENCIL))
}

/// The device's rules for the states of a resource.
#[derive(Clone, Copy)]
struct DeviceRules {
    api: Api,
    reads_are_copied: bool,
    needs_initialization: bool,
    /// States that it may enter in addition to the states of its usage.
    also_allowed: State,
    is_of_all_families: bool,
}

impl StateCell {
    /// The cell of a resource just created in state `initial`.
    ///
    /// `subresources` is clamped to `1..=`[`MAX_SUBRESOURCES`]; further subresources are not tracked, and their use is an
    /// error. [`State::COMMON`] as the initial state means on [`StateModel::Explicit`] that a texture has no contents.
    ///
    /// ```
    /// use tenure::state::{ResourceKind, StateCell};
    /// use tenure::{State, Subresource, Usage};
    ///
    /// let cell = StateCell::new(ResourceKind::Texture, 6, Usage::SHADER_READ, State::COMMON);
    /// assert_eq!(cell.submitted(5), Some(State::COMMON));
    /// assert_eq!(cell.submitted(6), None);
    /// ```
    #[must_use]
    pub fn new(kind: ResourceKind, subresources: u32, usage: Usage, initial: State) -> Self {
        let rules = DeviceRules {
            api: Api::Vulkan,
            reads_are_copied: false,
            needs_initialization: false,
            also_allowed: State::empty(),
            is_of_all_families: usage.contains(Usage::ALL_QUEUES),
        };
        Self::with_rules(kind, subresources, usage, initial, rules)
    }

    /// Inlined, so that it is constructed in place: it is large.
    #[inline(always)]
    fn with_rules(
        kind: ResourceKind,
        subresources: u32,
        usage: Usage,
        initial: State,
        DeviceRules { api, reads_are_copied, needs_initialization, also_allowed, is_of_all_families }: DeviceRules,
    ) -> Self {
        let whole = Part { uninitialized: needs_initialization, ..Part::in_state(initial, None) };
        Self {
            id: LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
            kind,
            subresources: subresources.clamp(1, MAX_SUBRESOURCES),
            allowed: State::allowed_for(usage).union(also_allowed),
            initial,
            layouts: api,
            reads_are_copied,
            needs_initialization,
            is_of_all_families,
            has_disjoint_uses: false,
            read_only: AtomicU32::new(0),
            is_published: AtomicBool::new(false),
            hints: Hints::default(),
            submitted: Mutex::new(Submitted {
                parts: Parts::Whole(whole),
                epochs: [1; MAX_QUEUES],
                led: None,
                uses: [0; MAX_QUEUES],
                changes: [0; MAX_QUEUES],
                released: Vec::new(),
            }),
        }
    }

    /// The cell of a resource just created from `desc` in state `initial`.
    #[must_use]
    pub fn for_resource(desc: &ResourceDesc, initial: State) -> Self {
        Self::new(ResourceKind::of(desc), desc.subresources(), desc.usage(), initial)
    }

    /// The cell of a resource on a device: as [`for_resource`](Self::for_resource), with the rules for the device's API and
    /// features ([`with_layouts_of`](Self::with_layouts_of), [`with_copied_reads`](Self::with_copied_reads), with `is_new` also
    /// [`with_initialization`](Self::with_initialization)).
    #[inline(always)]
    #[doc(hidden)]
    #[must_use]
    pub fn on_device(desc: &ResourceDesc, initial: State, properties: &Properties, is_new: bool) -> Self {
        let kind = ResourceKind::of(desc);
        let usage = desc.usage();
        let is_copied = properties.features.contains(Features::COPY_SRC_WITH_READS);
        let reads_are_copied = is_copied && kind == ResourceKind::Texture;
        let api = properties.api;
        let is_shared = usage.contains(Usage::SHARED);
        // A peer gets a texture in the state of swap-chain images, which is `COMMON`.
        let also_allowed = if is_shared && api == Api::Direct3D12 { State::PRESENT } else { State::empty() };
        // Shared resources are zeroed at creation, and a peer may have written them.
        let needs_initialization =
            is_new && !is_shared && properties.state_model == StateModel::Promotion && is_target(usage);
        let has_one_family =
            properties.queues.windows(2).all(|pair| matches!(pair, [one, next] if one.family == next.family));
        let is_of_all_families = has_one_family || usage.is_of_all_queues();
        let rules =
            DeviceRules { api, reads_are_copied, needs_initialization, also_allowed, is_of_all_families };
        Self::with_rules(kind, desc.subresources(), usage, initial, rules)
    }

    /// The cell of a new render target or depth buffer on a device that requires a discard, a clear or a copy before any other
    /// use of it, and again after each [activation](super::Tracker::activate) in new memory: on [`StateModel::Promotion`], each
    /// subresource is [initialized](super::StateBarrier::Initialize) before its first use, on every queue that can discard it.
    /// No effect on other resources.
    #[must_use]
    pub fn with_initialization(mut self) -> Self {
        self.needs_initialization = self.allowed.intersects(State::RENDER_TARGET | State::DEPTH_WRITE);
        let uninitialized = self.needs_initialization;
        let submitted = self.submitted.get_mut();
        submitted.parts = submitted.parts.map(|part| Part { uninitialized, ..part });
        self
    }

    /// True after [`with_initialization`](Self::with_initialization).
    pub(super) const fn needs_initialization(&self) -> bool {
        self.needs_initialization
    }

    /// The state in which a queue of this kind discards it; `None` if it cannot.
    pub(super) fn discarded_in(&self, queue: QueueKind) -> Option<State> {
        State::discarded_in(self.allowed, queue)
    }

    /// The cell of a texture on a device with [`Features::COPY_SRC_WITH_READS`](crate::device::Features::COPY_SRC_WITH_READS):
    /// shader reads are requested together with [`State::COPY_SRC`], and are never promoted. No effect on buffers and on
    /// [`StateModel::Explicit`].
    #[must_use]
    pub const fn with_copied_reads(mut self) -> Self {
        self.reads_are_copied = matches!(self.kind, ResourceKind::Texture);
        self
    }

    /// True after [`with_copied_reads`](Self::with_copied_reads).
    pub(super) const fn reads_are_copied(&self) -> bool {
        self.reads_are_copied
    }

    /// The cell of a resource on a device of that API, whose texture layouts apply on [`StateModel::Explicit`]: Vulkan's
    /// [`Layout`](super::Layout)s, the default, or Direct3D 12's [`D3d12Layout`](super::D3d12Layout)s.
    #[must_use]
    pub const fn with_layouts_of(mut self, api: Api) -> Self {
        self.layouts = api;
        self
    }

    /// The API of its layouts.
    pub(super) const fn layouts(&self) -> Api {
        self.layouts
    }

    /// True if queues of all families use its contents without a transfer.
    pub(super) const fn is_of_all_families(&self) -> bool {
        self.is_of_all_families
    }

    /// Declares that different submissions use different bytes of it, unless the CPU has waited in between: queues do not wait
    /// for each other because of it. For buffers that are only written.
    #[doc(hidden)]
    pub const fn set_disjoint_uses(&mut self) {
        self.has_disjoint_uses = true;
    }

    /// True after [`set_disjoint_uses`](Self::set_disjoint_uses).
    #[doc(hidden)]
    #[must_use]
    pub const fn has_disjoint_uses(&self) -> bool {
        self.has_disjoint_uses
    }

    /// Declares it as read-only in these states from now on: see [`check_read_only`](Self::check_read_only).
    #[doc(hidden)]
    pub fn set_read_only(&self, states: State) {
        self.read_only.store(states.bits(), Ordering::Release);
    }

    /// The declared read states; `None` if it is not read-only. One atomic load.
    #[inline]
    #[doc(hidden)]
    #[must_use]
    pub fn read_only(&self) -> Option<State> {
        match self.read_only.load(Ordering::Acquire) {
            0 => None,
            bits => Some(State::from_bits_truncate(bits)),
        }
    }

    /// The state in which it is left for reads in the states `declared`. On [`StateModel::Promotion`] that is `COMMON` for
    /// textures if possible, which queues of all kinds support.
    #[doc(hidden)]
    #[must_use]
    pub fn published_in(&self, declared: State, model: StateModel) -> State {
        let is_promoted = model == StateModel::Promotion && self.kind == ResourceKind::Texture;
        match is_promoted && Rules::of(model, self, QueueKind::Graphics).promotes(declared) {
            true => State::COMMON,
            false => declared,
        }
    }

    /// True if it is read-only, and a recording that leaves a part of it in `state` leaves it for reads in its declared states.
    #[doc(hidden)]
    #[must_use]
    pub fn is_published_in(&self, state: State, model: StateModel) -> bool {
        let decays = model == StateModel::Promotion && self.kind == ResourceKind::Buffer;
        let is_left = |published: State| match published.is_empty() {
            true => state.is_empty(),
            false => state.contains(published),
        };
        self.read_only().is_some_and(|declared| decays || is_left(self.published_in(declared, model)))
    }

    /// Notes that a submission brings it into its declared read states, so that any later submission may read it.
    #[doc(hidden)]
    pub fn note_published(&self) {
        self.is_published.store(true, Ordering::Release);
    }

    /// True after [`note_published`](Self::note_published).
    #[doc(hidden)]
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.is_published.load(Ordering::Acquire)
    }

    /// Counts these submissions as undeclared uses of a read-only resource: the next change waits for them.
    #[doc(hidden)]
    pub fn note_unnamed_uses(&self, submitted: &SyncPoint) {
        let submitted_uses = &mut self.lock().uses;
        for at in submitted.iter() {
            if let Some(last) = submitted_uses.get_mut(at.queue.index()) {
                *last = at.serial.max(*last);
            }
        }
    }

    /// Checks that it may be declared as read-only in these states.
    #[doc(hidden)]
    pub fn check_to_be_read_only(&self, states: State) -> Result<(), StateError> {
        self.check_declared(Subresource::All, states)?;
        let refuse = |rule| Err(StateError::CannotBeReadOnly { state: states, rule });
        match self.read_only() {
            _ if !is_read(states) => refuse("only read states can be"),
            Some(declared) if declared != states => {
                Err(StateError::ReadOnly { state: states, allowed: declared })
            }
            _ if self.has_no_layout(states) => Err(StateError::NoCommonLayout { state: states }),
            _ => Ok(()),
        }
    }

    /// True for a texture whose reads in these states need several layouts on Vulkan.
    fn has_no_layout(&self, states: State) -> bool {
        let is_vulkan = self.kind == ResourceKind::Texture && self.layouts == Api::Vulkan;
        is_vulkan && Layout::of(states) == Layout::General
    }

    /// Checks a read of a read-only resource, declared in the states `declared`, by a recording for such a queue.
    #[doc(hidden)]
    pub fn check_read_only(
        &self,
        state: State,
        declared: State,
        model: StateModel,
        kind: QueueKind,
    ) -> Result<(), StateError> {
        let is_found = match (model, self.layouts) {
            _ if self.kind == ResourceKind::Buffer || kind == QueueKind::Graphics => true,
            (StateModel::Explicit, Api::Direct3D12) => D3d12Layout::of(declared) == D3d12Layout::Common,
            (StateModel::Explicit, _) => self.is_of_all_families,
            (StateModel::Promotion, _) => {
                let is_named = kind != QueueKind::Copy && State::allowed_on(kind).contains(declared);
                is_named || self.published_in(declared, model).is_empty()
            }
        };
        match is_found {
            _ if state.is_empty() || !declared.contains(state) => {
                Err(StateError::ReadOnly { state, allowed: declared })
            }
            true => Ok(()),
            false => Err(StateError::NotReadOnQueue { allowed: declared, kind }),
        }
    }

    /// Id, unique in the process.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// The kind of resource, which selects the rules.
    #[must_use]
    pub const fn kind(&self) -> ResourceKind {
        self.kind
    }

    /// Number of tracked subresources.
    #[must_use]
    pub const fn subresources(&self) -> u32 {
        self.subresources
    }

    /// The states allowed by the resource's usage.
    #[must_use]
    pub const fn allowed(&self) -> State {
        self.allowed
    }

    /// The initial state.
    #[must_use]
    pub const fn initial(&self) -> State {
        self.initial
    }

    /// The state of a subresource after the last resolved submission, before any decay; `None` when there is no such
    /// subresource. Takes the lock.
    #[must_use]
    pub fn submitted(&self, subresource: u32) -> Option<State> {
        self.part(subresource).map(|part| part.state)
    }

    /// The state in which every later submission finds a subresource: on [`StateModel::Promotion`] after its decay.
    /// `None` when there is no such subresource. Takes the lock.
    #[doc(hidden)]
    #[must_use]
    pub fn at_rest(&self, subresource: u32, model: StateModel) -> Option<State> {
        self.part(subresource)
            .map(|part| part.settled_after(Rules::of(model, self, QueueKind::Graphics)).state)
    }

    /// The queue that owns the contents of a subresource: the last one to change it, or the first to use it. `None` when it was
    /// never used, has decayed or does not exist. Takes the lock.
    #[must_use]
    pub fn owner(&self, subresource: u32) -> Option<QueueId> {
        self.part(subresource).and_then(|part| part.at).map(|at| at.queue)
    }

    /// True when a recording for such a queue may [activate](super::Tracker::activate) the resource. On
    /// [`StateModel::Promotion`] all transitions of an activated resource are recorded after the activation, so on that queue,
    /// which must support the states of the resource after the submissions so far. O(subresources with separate states). Takes
    /// the lock.
    ///
    /// ```
    /// use tenure::device::StateModel;
    /// use tenure::state::{ResourceKind, StateCell};
    /// use tenure::{State, Usage, device::QueueKind};
    ///
    /// let usage = Usage::RENDER_TARGET | Usage::UNORDERED_ACCESS;
    /// let target = StateCell::new(ResourceKind::Texture, 1, usage, State::RENDER_TARGET);
    /// assert!(target.may_activate_on(QueueKind::Graphics, StateModel::Promotion));
    /// assert!(!target.may_activate_on(QueueKind::Compute, StateModel::Promotion));
    /// assert!(target.may_activate_on(QueueKind::Compute, StateModel::Explicit));
    /// ```
    #[must_use]
    pub fn may_activate_on(&self, kind: QueueKind, model: StateModel) -> bool {
        if model == StateModel::Explicit {
            return true;
        }
        let rules = Rules::of(model, self, kind);
        // Copy queues find every resource in `COMMON`.
        let known = if kind == QueueKind::Copy { State::COMMON } else { State::allowed_on(kind) };
        let parts = &self.lock().parts;
        parts.as_slice().iter().all(|part| known.contains(part.settled_after(rules).state))
    }

    /// The last submission of each queue that used any part. Takes the lock.
    #[must_use]
    pub fn used(&self) -> SyncPoint {
        let mut point = SyncPoint::NONE;
        for (queue, serial) in (0..).map(QueueId).zip(self.lock().uses) {
            point.require(queue, serial);
        }
        point
    }

    /// True while one state applies to all subresources. Takes the lock.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        matches!(self.submitted.lock().parts, Parts::Whole(_))
    }

    fn part(&self, subresource: u32) -> Option<Part> {
        let index = usize::try_from(subresource).ok().filter(|_| subresource < self.subresources)?;
        self.submitted.lock().parts.get(index)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Submitted> {
        self.submitted.lock()
    }

    pub(super) const fn hints(&self) -> &Hints {
        &self.hints
    }

    /// The number of subresources, as a length.
    pub(super) const fn count(&self) -> usize {
        self.subresources as usize
    }

    /// Checks a use against all rules that do not depend on earlier uses.
    #[doc(hidden)]
    pub fn check(
        &self,
        subresource: Subresource,
        state: State,
        model: StateModel,
        kind: QueueKind,
    ) -> Result<(), StateError> {
        self.check_declared(subresource, state)?;
        let on_queue = State::allowed_on(kind);
        match model {
            _ if !on_queue.contains(state) => {
                Err(StateError::NotAllowedOnQueue { state, allowed: on_queue, kind })
            }
            StateModel::Explicit if state.is_empty() => Err(StateError::NotToCommon),
            StateModel::Promotion if self.breaks_fixed_state(state) => {
                Err(StateError::Fixed { state, initial: self.initial })
            }
            _ => Ok(()),
        }
    }

    /// Checks a declared state of a resource, independent of the queue.
    #[inline]
    #[doc(hidden)]
    pub fn check_declared(&self, subresource: Subresource, state: State) -> Result<(), StateError> {
        match subresource {
            Subresource::One(index) if index >= self.subresources => {
                Err(StateError::OutOfRange { subresource: index, count: self.subresources })
            }
            _ if !is_valid(state) => Err(StateError::InvalidCombination { state }),
            _ if !self.allowed.contains(state) => {
                Err(StateError::NotAllowedForUsage { state, allowed: self.allowed })
            }
            _ => Ok(()),
        }
    }

    fn breaks_fixed_state(&self, state: State) -> bool {
        let fixed = State::ACCELERATION_STRUCTURE;
        (state == fixed) != (self.initial == fixed)
    }

    /// The state in which the next submission finds a subresource, if the CPU may write it in that state while all queues are
    /// idle. `None` while a queue has released some of the resource to another one, or if there is no such subresource. Takes
    /// the lock.
    #[doc(hidden)]
    #[must_use]
    pub fn state_to_write(&self, subresource: u32) -> Option<State> {
        let is_handed_over = self.lock().released.is_empty();
        self.submitted(subresource).filter(|_| is_handed_over)
    }

    /// Declares that the program itself has brought a part into `state`, by the submissions `at`: the queue of the last one
    /// becomes its owner. Without submissions, the next queue that uses it need not wait for a transfer from another one.
    #[doc(hidden)]
    pub fn declare(
        &self,
        subresource: Subresource,
        state: State,
        at: &SyncPoint,
        owner: Option<QueueSerial>,
    ) {
        self.set(subresource, |_| Part::in_state(state, owner));
        let submitted = &mut *self.lock();
        // The uses before the declaration belong to transitions between other states.
        submitted.released.clear();
        at.iter().for_each(|at| submitted.count(at));
    }

    /// Records a transition by another submission.
    pub(super) fn note(&self, subresource: Subresource, state: State, at: QueueSerial) {
        self.set(subresource, |part| Part {
            uninitialized: part.uninitialized,
            ..Part::in_state(state, Some(at))
        });
        self.lock().count(at);
    }

    fn set(&self, subresource: Subresource, reach: impl Fn(Part) -> Part) {
        let submitted = &mut *self.lock();
        match subresource {
            Subresource::All => submitted.parts = submitted.parts.map(reach),
            Subresource::One(index) => {
                if let Some(part) = submitted.parts.split(self.count()).get_mut(index as usize) {
                    *part = reach(*part);
                }
            }
        }
    }

    /// Records that a submission has released a part, which no queue has acquired yet.
    pub(super) fn note_released(&self, released: Released, at: QueueSerial) {
        let submitted = &mut *self.lock();
        submitted.released.push(released);
        submitted.count(at);
    }

    /// Records that a released part was acquired.
    pub(super) fn note_acquired(&self, subresource: Subresource, state: State, at: QueueSerial) {
        self.lock().released.retain(|released| released.subresource != subresource);
        self.note(subresource, state, at);
    }
}

impl Submitted {
    /// Counts a submission with a transition of a part.
    fn count(&mut self, at: QueueSerial) {
        self.count_use(at, true);
    }

    /// Counts a submission that uses, and perhaps changes, a part.
    #[inline]
    pub(super) fn count_use(&mut self, at: QueueSerial, changes: bool) {
        if let Some(last) = self.uses.get_mut(at.queue.index()) {
            *last = at.serial.max(*last);
        }
        if let Some(last) = self.changes.get_mut(at.queue.index()).filter(|_| changes) {
            *last = at.serial.max(*last);
        }
    }
}

/// The values of all subresources of a resource: a common value, or one for each.
#[derive(Clone, Debug)]
pub(super) enum Parts<T> {
    /// All are equal.
    Whole(T),
    /// One for each.
    Each(Box<[T]>),
}

impl<T: Copy + PartialEq> Parts<T> {
    /// The value of one subresource.
    pub(super) fn get(&self, index: usize) -> Option<T> {
        match self {
            Self::Whole(value) => Some(*value),
            Self::Each(values) => values.get(index).copied(),
        }
    }

    /// Maps the values. Allocates when they differ.
    pub(super) fn map<U: Copy + PartialEq>(&self, change: impl Fn(T) -> U) -> Parts<U> {
        match self {
            Self::Whole(value) => Parts::Whole(change(*value)),
            Self::Each(values) => {
                let mut changed = Parts::Each(values.iter().map(|value| change(*value)).collect());
                changed.collapse(|value| value);
                changed
            }
        }
    }

    /// The common value, or all values.
    pub(super) fn as_slice(&self) -> &[T] {
        match self {
            Self::Whole(value) => std::slice::from_ref(value),
            Self::Each(values) => values,
        }
    }

    /// The individual values, created if necessary. O(`count`) if they were equal.
    pub(super) fn split(&mut self, count: usize) -> &mut [T] {
        if let Self::Whole(value) = *self {
            *self = Self::Each(vec![value; count].into_boxed_slice());
        }
        match self {
            Self::Each(values) => values,
            Self::Whole(value) => std::slice::from_mut(value),
        }
    }

    /// Returns to a common value if all values are equal after `settle`. Stops at the first different one.
    pub(super) fn collapse(&mut self, settle: impl Fn(T) -> T) {
        let Self::Each(values) = self else { return };
        let Some(first) = values.first().map(|value| settle(*value)) else { return };
        if values.iter().all(|value| settle(*value) == first) {
            *self = Self::Whole(first);
        }
    }
}
