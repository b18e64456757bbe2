//! What the debug layer has to say.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_MESSAGE, D3D12_MESSAGE_SEVERITY, D3D12_MESSAGE_SEVERITY_CORRUPTION, D3D12_MESSAGE_SEVERITY_ERROR,
    D3D12_MESSAGE_SEVERITY_INFO, D3D12_MESSAGE_SEVERITY_WARNING, D3D12GetDebugInterface, ID3D12Debug,
    ID3D12Device, ID3D12InfoQueue,
};
use windows::core::Interface;

/// How bad a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// For the curious.
    Message,
    /// For information.
    Info,
    /// Works, but should not be done.
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
pub struct Message {
    /// How bad it is.
    pub severity: Severity,
    /// Its number, `D3D12_MESSAGE_ID`.
    pub id: i32,
    /// What it says.
    pub text: String,
}

/// Where messages go. It is called on whatever thread made the call that the message is about, and
/// must not call the device.
pub type MessageSink = Arc<dyn Fn(&Message) + Send + Sync>;

/// Enables the debug layer for devices created from now on; false where it is not installed.
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

/// After so many messages the queue is emptied: one that comes at that moment is lost.
const KEPT: u64 = 4096;

/// The messages of one device.
pub(crate) struct Messages {
    queue: Option<ID3D12InfoQueue>,
    sink: Option<MessageSink>,
    /// How many of those in the queue were handed out.
    delivered: Mutex<u64>,
}

impl Messages {
    pub(crate) fn new(device: &ID3D12Device, validation: bool, sink: Option<MessageSink>) -> Self {
        let queue = validation.then(|| device.cast::<ID3D12InfoQueue>().ok()).flatten();
        if let Some(queue) = &queue {
            // SAFETY: the interface is alive. Where it fails the limit stays, and messages beyond
            // it are lost.
            let _limited = unsafe { queue.SetMessageCountLimit(KEPT.saturating_mul(2)) };
        }
        Self { queue, sink, delivered: Mutex::new(0) }
    }

    /// True when the debug layer watches the device.
    pub(crate) const fn is_watched(&self) -> bool {
        self.queue.is_some()
    }

    /// Hands out what was said since the last call.
    #[inline]
    pub(crate) fn deliver(&self) {
        if let Some(queue) = &self.queue {
            self.deliver_from(queue);
        }
    }

    #[cold]
    fn deliver_from(&self, queue: &ID3D12InfoQueue) {
        let mut delivered = self.delivered.lock();
        // SAFETY: the interface is alive; so in the call below.
        let count = unsafe { queue.GetNumStoredMessages() };
        for index in *delivered..count {
            if let Some(message) = read(queue, index) {
                self.hand_out(&message);
            }
        }
        *delivered = count;
        if count >= KEPT {
            // SAFETY: as above.
            unsafe { queue.ClearStoredMessages() };
            *delivered = 0;
        }
    }

    fn hand_out(&self, message: &Message) {
        if let Some(sink) = &self.sink {
            return sink(message);
        }
        let Message { severity, id, text } = message;
        match severity {
            Severity::Error | Severity::Corruption => tracing::error!(target: "tenure", id, "{text}"),
            Severity::Warning => tracing::warn!(target: "tenure", id, "{text}"),
            Severity::Info | Severity::Message => tracing::debug!(target: "tenure", id, "{text}"),
        }
    }
}

fn read(queue: &ID3D12InfoQueue, index: u64) -> Option<Message> {
    let mut bytes = 0;
    // SAFETY: without a buffer the call only writes the size, to a local.
    unsafe { queue.GetMessage(index, None, &raw mut bytes) }.ok()?;
    let words = bytes.div_ceil(size_of::<u64>());
    let mut buffer = vec![0_u64; words.max(size_of::<D3D12_MESSAGE>().div_ceil(size_of::<u64>()))];
    let message = buffer.as_mut_ptr().cast::<D3D12_MESSAGE>();
    // SAFETY: the buffer has the size asked for and the alignment of the message, whose text the
    // runtime puts behind it in the same buffer.
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
