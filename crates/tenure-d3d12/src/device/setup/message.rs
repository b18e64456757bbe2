//! Messages of the debug layer.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use tenure_core::emit;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_MESSAGE, D3D12_MESSAGE_SEVERITY, D3D12_MESSAGE_SEVERITY_CORRUPTION, D3D12_MESSAGE_SEVERITY_ERROR,
    D3D12_MESSAGE_SEVERITY_INFO, D3D12_MESSAGE_SEVERITY_WARNING, D3D12GetDebugInterface, ID3D12Debug,
    ID3D12Device, ID3D12InfoQueue,
};
use windows::core::{IUnknown, Interface};

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// For the curious.
    Message,
    /// For information.
    Info,
    /// Works, but is not recommended.
    Warning,
    /// Wrong.
    Error,
    /// Memory is corrupt.
    Corruption,
}

impl From<D3D12_MESSAGE_SEVERITY> for Severity {
    fn from(severity: D3D12_MESSAGE_SEVERITY) -> Self {
        match severity {
            D3D12_MESSAGE_SEVERITY_CORRUPTION => Self::Corruption,
            D3D12_MESSAGE_SEVERITY_ERROR => Self::Error,
            D3D12_MESSAGE_SEVERITY_WARNING => Self::Warning,
            D3D12_MESSAGE_SEVERITY_INFO => Self::Info,
            _ => Self::Message,
        }
    }
}

/// A message of the debug layer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The severity.
    pub severity: Severity,
    /// The number, `D3D12_MESSAGE_ID`.
    pub id: i32,
    /// The message's text.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}: {}", self.severity, self.id, self.text)
    }
}

/// The receiver of messages. Called on the thread whose call caused the message, at the end of the manager's
/// call. It may call the device and the manager, and a panic in it is caught. Windows has one device for each
/// adapter: a sink receives the messages of all devices of this process there.
pub type MessageSink = Arc<dyn Fn(&Message) + Send + Sync>;

/// Enables the debug layer for devices created from now on; false if it is not installed.
///
/// Once a process: enabling it removes the devices that exist without it.
pub(crate) fn enable_debug_layer() -> bool {
    static ENABLED: OnceLock<bool> = OnceLock::new();
    *ENABLED.get_or_init(try_enable)
}

fn try_enable() -> bool {
    let mut debug: Option<ID3D12Debug> = None;
    // SAFETY: the pointer is to a local that outlives the call.
    let found = unsafe { D3D12GetDebugInterface(&raw mut debug) };
    let Some(debug) = debug.filter(|_| found.is_ok()) else { return false };
    // SAFETY: the interface is alive.
    unsafe { debug.EnableDebugLayer() };
    true
}

/// The queue is emptied after this number of messages; a message that arrives at that moment is lost.
const KEPT: u64 = 4096;

/// Stored messages, from the oldest on.
trait Stored {
    fn count(&self) -> u64;
    fn message(&self, index: u64) -> Option<Message>;
    fn clear(&self);
}

impl Stored for ID3D12InfoQueue {
    fn count(&self) -> u64 {
        // SAFETY: the interface is alive.
        unsafe { self.GetNumStoredMessages() }
    }

    fn message(&self, index: u64) -> Option<Message> {
        read(self, index)
    }

    fn clear(&self) {
        // SAFETY: the interface is alive.
        unsafe { self.ClearStoredMessages() };
    }
}

/// The subscribers to the messages of a queue, and the number of messages delivered to them.
#[derive(Default)]
struct Delivery {
    /// The number of delivered messages in the queue.
    delivered: u64,
    /// The sinks, sorted by the numbers of their subscribers.
    sinks: Vec<(u64, Option<MessageSink>)>,
    last_id: u64,
}

impl Delivery {
    fn listen(&mut self, sink: Option<MessageSink>) -> u64 {
        self.last_id += 1;
        self.sinks.push((self.last_id, sink));
        self.last_id
    }

