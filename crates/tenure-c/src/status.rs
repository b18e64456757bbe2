//! The status of a call, and the reason for a failure.

use tenure_core::{Error, SubmitAllError};

use tenure_vulkan::CreateError;

/// The version of the binary interface: equal in the header and in the library. It changes with each minor version before 1.0.
pub const TN_ABI_VERSION: u32 =
    1000 * number(env!("CARGO_PKG_VERSION_MAJOR")) + number(env!("CARGO_PKG_VERSION_MINOR"));

const fn number(text: &str) -> u32 {
    if let Ok(number) = u32::from_str_radix(text, 10) { number } else { 0 }
}

/// The result of a function: 0 or more is success, a negative number an error with a text in `tn_last_error`. A failed function
/// changes nothing, and sets the handle to be created to null, unless its documentation says otherwise.
pub type tn_Status = i32;
/// Success.
pub const TN_OK: tn_Status = 0;
/// Success so far: the awaited event has not happened yet, or a report has entries.
pub const TN_NOT_READY: tn_Status = 1;
/// A setting is unknown or out of range.
pub const TN_ERROR_CONFIG: tn_Status = -1;
/// Out of memory, after all steps of the fallback chain.
pub const TN_ERROR_OUT_OF_MEMORY: tn_Status = -2;
/// Out of descriptors.
pub const TN_ERROR_NO_DESCRIPTORS: tn_Status = -3;
/// The device rejected the call.
pub const TN_ERROR_DEVICE: tn_Status = -4;
/// The state is not allowed for the resource.
pub const TN_ERROR_STATE: tn_Status = -5;
/// An access outside a resource.
pub const TN_ERROR_OUT_OF_RANGE: tn_Status = -6;
/// The program's memory differs in size from the bytes to read or write.
pub const TN_ERROR_WRONG_LENGTH: tn_Status = -7;
/// The memory of the resource is not mapped for the CPU.
pub const TN_ERROR_NOT_MAPPED: tn_Status = -8;
/// The GPU did not finish in time.
pub const TN_ERROR_TIMEOUT: tn_Status = -9;
/// The maximum number of frames is already in flight.
pub const TN_ERROR_TOO_MANY_FRAMES: tn_Status = -10;
/// A wait for a submission that was never made.
pub const TN_ERROR_NEVER_SUBMITTED: tn_Status = -11;
/// The device already has a manager, or objects of an earlier one.
pub const TN_ERROR_DEVICE_IN_USE: tn_Status = -12;
/// The manager was shut down.
pub const TN_ERROR_SHUT_DOWN: tn_Status = -13;
/// An object of another manager.
pub const TN_ERROR_FOREIGN: tn_Status = -14;
/// Queries that are not properly begun and ended.
pub const TN_ERROR_QUERY: tn_Status = -15;
/// The recording of the readback or query was not submitted.
pub const TN_ERROR_DISCARDED: tn_Status = -16;
/// Larger than an upload ring or a suballocator.
pub const TN_ERROR_TOO_LARGE: tn_Status = -17;
/// An upload ring is full, and an open recording may use its oldest bytes.
pub const TN_ERROR_HELD_BY_RECORDING: tn_Status = -18;
/// Constants or slices of another recording.
pub const TN_ERROR_OTHER_RECORDING: tn_Status = -19;
/// A transient resource of a recording that is still open.
pub const TN_ERROR_NOT_ACQUIRED: tn_Status = -20;
/// An invalid graph.
pub const TN_ERROR_GRAPH: tn_Status = -21;
/// A transient resource, where only persistent ones are accepted.
pub const TN_ERROR_TRANSIENT: tn_Status = -22;
/// A violated rule of swap chains.
pub const TN_ERROR_SWAPCHAIN: tn_Status = -23;
/// A violated rule of acceleration structures.
pub const TN_ERROR_ACCELERATION_STRUCTURE: tn_Status = -24;
/// The state of the buffer is fixed by its memory.
pub const TN_ERROR_FIXED_STATE: tn_Status = -25;
/// The tables of the device violate the device contract.
pub const TN_ERROR_CONTRACT: tn_Status = -26;
/// A bug in tenure.
pub const TN_ERROR_INTERNAL: tn_Status = -27;
/// A tile that does not exist, or is not free.
pub const TN_ERROR_TILES: tn_Status = -28;
/// The device is lost: every later call of its manager fails.
pub const TN_ERROR_DEVICE_LOST: tn_Status = -29;
/// The device could not be created.
pub const TN_ERROR_CREATE_DEVICE: tn_Status = -80;
/// An invalid number, such as a size of 0 or an alignment that is not a power of two.
pub const TN_ERROR_ARGUMENT: tn_Status = -81;
/// A file could not be written.
pub const TN_ERROR_FILE: tn_Status = -82;
/// A pointer is null or misaligned.
pub const TN_ERROR_POINTER: tn_Status = -100;
/// Unknown `struct_size`.
pub const TN_ERROR_STRUCT_SIZE: tn_Status = -101;
/// Unknown structure in `next`.
pub const TN_ERROR_CHAIN: tn_Status = -102;
/// Unknown enumerator, or unknown bit of flags.
pub const TN_ERROR_ENUM: tn_Status = -103;
/// A handle that was released, of another type, or never created.
pub const TN_ERROR_HANDLE: tn_Status = -104;
/// Concurrent use of an object for one thread.
pub const TN_ERROR_BUSY: tn_Status = -105;
/// Text that is not UTF-8.
pub const TN_ERROR_TEXT: tn_Status = -106;
/// A function that must not be called inside this callback.
pub const TN_ERROR_CALLBACK: tn_Status = -107;
/// A bug in tenure that caused a panic. Afterwards handles can only be released.
pub const TN_ERROR_PANIC: tn_Status = -108;

