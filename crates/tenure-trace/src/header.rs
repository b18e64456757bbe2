//! The header of a recording, which describes the device and the program.

use crate::{MAX_HEADER_LINES, Reason, escape};

/// The key of the first line.
const VERSION_KEY: &str = "tenure-recording";

/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 64;

/// The longest value, in bytes. Percent-encoding can triple it, which still fits in a line.
const MAX_VALUE_BYTES: usize = 512;

/// The `#key=value` lines at the beginning of a recording, in order. Empty for recordings of version 1.
///
/// | key | value |
/// | --- | --- |
/// | `api` | the graphics API: `vulkan`, `d3d12` |
/// | `device` | the name of the device |
/// | `driver` | the name and the version of the driver |
/// | `program` | the name of the program |
/// | `profile` | the simulated profile of the device, or a similar one: see `tenure devices --sim` |
/// | `type.N` | the memory type N: see [`memory_type`](Self::memory_type) |
/// | `allocations.most` | the device's limit on live memory allocations |
/// | `allocations.refused` | the number of allocations that the driver refused |
/// | `sparse` | the number of reserved resources, which are left out |
/// | `complete` | `no` if the recording ends before the program destroyed its device |
///
/// Other keys are kept and have no meaning here.
///
/// ```
/// use tenure_trace::Header;
///
/// let mut header = Header::default();
/// header.set("api", "vulkan");
/// header.set("type.0", "1,0");
/// assert_eq!(header.get("api"), Some("vulkan"));
/// let vram = header.memory_type(0).unwrap();
/// assert!(vram.is_local() && vram.heap == 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    lines: Vec<(String, String)>,
}

/// A memory type of the recorded device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedType {
    /// The bits of `VkMemoryPropertyFlags`, for every API: 1 local to the GPU, 2 mapped, 4 coherent, 8 cached, 16 lazily
    /// allocated.
    pub flags: u32,
    /// The number of its heap.
    pub heap: u32,
}

impl RecordedType {
    /// Whether the memory is local to the GPU.
    #[must_use]
    pub const fn is_local(self) -> bool {
        self.flags & 1 != 0
    }
}

impl Header {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.lines.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Sets the value of a key. The [writer](crate::TraceWriter::set_header) checks key and value.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        match self.lines.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => self.lines.push((key, value)),
        }
    }

    /// All keys and values, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The memory type with this number, from the line `#type.N=FLAGS,HEAP`: two decimal numbers.
    #[must_use]
    pub fn memory_type(&self, number: u32) -> Option<RecordedType> {
        let (flags, heap) = self.get(&format!("type.{number}"))?.split_once(',')?;
        Some(RecordedType { flags: flags.parse().ok()?, heap: heap.parse().ok()? })
    }

    /// Adds a line, without its `#` and its line end.
    pub(crate) fn read(&mut self, line: &[u8]) -> Result<(), Reason> {
        let bad = || Reason::BadHeaderLine { found: String::from_utf8_lossy(line).into_owned() };
        let text = std::str::from_utf8(line).map_err(|_| bad())?;
        let (key, value) = text.split_once('=').ok_or_else(bad)?;
        let value = escape::decode(value).ok_or_else(bad)?;
        if self.get(key).is_some() {
            return Err(Reason::RepeatedKey { key: key.into() });
        }
        if self.lines.len() >= MAX_HEADER_LINES {
            return Err(Reason::TooManyHeaderLines);
        }
        check(key, &value)?;
        self.lines.push((key.into(), value));
        Ok(())
    }

    /// Appends all lines.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), Reason> {
        if self.lines.len() > MAX_HEADER_LINES {
            return Err(Reason::TooManyHeaderLines);
        }
        for (key, value) in &self.lines {
            check(key, value)?;
            out.push(b'#');
            out.extend_from_slice(key.as_bytes());
            out.push(b'=');
            escape::encode(out, value, false);
            out.push(b'\n');
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }
}

fn check(key: &str, value: &str) -> Result<(), Reason> {
    if key == VERSION_KEY {
        return Err(Reason::RepeatedKey { key: key.into() });
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_key = (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(is_plain);
    if is_key && value.len() <= MAX_VALUE_BYTES {
        return Ok(());
    }
    let line = key.chars().chain(['=']).chain(value.chars());
    Err(Reason::BadHeaderLine { found: line.take(MAX_VALUE_BYTES).collect() })
}