    fn remove_sink(&mut self, id: u64) -> Option<MessageSink> {
        let own = self.sinks.iter().position(|(known, _)| *known == id)?;
        self.sinks.remove(own).1
    }

    /// The messages since the last call, each for all subscribers.
    fn take(&mut self, stored: &impl Stored) -> Vec<(Option<MessageSink>, Message)> {
        let count = stored.count();
        let messages = (self.delivered..count).filter_map(|index| stored.message(index));
        let taken = messages
            .flat_map(|message| self.sinks.iter().map(move |(_, sink)| (sink.clone(), message.clone())));
        let taken = taken.collect();
        self.delivered = count;
        if count >= KEPT {
            stored.clear();
            self.delivered = 0;
        }
        taken
    }
}

/// Hands the messages since the last call to all subscribers, without the lock.
fn deliver(delivery: &Mutex<Delivery>, stored: &impl Stored) {
    let taken = delivery.lock().take(stored);
    for (sink, message) in taken {
        emit(move || hand_out(sink.as_ref(), &message));
    }
}

/// A queue of messages. Devices on one adapter are one device of Windows, with one queue: a message that one of
/// them reads is delivered to all, since it does not name its device.
struct SharedQueue {
    queue: ID3D12InfoQueue,
    delivery: Mutex<Delivery>,
}

/// The live queues, by the identity of the object.
static QUEUES: Mutex<Vec<(usize, Weak<SharedQueue>)>> = Mutex::new(Vec::new());

impl SharedQueue {
    /// The queue of a device, which other devices may share.
    fn of(queue: ID3D12InfoQueue) -> Arc<Self> {
        let identity = queue.cast::<IUnknown>().map_or(0, |unknown| unknown.as_raw().addr());
        let mut queues = QUEUES.lock();
        queues.retain(|(_, known)| known.strong_count() > 0);
        let known = queues.iter().find(|(known, _)| *known == identity);
        if let Some(shared) = known.and_then(|(_, shared)| shared.upgrade()) {
            return shared;
        }
        // SAFETY: the interface is alive. On failure the limit stays, and messages beyond it are lost.
        let _limited = unsafe { queue.SetMessageCountLimit(KEPT.saturating_mul(2)) };
        let shared = Arc::new(Self { queue, delivery: Mutex::default() });
        queues.push((identity, Arc::downgrade(&shared)));
        shared
    }
}

/// The messages of one device, and of others on its adapter.
pub(crate) struct Messages {
    shared: Option<Arc<SharedQueue>>,
    id: u64,
}

impl Messages {
    pub(crate) fn new(device: &ID3D12Device, validation: bool, sink: Option<MessageSink>) -> Self {
        let queue = validation.then(|| device.cast::<ID3D12InfoQueue>().ok()).flatten();
        let shared = queue.map(SharedQueue::of);
        let id = shared.as_ref().map_or(0, |shared| shared.delivery.lock().listen(sink));
        Self { shared, id }
    }

    /// True when the debug layer watches the device.
    pub(crate) const fn is_watched(&self) -> bool {
        self.shared.is_some()
    }

    /// Delivers the messages since the last call.
    #[inline]
    pub(crate) fn deliver(&self) {
        if let Some(shared) = &self.shared {
            deliver(&shared.delivery, &shared.queue);
        }
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            let sink = shared.delivery.lock().remove_sink(self.id);
            // The destructor of the sink is the program's code.
            emit(move || drop(sink));
        }
    }
}

fn hand_out(sink: Option<&MessageSink>, message: &Message) {
    if let Some(sink) = sink {
        return sink(message);
    }
    let Message { severity, id, text } = message;
    match severity {
        Severity::Error | Severity::Corruption => tracing::error!(target: "tenure_d3d12", id, "{text}"),
        Severity::Warning => tracing::warn!(target: "tenure_d3d12", id, "{text}"),
        Severity::Info | Severity::Message => tracing::debug!(target: "tenure_d3d12", id, "{text}"),
    }
}