/// Names of Rust in the texts of errors, and those of C. Settings have the same names in both.
const NAMES: [(&str, &str); 6] = [
    ("BufferDesc::own_resource", "TN_RESOURCE_OWN"),
    ("BufferDesc::alignment", "alignment of tn_BufferDesc"),
    ("Gpu::make_read_only", "tn_gpu_make_read_only"),
    ("write()", "tn_buffer_write"),
    ("finish()", "tn_swapchain_finish"),
    // The extensions that the program enables are enough.
    (", with DeviceConfig::presentation", ""),
];

fn in_c(text: String) -> String {
    NAMES.iter().fold(text, |text, (rust, c)| if text.contains(rust) { text.replace(rust, c) } else { text })
}

/// The reason for a negative status. Boxed, so that results are small.
#[derive(Debug)]
pub(crate) struct Failure(Box<Reason>);

#[derive(Debug)]
pub(crate) struct Reason {
    pub(crate) status: tn_Status,
    pub(crate) text: String,
    /// Set for `TN_ERROR_OUT_OF_MEMORY`.
    pub(crate) shortage: Option<Shortage>,
}

/// The numbers of `TN_ERROR_OUT_OF_MEMORY`; see `tn_OutOfMemory`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shortage {
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    pub(crate) largest_free: u64,
    pub(crate) budget: u64,
    pub(crate) usage: u64,
    pub(crate) pending_bytes: u64,
    pub(crate) memory_type: u32,
    pub(crate) open_recordings: u32,
}

impl Default for Shortage {
    fn default() -> Self {
        Self {
            size: 0,
            alignment: 1,
            largest_free: 0,
            budget: u64::MAX,
            usage: 0,
            pending_bytes: 0,
            memory_type: u32::MAX,
            open_recordings: 0,
        }
    }
}

impl Failure {
    #[cold]
    pub(crate) fn new(status: tn_Status, text: impl Into<String>) -> Self {
        Self(Box::new(Reason { status, text: text.into(), shortage: None }))
    }

    pub(crate) fn with_numbers(mut self, shortage: Shortage) -> Self {
        self.0.shortage = Some(shortage);
        self
    }

