//! The words of the seventh column of a recording of version 2.

use std::io::{self, Write};
use std::str::FromStr;

use crate::{MAX_NAME_BYTES, Reason, escape};

/// The location of memory: beside the GPU or beside the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeapKind {
    /// Local to the GPU: `local`.
    Local,
    /// In the memory of the CPU: `host`.
    Host,
}

/// The seventh column of an event. Every field is optional, and most of them are about allocations.
///
/// ```
/// use tenure_trace::{Details, read_all};
///
/// let text = "#tenure-recording=2\n\
///             op,id,size,align,kind,frame,more\n\
///             alloc,1,65536,256,gpu_only+optimal,0,extent=128x128x1 format=37 name=rock%20wall\n\
///             free,1,65536,,,0,final\n";
/// let trace = read_all(text.as_bytes(), "game.tenure")?;
/// assert_eq!(trace.details(0).name.as_deref(), Some("rock wall"));
/// assert_eq!(trace.details(1), &Details { is_final: true, ..Details::default() });
/// # Ok::<(), tenure_trace::TraceError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Microseconds since the recording began: `t=N`.
    pub time_us: Option<u64>,
    /// The number of the program's device, if it has several: `device=N`.
    pub device: Option<u32>,
    /// Number of the thread: `thread=N`.
    pub thread: Option<u32>,
    /// A free after which nothing uses the bytes, because the program has waited for the GPU: `final`.
    pub is_final: bool,
    /// The block that holds the resource: `block=ID`.
    pub block: Option<u64>,
    /// The resource whose bytes an alias uses: `of=ID`.
    pub of: Option<u64>,
    /// Byte offset in the block, or for an alias in the other resource: `offset=N`.
    pub offset: Option<u64>,
    /// The number of the memory type, as in the [header](crate::Header::memory_type): `type=N`.
    pub memory_type: Option<u32>,
    /// Location of the memory: `heap=local` or `heap=host`.
    pub heap: Option<HeapKind>,
    /// The driver prefers dedicated memory for this resource: `wants-dedicated`.
    pub wants_dedicated: bool,
    /// The driver requires dedicated memory for this resource: `needs-dedicated`.
    pub needs_dedicated: bool,
    /// The resource has dedicated memory, or the block is for one resource: `dedicated`.
    pub is_dedicated: bool,
    /// The memory belongs to another process or API, or is mapped CPU memory: `import`.
    pub is_import: bool,
    /// The memory's priority in thousandths, at most 1000: `priority=0.500`.
    pub priority: Option<u16>,
    /// The resource has an address on the GPU: `address`.
    pub has_address: bool,
    /// A linear image; it is in `linear` memory like buffers: `linear-image`.
    pub is_linear_image: bool,
    /// Usage flags of the API: `usage=0xN`.
    pub usage: Option<u64>,
    /// The API's format number of an image: `format=N`.
    pub format: Option<u32>,
    /// Width, height and depth of an image, in texels: `extent=WxHxD`.
    pub extent: Option<[u32; 3]>,
    /// Mip levels of an image: `mips=N`. 1 if absent.
    pub mips: Option<u32>,
    /// Array layers of an image: `layers=N`. 1 if absent.
    pub layers: Option<u32>,
    /// Samples per texel of an image: `samples=N`. 1 if absent.
    pub samples: Option<u32>,
    /// The name that the program gave to the resource, at most [`MAX_NAME_BYTES`] bytes: `name=TEXT`.
    pub name: Option<Box<str>>,
}

