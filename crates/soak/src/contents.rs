//! The expected value of every byte, after all submissions.

use std::collections::HashMap;

/// A buffer, or a subresource of a texture: the number of the object and of the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) object: u64,
    pub(crate) index: u32,
}

impl Part {
    pub(crate) const fn buffer(object: u64) -> Self {
        Self { object, index: 0 }
    }
}

/// Bytes of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) part: Part,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl Range {
    const fn bounds(&self) -> std::ops::Range<usize> {
        self.offset as usize..(self.offset + self.size) as usize
    }
}

/// The effect of a recording on contents.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Bytes of one part are copied to another.
    Copy { from: Range, to: Range },
    /// These bytes are written.
    Write { to: Range, bytes: Vec<u8> },
    /// A readback, by its number, takes these bytes.
    Read { read: u64, from: Range },
    /// All of a part is written, with bytes that the model does not compute.
    Filter { to: Part },
}

impl Effect {
    /// The objects that it touches.
    pub(crate) fn objects(&self) -> impl Iterator<Item = u64> {
        let (one, other) = match self {
            Self::Copy { from, to } => (from.part, Some(to.part)),
            Self::Write { to, .. } => (to.part, None),
            Self::Read { from, .. } => (from.part, None),
            Self::Filter { to } => (*to, None),
        };
        std::iter::once(one).chain(other).map(|part| part.object)
    }
}

/// The bytes of a part, as far as they are known.
#[derive(Clone, Debug)]
struct Bytes {
    bytes: Vec<u8>,
    /// Everything was written. Otherwise the contents are undefined, and are not read.
    is_known: bool,
}

/// The contents of all parts, and the expected readbacks. Contents of dropped parts stay: recordings may still
/// use them.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    parts: HashMap<Part, Bytes>,
    found: HashMap<u64, Option<Vec<u8>>>,
}

impl Contents {
    /// A part with these bytes.
    pub(crate) fn add(&mut self, part: Part, bytes: Vec<u8>) {
        self.parts.insert(part, Bytes { bytes, is_known: true });
    }

    /// Adds a part of `size` bytes without defined contents.
    pub(crate) fn add_undefined(&mut self, part: Part, size: u64) {
        self.parts.insert(part, Bytes { bytes: vec![0; size as usize], is_known: false });
    }

    /// The bytes, if the whole part is known.
    pub(crate) fn known(&self, range: Range) -> Option<&[u8]> {
        let part = self.parts.get(&range.part).filter(|part| part.is_known)?;
        part.bytes.get(range.bounds())
    }

    pub(crate) fn is_known(&self, part: Part) -> bool {
        self.parts.get(&part).is_some_and(|part| part.is_known)
    }

    /// Writes bytes now.
    pub(crate) fn write(&mut self, to: Range, bytes: &[u8]) {
        if let Some(part) = self.parts.get_mut(&to.part)
            && let Some(room) = part.bytes.get_mut(to.bounds())
        {
            room.copy_from_slice(bytes);
            part.is_known |= bytes.len() == part.bytes.len();
        }
    }

    /// The bytes of a part are not known any more.
    fn forget(&mut self, part: Part) {
        if let Some(part) = self.parts.get_mut(&part) {
            part.is_known = false;
        }
    }

    /// Applies the effects of a recording.
    pub(crate) fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write { to, bytes } => self.write(to, &bytes),
                Effect::Copy { from, to } => match self.known(from).map(<[u8]>::to_vec) {
                    Some(bytes) => self.write(to, &bytes),
                    // Another recording has filtered the source meanwhile.
                    None => self.forget(to.part),
                },
                Effect::Filter { to } => self.forget(to),
                Effect::Read { read, from } => {
                    let bytes = self.known(from).map(<[u8]>::to_vec);
                    self.found.insert(read, bytes);
                }
            }
        }
    }

    /// The expected bytes of a readback, as far as they are known, if its recording was submitted.
    pub(crate) fn take_found(&mut self, read: u64) -> Option<Option<Vec<u8>>> {
        self.found.remove(&read)
    }
}