    /// Names the access used by a zeroed view description: the program may not have chosen it.
    #[cold]
    pub(crate) fn of_access(mut self, access: u32, zero: &str) -> Self {
        if access == 0 && self.0.status == TN_ERROR_DEVICE {
            self.0.text.push_str("; the access of the view is ");
            self.0.text.push_str(zero);
        }
        self
    }

    pub(crate) fn status(&self) -> tn_Status {
        self.0.status
    }

    /// With the names of C in its text.
    pub(crate) fn reason(self) -> Reason {
        Reason { text: in_c(self.0.text), ..*self.0 }
    }

    /// An object of another backend than the rest of the call.
    #[cold]
    pub(crate) fn foreign() -> Self {
        Self::new(TN_ERROR_FOREIGN, "an object of another backend belongs to a different tn_Gpu")
    }
}

impl From<SubmitAllError> for Failure {
    fn from(all: SubmitAllError) -> Self {
        let text = all.to_string();
        let mut failure = Self::from(all.error);
        failure.0.text = text;
        failure
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        // The numbers are identical and stable: see `ErrorKind`.
        let kind = i32::try_from(error.kind() as u32).unwrap_or(i32::MAX);
        let failure = Self::new(-kind, error.to_string());
        if let Error::OutOfMemory(error) = error {
            return failure.with_numbers(Shortage {
                size: error.size,
                alignment: error.alignment,
                largest_free: error.largest_free,
                // Drivers report 0 for an unknown budget.
                budget: if error.budget.budget == 0 { u64::MAX } else { error.budget.budget },
                usage: error.budget.usage,
                pending_bytes: error.pending_bytes,
                memory_type: error.class.memory.0.into(),
                open_recordings: u32::try_from(error.open_recordings.len()).unwrap_or(u32::MAX),
            });
        }
        failure
    }
}

impl From<CreateError> for Failure {
    #[cold]
    fn from(error: CreateError) -> Self {
        Self::new(TN_ERROR_CREATE_DEVICE, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::in_c;

    /// What only programs in Rust can meet: C has no sharing, comes with its loader, and records all barriers.
    const NOT_IN_C: [&str; 5] = [
        "BufferDesc::shared",
        "TextureDesc::shared",
        "DeviceConfig::shared_memory",
        "Raw::entry",
        "StateError::Unflushed",
    ];

    /// The first name of a method or field of Rust in a text.
    fn name_of_rust(text: &str) -> Option<&str> {
        let is_in_name = |letter: char| letter.is_alphanumeric() || "_:()".contains(letter);
        text.split(|letter| !is_in_name(letter)).find(|word| {
            let of_type = |(kind, name): (&str, &str)| {
                kind.starts_with(char::is_uppercase) && name.starts_with(char::is_lowercase)
            };
            word.trim_matches(['(', ')']).split_once("::").is_some_and(of_type)
                || word.strip_suffix("()").is_some_and(|name| !name.is_empty())
        })
    }

    #[test]
    fn texts_have_the_names_of_c() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../messages/tests/messages/snapshots");
        let mut renamed = 0;
        for table in ["messages__errors.snap", "messages__rules.snap"] {
            let texts = fs::read_to_string(folder.join(table)).unwrap_or_default();
            // After the head of the file.
            let texts: Vec<_> = texts.splitn(3, "---\n").collect();
            assert!(texts.len() == 3 && texts[2].lines().count() > 100, "{table}");
            for text in texts[2].lines().filter(|text| !NOT_IN_C.iter().any(|name| text.contains(name))) {
                let shown = in_c(text.to_owned());
                assert_eq!(name_of_rust(&shown), None, "{shown}");
                renamed += usize::from(shown != text);
            }
        }
        assert!(renamed > 5, "the tables have such names");
    }

    #[test]
    fn names_of_rust_are_found() {
        assert_eq!(name_of_rust("raise (FrameConfig::in_flight)"), Some("(FrameConfig::in_flight)"));
        assert_eq!(name_of_rust("call finish() in it"), Some("finish()"));
        assert_eq!(name_of_rust("Error::Foreign: (4) tn_BufferDesc::size of a tn_Gpu"), None);
    }
}
