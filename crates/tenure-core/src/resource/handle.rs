//! What all handles to resources have in common: a drop gives the backing back, once the last view is dropped, too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::Name;
use crate::api_resource::ApiResource;
use crate::context::{Context, RefShard, Retired};
use crate::device::{Device, State};
use crate::memory::{Backing, Location};
use crate::record::TraceId;
use crate::registry::{ObjectKind, RecordKey};
use crate::time::Stamp;

/// What a program calls a resource.
#[derive(Clone, Copy)]
pub(crate) struct Labels<'a> {
    name: &'a Name,
    tag: Option<&'a Name>,
}

impl<'a> Labels<'a> {
    pub(crate) const fn of(name: &'a Name, tag: &'a Name) -> Self {
        Self { name, tag: Some(tag) }
    }

    /// Without a tag.
    pub(crate) const fn named(name: &'a Name) -> Self {
        Self { name, tag: None }
    }
}

/// A backing, with all that its release needs.
pub(crate) struct HandleInner<D: Device> {
    pub(crate) name: Name,
    /// `None` only inside `drop`.
    backing: Option<Backing<D>>,
    record: RecordKey,
    born: Stamp,
    trace: TraceId,
    /// Bytes asked for.
    size: u64,
    /// Its API object, or its offset in one, was handed out: commands may name it from then on. The caller had
    /// borrowed the handle for that, so that the drop sees the flag.
    is_named: AtomicBool,
    /// Once it has views.
    view_guard: OnceLock<Arc<ViewGuard<D>>>,
    /// Declared last: the last handle to go takes the manager with it, which can unmake only what
    /// nobody holds any more.
    ref_shard: Arc<RefShard<D>>,
}

impl<D: Device> HandleInner<D> {
    #[inline]
    pub(crate) fn new(
        context: &Arc<Context<D>>,
        labels: Labels<'_>,
        kind: ObjectKind,
        backing: Backing<D>,
        size: u64,
        trace: TraceId,
    ) -> Self {
        let Labels { name, tag } = labels;
        let tag = tag.cloned().unwrap_or_default();
        let record = context.register_resource(name, tag, kind, size, backing.location.place());
        let born = context.clock.stamp();
        let (name, ref_shard) = (name.clone(), context.ref_shard(record.generation()));
        let (is_named, view_guard) = (AtomicBool::new(false), OnceLock::new());
        Self { name, backing: Some(backing), record, born, trace, size, is_named, view_guard, ref_shard }
    }

    #[inline]
    const fn backing(&self) -> &Backing<D> {
        match &self.backing {
            Some(backing) => backing,
            None => unreachable!(),
        }
    }

    #[inline]
    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        &self.ref_shard.context
    }

    /// The API object, for whoever may have commands use it.
    #[inline]
    pub(crate) fn api_resource(&self) -> &Arc<ApiResource<D>> {
        self.note_named();
        &self.backing().api_resource
    }

    /// The CPU's window into the API object, by which no command uses it.
    #[inline]
    pub(crate) fn mapping(&self) -> Option<&D::Mapping> {
        self.backing().api_resource.mapping.as_ref()
    }

    /// From now on commands may use it.
    #[inline]
    pub(crate) fn note_named(&self) {
        self.is_named.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) const fn location(&self) -> &Location<D> {
        &self.backing().location
    }

    #[inline]
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// A share by which a view keeps the backing longer than the handle lives.
    pub(crate) fn keep(&self) -> Arc<ViewGuard<D>> {
        self.view_guard.get_or_init(|| Arc::new(ViewGuard::new(self.context()))).clone()
    }
}

impl<D: Device> Drop for HandleInner<D> {
    #[inline]
    fn drop(&mut self) {
        // In place: most handles are ranges that nobody has a view of.
        if let (Some(Backing { location: Location::Range(suballocation), .. }), None) =
            (&self.backing, self.view_guard.get())
        {
            let context = self.context();
            context.registry.remove(self.record);
            context.recorder.free(self.trace, self.size);
            let (retired, bytes) = (Retired::Range(suballocation.free_token()), suballocation.reserved);
            if self.is_named.load(Ordering::Relaxed) {
                context.release(retired, self.born, bytes);
            } else {
                context.release_unused(retired, bytes);
            }
            return;
        }
        self.drop_whole();
    }
}

impl<D: Device> HandleInner<D> {
    fn drop_whole(&mut self) {
        let Some(backing) = self.backing.take() else { return };
        let (record, born, trace, size) = (self.record, self.born, self.trace, self.size);
        let is_named = *self.is_named.get_mut();
        let retired = RetiredResource { backing, record, born, trace, size, is_named };
        match self.view_guard.take() {
            Some(view_guard) => view_guard.retire(retired),
            None => retired.release(self.context()),
        }
    }
}

/// What a handle leaves behind.
pub(super) struct RetiredResource<D: Device> {
    pub(super) backing: Backing<D>,
    pub(super) record: RecordKey,
    pub(super) born: Stamp,
    pub(super) trace: TraceId,
    /// Bytes asked for.
    pub(super) size: u64,
    /// Commands may use it.
    pub(super) is_named: bool,
}

impl<D: Device> RetiredResource<D> {
    /// Gives the backing back once no recording and no GPU work can use it any more.
    pub(super) fn release(self, context: &Context<D>) {
        let bytes = self.backing.location.reserved();
        context.registry.remove(self.record);
        context.recorder.free(self.trace, self.size);
        let is_unrecorded = self.is_unrecorded_image();
        let retired = Retired::from(self.backing);
        if !self.is_named {
            context.release_unused(retired, bytes);
        } else if is_unrecorded {
            context.release_after(retired, context.clock.submitted(), bytes);
        } else {
            context.release(retired, self.born, bytes);
        }
    }

    /// True for an image of a swap chain that no open recording has noted a use of. To change a window's images,
    /// APIs want all of them gone, whatever else is being recorded; and no use of one goes unnoted, because each
    /// frame brings it into its states.
    fn is_unrecorded_image(&self) -> bool {
        let api_resource = &self.backing.api_resource;
        api_resource.states.allowed().contains(State::PRESENT) && Arc::strong_count(api_resource) == 1
    }
}

/// Shared by a resource's handle and its views: what the handle leaves behind stays until the last
/// view is gone, so that no view ever shows what is not there.
pub(crate) struct ViewGuard<D: Device> {
    retired: OnceLock<RetiredResource<D>>,
    /// Declared last, as in every handle.
    context: Arc<Context<D>>,
}

impl<D: Device> ViewGuard<D> {
    pub(super) fn new(context: &Arc<Context<D>>) -> Self {
        Self { retired: OnceLock::new(), context: context.clone() }
    }

    /// The handle is gone.
    pub(super) fn retire(&self, retired: RetiredResource<D>) {
        // There is one handle, and it is dropped once.
        let _was_empty = self.retired.set(retired);
    }
}

impl<D: Device> Drop for ViewGuard<D> {
    fn drop(&mut self) {
        if let Some(retired) = self.retired.take() {
            retired.release(&self.context);
        }
    }
}
