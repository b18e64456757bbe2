//! Messages of the validation layers and the driver.

use core::ffi::{CStr, c_void};
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ash::vk;

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// For developers of the layers.
    Verbose,
    /// For information.
    Info,
    /// Allowed, and probably not meant.
    Warning,
    /// Not allowed.
    Error,
}

impl Severity {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Verbose => "verbose",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The subject of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageKind {
    /// Any other subject.
    General,
    /// A rule of the specification.
    Validation,
    /// Something allowed that costs time or memory.
    Performance,
}

impl MessageKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Validation => "validation",
            Self::Performance => "performance",
        }
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The severity.
    pub severity: Severity,
    /// The subject.
    pub kind: MessageKind,
    /// The name of the rule, such as `VUID-vkAllocateMemory-maxMemoryAllocationCount-04101`.
    pub id: String,
    /// The text.
    pub text: String,
    /// The names of the objects concerned, if they have names.
    pub objects: Vec<String>,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (severity, kind) = (self.severity.as_str(), self.kind.as_str());
        write!(f, "{severity} ({kind}) {}: {}", self.id, self.text)
    }
}

/// The receiver of messages.
#[derive(Clone)]
pub struct MessageSink(Arc<dyn Fn(&Message) + Send + Sync>);

impl MessageSink {
    pub(crate) fn new(sink: impl Fn(&Message) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }
}

impl Default for MessageSink {
    fn default() -> Self {
        Self::new(|message| {
            let Message { kind, id, text, .. } = message;
            let kind = kind.as_str();
            match message.severity {
                Severity::Error => tracing::error!(target: "tenure_vulkan", kind, id, "{text}"),
                Severity::Warning => tracing::warn!(target: "tenure_vulkan", kind, id, "{text}"),
                Severity::Info => tracing::debug!(target: "tenure_vulkan", kind, id, "{text}"),
                Severity::Verbose => tracing::trace!(target: "tenure_vulkan", kind, id, "{text}"),
            }
        })
    }
}

impl fmt::Debug for MessageSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageSink")
    }
}

/// The create info of a messenger. `sink` must outlive the messenger at the same address.
pub(crate) fn messenger_info(sink: &MessageSink) -> vk::DebugUtilsMessengerCreateInfoEXT<'_> {
    use vk::{DebugUtilsMessageSeverityFlagsEXT as Severities, DebugUtilsMessageTypeFlagsEXT as Kinds};
    vk::DebugUtilsMessengerCreateInfoEXT {
        message_severity: Severities::ERROR | Severities::WARNING | Severities::INFO,
        message_type: Kinds::GENERAL | Kinds::VALIDATION | Kinds::PERFORMANCE,
        pfn_user_callback: Some(receive),
        p_user_data: core::ptr::from_ref(sink).cast_mut().cast(),
        ..Default::default()
    }
}

/// The callback of the messenger.
///
/// # Safety
/// As Vulkan promises: `data` and its pointers are valid during the call, and `user` is the pointer given to the
/// messenger.
unsafe extern "system" fn receive(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    kinds: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the caller promises that both are valid during the call; the sink outlives its messenger.
    let (data, sink) = unsafe { (data.as_ref(), user.cast::<MessageSink>().as_ref()) };
    if let (Some(data), Some(sink)) = (data, sink) {
        // SAFETY: the strings and the array of objects are valid during the call.
        let message = unsafe { read(severity, kinds, data) };
        // A panic must not unwind into the driver, and cannot be reported to a caller.
        let called = catch_unwind(AssertUnwindSafe(|| {
            let _swallowed = catch_unwind(AssertUnwindSafe(|| (sink.0)(&message)));
        }));
        // The destructor of the panic's payload has panicked. The payload of that panic is leaked: it may do the same.
        called.unwrap_or_else(std::mem::forget);
    }
    vk::FALSE
}

/// # Safety
/// The strings and the array in `data` are valid.
unsafe fn read(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    kinds: vk::DebugUtilsMessageTypeFlagsEXT,
    data: &vk::DebugUtilsMessengerCallbackDataEXT<'_>,
) -> Message {
    use vk::{DebugUtilsMessageSeverityFlagsEXT as Severities, DebugUtilsMessageTypeFlagsEXT as Kinds};
    let severity = match severity {
        _ if severity.contains(Severities::ERROR) => Severity::Error,
        _ if severity.contains(Severities::WARNING) => Severity::Warning,
        _ if severity.contains(Severities::INFO) => Severity::Info,
        _ => Severity::Verbose,
    };
    let kind = match kinds {
        _ if kinds.contains(Kinds::PERFORMANCE) => MessageKind::Performance,
        _ if kinds.contains(Kinds::VALIDATION) => MessageKind::Validation,
        _ => MessageKind::General,
    };
    let count = usize::try_from(data.object_count).unwrap_or(0);
    let objects = if data.p_objects.is_null() {
        &[]
    } else {
        // SAFETY: the caller promises a valid array of that many.
        unsafe { core::slice::from_raw_parts(data.p_objects, count) }
    };
    // SAFETY: the caller promises valid strings or null.
    unsafe {
        Message {
            severity,
            kind,
            id: text(data.p_message_id_name),
            text: text(data.p_message),
            objects: objects
                .iter()
                .filter(|object| !object.p_object_name.is_null())
                .map(|object| text(object.p_object_name))
                .collect(),
        }
    }
}

/// # Safety
/// `string` is null or valid.
unsafe fn text(string: *const core::ffi::c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: not null, so the caller promises that it is valid.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}
