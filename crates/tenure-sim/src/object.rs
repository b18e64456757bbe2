//! Identity, name and lifetime of objects, and the register of live ones.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A heap.
    Heap,
    /// A buffer.
    Buffer,
    /// A texture.
    Texture,
    /// A command list.
    List,
    /// A heap of descriptors.
    DescriptorHeap,
    /// A descriptor set layout.
    SetLayout,
    /// A pool of descriptor sets.
    SetPool,
    /// A heap of queries.
    QueryHeap,
    /// An acceleration structure.
    AccelerationStructure,
    /// A fence of the program.
    Fence,
    /// A binary semaphore of the program.
    Semaphore,
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap => "heap",
            Self::Buffer => "buffer",
            Self::Texture => "texture",
            Self::List => "command list",
            Self::DescriptorHeap => "descriptor heap",
            Self::SetLayout => "set layout",
            Self::SetPool => "set block",
            Self::QueryHeap => "query heap",
            Self::AccelerationStructure => "acceleration structure",
            Self::Fence => "fence",
            Self::Semaphore => "semaphore",
        })
    }
}

/// Shows as `buffer 'rock' (#3)`, or `buffer #3` without a name.
pub(crate) struct Label {
    pub(crate) id: u64,
    pub(crate) kind: ObjectKind,
    name: Mutex<Option<Arc<str>>>,
    destroyed: AtomicBool,
}

impl Label {
    pub(crate) fn set_name(&self, name: &str) {
        *self.name.lock() = Some(name.into());
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Acquire)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.kind, self.name.lock().as_deref(), self.id)
    }
}

/// An object that is still alive: see [`Device::leaks`](crate::Device::leaks).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveObject {
    /// The number, in order of creation.
    pub id: u64,
    /// The kind.
    pub kind: ObjectKind,
    /// The name, as given by `set_name`.
    pub name: Option<String>,
}

impl fmt::Display for LiveObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.kind, self.name.as_deref(), self.id)
    }
}

fn show(f: &mut fmt::Formatter<'_>, kind: ObjectKind, name: Option<&str>, id: u64) -> fmt::Result {
    match name {
        Some(name) => write!(f, "{kind} '{name}' (#{id})"),
        None => write!(f, "{kind} #{id}"),
    }
}

/// Implements `Debug` of handles, which shows their labels.
macro_rules! debug_by_label {
    ($handle:ident) => {
        impl std::fmt::Debug for $handle {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($handle), "({})"), self.state.label)
            }
        }
    };
}
pub(crate) use debug_by_label;

/// Everything created and not yet destroyed, by number.
#[derive(Default)]
pub(crate) struct Register {
    next: AtomicU64,
    live: Mutex<BTreeMap<u64, Arc<Label>>>,
}

impl Register {
    /// A number for an object that is not tracked as alive.
    pub(crate) fn label(&self, kind: ObjectKind) -> Arc<Label> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        Arc::new(Label { id, kind, name: Mutex::new(None), destroyed: AtomicBool::new(false) })
    }

    pub(crate) fn create(&self, kind: ObjectKind) -> Arc<Label> {
        let label = self.label(kind);
        self.live.lock().insert(label.id, Arc::clone(&label));
        label
    }

    pub(crate) fn destroy(&self, label: &Label) {
        label.destroyed.store(true, Ordering::Release);
        self.live.lock().remove(&label.id);
    }

    /// Removes all objects.
    pub(crate) fn clear(&self) {
        let live = std::mem::take(&mut *self.live.lock());
        live.into_values().for_each(|label| label.destroyed.store(true, Ordering::Release));
    }

    pub(crate) fn live(&self) -> Vec<LiveObject> {
        let live = self.live.lock();
        let show = |label: &Arc<Label>| LiveObject {
            id: label.id,
            kind: label.kind,
            name: label.name.lock().as_deref().map(str::to_owned),
        };
        live.values().map(show).collect()
    }

    pub(crate) fn count(&self, wanted: impl Fn(ObjectKind) -> bool) -> u64 {
        self.live.lock().values().filter(|label| wanted(label.kind)).count() as u64
    }
}

/// Objects that a device shares with others and does not keep alive.
pub(crate) struct Shares<T>(Mutex<Vec<Weak<T>>>);

impl<T> Default for Shares<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Shares<T> {
    pub(crate) fn note(&self, share: &Arc<T>) {
        let mut known = self.0.lock();
        known.retain(|known| known.strong_count() > 0);
        known.push(Arc::downgrade(share));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Takes the live objects out of the register.
    pub(crate) fn take(&self) -> Vec<Arc<T>> {
        self.0.lock().drain(..).filter_map(|share| share.upgrade()).collect()
    }
}