impl Details {
    /// Sets the name, cut to [`MAX_NAME_BYTES`].
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        let mut end = name.len().min(MAX_NAME_BYTES);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        Self { name: name.get(..end).map(Box::from), ..self }
    }

    /// Reads the column.
    pub(crate) fn parse(column: &str) -> Result<Self, Reason> {
        let mut details = Self::default();
        for word in column.split(' ') {
            match word.split_once('=') {
                Some((key, value)) => {
                    details.set(key, value).ok_or_else(|| Reason::BadWord { found: word.into() })?;
                }
                None => details.flag(word),
            }
        }
        details.check()?;
        Ok(details)
    }

    /// Sets the value of a key; `None` if the value is invalid. Unknown keys are ignored.
    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "t" => self.time_us = Some(number(value)?),
            "device" => self.device = Some(number(value)?),
            "thread" => self.thread = Some(number(value)?),
            "block" => self.block = Some(number(value)?),
            "of" => self.of = Some(number(value)?),
            "offset" => self.offset = Some(number(value)?),
            "type" => self.memory_type = Some(number(value)?),
            "heap" => self.heap = Some(heap(value)?),
            "priority" => self.priority = Some(thousandths(value)?),
            "usage" => self.usage = Some(hexadecimal(value)?),
            "format" => self.format = Some(number(value)?),
            "extent" => self.extent = Some(extent(value)?),
            "mips" => self.mips = Some(number(value)?),
            "layers" => self.layers = Some(number(value)?),
            "samples" => self.samples = Some(number(value)?),
            "name" => self.name = Some(escape::decode(value)?.into()),
            _ => {}
        }
        Some(())
    }

    /// Sets a flag. Unknown flags are ignored.
    fn flag(&mut self, word: &str) {
        match word {
            "final" => self.is_final = true,
            "wants-dedicated" => self.wants_dedicated = true,
            "needs-dedicated" => self.needs_dedicated = true,
            "dedicated" => self.is_dedicated = true,
            "import" => self.is_import = true,
            "address" => self.has_address = true,
            "linear-image" => self.is_linear_image = true,
            _ => {}
        }
    }

    /// Checks the limits that the types do not enforce.
    pub(crate) fn check(&self) -> Result<(), Reason> {
        if let Some(priority) = self.priority.filter(|priority| *priority > 1000) {
            return Err(Reason::BadWord { found: format!("priority={priority}/1000") });
        }
        match self.name.as_deref().map_or(0, str::len) {
            bytes if bytes > MAX_NAME_BYTES => Err(Reason::NameTooLong { bytes }),
            _ => Ok(()),
        }
    }

    /// Appends the column.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let begin = out.len();
        let numbers = [
            ("t", self.time_us),
            ("device", self.device.map(u64::from)),
            ("thread", self.thread.map(u64::from)),
            ("block", self.block),
            ("of", self.of),
            ("offset", self.offset),
            ("type", self.memory_type.map(u64::from)),
            ("format", self.format.map(u64::from)),
            ("mips", self.mips.map(u64::from)),
            ("layers", self.layers.map(u64::from)),
            ("samples", self.samples.map(u64::from)),
        ];
        for (key, value) in numbers {
            if let Some(value) = value {
                write!(out, " {key}={value}")?;
            }
        }
        let flags = [
            ("final", self.is_final),
            ("heap=local", self.heap == Some(HeapKind::Local)),
            ("heap=host", self.heap == Some(HeapKind::Host)),
            ("wants-dedicated", self.wants_dedicated),
            ("needs-dedicated", self.needs_dedicated),
            ("dedicated", self.is_dedicated),
            ("import", self.is_import),
            ("address", self.has_address),
            ("linear-image", self.is_linear_image),
        ];
        for (word, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
            write!(out, " {word}")?;
        }
        if let Some(priority) = self.priority {
            write!(out, " priority={}.{:03}", priority / 1000, priority % 1000)?;
        }
        if let Some(usage) = self.usage {
            write!(out, " usage={usage:#x}")?;
        }
        if let Some([width, height, depth]) = self.extent {
            write!(out, " extent={width}x{height}x{depth}")?;
        }
        if let Some(name) = &self.name {
            out.extend_from_slice(b" name=");
            escape::encode(out, name, true);
        }
        // No space before the first word.
        if out.len() > begin {
            out.remove(begin);
        }
        Ok(())
    }
}

/// A number in decimal digits. The standard parser would also accept a leading plus.
pub(crate) fn number<T: FromStr>(text: &str) -> Option<T> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        u64::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

fn thousandths(text: &str) -> Option<u16> {
    let value: f32 = text.parse().ok()?;
    (0.0..=1.0).contains(&value).then_some((value * 1000.0).round() as u16)
}

fn heap(text: &str) -> Option<HeapKind> {
    match text {
        "local" => Some(HeapKind::Local),
        "host" => Some(HeapKind::Host),
        _ => None,
    }
}

fn extent(text: &str) -> Option<[u32; 3]> {
    let mut sides = text.split('x').map(number);
    let extent = [sides.next()??, sides.next()??, sides.next()??];
    sides.next().is_none().then_some(extent)
}