fn read(queue: &ID3D12InfoQueue, index: u64) -> Option<Message> {
    let mut bytes = 0;
    // SAFETY: without a buffer the call only writes the size, to a local.
    unsafe { queue.GetMessage(index, None, &raw mut bytes) }.ok()?;
    let words = bytes.div_ceil(size_of::<u64>());
    let mut buffer = vec![0_u64; words.max(size_of::<D3D12_MESSAGE>().div_ceil(size_of::<u64>()))];
    let message = buffer.as_mut_ptr().cast::<D3D12_MESSAGE>();
    // SAFETY: the buffer has the requested size and the alignment of the message, whose text the runtime puts
    // behind it in the same buffer.
    unsafe { queue.GetMessage(index, Some(message), &raw mut bytes) }.ok()?;
    // SAFETY: the call above filled it in, and it is plain data.
    let message = unsafe { message.read() };
    let text = if message.pDescription.is_null() {
        String::new()
    } else {
        // SAFETY: the description lies in `buffer`, which is alive, and has that many bytes.
        let bytes =
            unsafe { std::slice::from_raw_parts(message.pDescription, message.DescriptionByteLength) };
        String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
    };
    Some(Message { severity: message.Severity.into(), id: message.ID.0, text })
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// A queue that the test fills.
    #[derive(Default)]
    struct Fake(RefCell<Vec<Message>>, Cell<u32>);

    impl Fake {
        fn say(&self, id: i32) {
            self.0.borrow_mut().push(Message { severity: Severity::Error, id, text: String::new() });
        }
    }

    impl Stored for Fake {
        fn count(&self) -> u64 {
            self.0.borrow().len() as u64
        }

        fn message(&self, index: u64) -> Option<Message> {
            self.0.borrow().get(index as usize).cloned()
        }

        fn clear(&self) {
            self.0.borrow_mut().clear();
            self.1.set(self.1.get() + 1);
        }
    }

    /// Every subscriber gets each message once, on any device that reads it, even if the queue is emptied in
    /// between.
    #[test]
    fn subscribers_get_each_message_once() {
        let (queue, delivery) = (Fake::default(), Mutex::<Delivery>::default());
        let heard: [Arc<Mutex<Vec<i32>>>; 2] = Default::default();
        let sink = |of: &Arc<Mutex<Vec<i32>>>| -> Option<MessageSink> {
            let of = Arc::clone(of);
            Some(Arc::new(move |message: &Message| of.lock().push(message.id)))
        };
        let first = delivery.lock().listen(sink(&heard[0]));
        let count = 3 * KEPT as i32;
        for id in 0..count {
            queue.say(id);
            if id % 1000 == 7 {
                deliver(&delivery, &queue);
            }
            if id == 7 {
                delivery.lock().listen(sink(&heard[1]));
            }
        }
        deliver(&delivery, &queue);
        assert!(queue.1.get() >= 2, "it was emptied");
        assert!(heard[0].lock().iter().copied().eq(0..count));
        assert!(heard[1].lock().iter().copied().eq(8..count));
        delivery.lock().remove_sink(first);
        queue.say(-1);
        deliver(&delivery, &queue);
        assert_eq!((heard[0].lock().last(), heard[1].lock().last()), (Some(&(count - 1)), Some(&-1)));
    }

    /// A sink that panics keeps no message from others, and a sink that calls the device finds no lock held.
    #[test]
    fn sinks_may_panic_and_call_the_device() {
        let queue = Fake::default();
        let delivery = Arc::<Mutex<Delivery>>::default();
        let heard = Arc::<Mutex<Vec<bool>>>::default();
        delivery.lock().listen(Some(Arc::new(|_| panic!("a sink panics"))));
        let (shared, answers) = (Arc::downgrade(&delivery), Arc::clone(&heard));
        delivery.lock().listen(Some(Arc::new(move |_| {
            let is_free = shared.upgrade().is_some_and(|delivery| delivery.try_lock().is_some());
            answers.lock().push(is_free);
        })));
        queue.say(1);
        queue.say(2);
        deliver(&delivery, &queue);
        assert_eq!(*heard.lock(), [true, true]);
    }
}
