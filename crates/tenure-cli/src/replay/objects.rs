//! What lives during a replay, by slot.

use tenure::device::Usage;
use tenure::{Buffer, BufferDesc, Error, Gpu, MemoryUse, Texture};

use super::meter::Metered;
use super::program::What;
use super::rng::Rng;
use super::shape::Shape;

/// Bytes at the beginning of a buffer that the replay follows.
const FOLLOWED: usize = 16;

/// What the first bytes of a buffer are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    bytes: [u8; FOLLOWED],
    len: u8,
}

impl Content {
    /// Random bytes for a buffer of `size` bytes.
    fn random(rng: &mut Rng, size: u64) -> Self {
        let mut bytes = [0; FOLLOWED];
        bytes[..8].copy_from_slice(&rng.next().to_le_bytes());
        bytes[8..].copy_from_slice(&rng.next().to_le_bytes());
        Self { bytes, len: 0 }.cut(size, FOLLOWED as u8)
    }

    /// As much as fits into `size` bytes, and at most `len`.
    const fn cut(self, size: u64, len: u8) -> Self {
        Self { len: if size < len as u64 { size as u8 } else { len }, ..self }
    }

    /// As much of it as fits into `size` bytes.
    pub(super) const fn copied_to(self, size: u64) -> Self {
        self.cut(size, self.len)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A buffer, and what its first bytes are once something wrote them.
pub(super) struct Followed<D: Metered> {
    pub(super) buffer: Buffer<D>,
    pub(super) content: Option<Content>,
    /// Its place in the list of its role.
    place: usize,
    role: Role,
}

/// Which part a buffer plays in the copies of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Written by the CPU: copied from.
    Upload,
    /// In the GPU's own memory: copied to and drawn from.
    Mesh,
    /// For the CPU to read.
    Readback,
}

const ROLES: usize = 3;

enum Object<D: Metered> {
    Buffer(Followed<D>),
    /// Kept for its lifetime alone.
    #[expect(dead_code, reason = "a texture is only created and dropped")]
    Texture(Texture<D>),
}

/// Live objects by slot, and the slots of the buffers of each role.
pub(super) struct Objects<D: Metered> {
    slots: Vec<Option<Object<D>>>,
    by_role: [Vec<usize>; ROLES],
    /// Where the bytes come from.
    rng: Rng,
}

impl<D: Metered> Objects<D> {
    pub(super) fn new(slots: usize, seed: u64) -> Self {
        let slots = std::iter::repeat_with(|| None).take(slots).collect();
        Self { slots, by_role: Default::default(), rng: Rng::new(seed) }
    }

    /// Creates an object in an empty slot, and fills the beginning of a buffer that is mapped.
    pub(super) fn create(
        &mut self,
        gpu: &Gpu<D>,
        slot: usize,
        what: What,
        shapes: &[Shape],
    ) -> Result<(), Error> {
        let object = match what {
            What::Buffer { size, align, memory } => {
                let (role, usage) = role(memory);
                let desc = BufferDesc::new(size, usage).memory(memory).alignment(align).name(role.name());
                let buffer = gpu.create_buffer(&desc)?;
                Object::Buffer(self.follow(buffer, slot, role)?)
            }
            What::Texture(index) => match shapes.get(index) {
                Some(shape) => Object::Texture(gpu.create_texture(&shape.desc())?),
                None => return Ok(()),
            },
        };
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(object);
        }
        Ok(())
    }

    fn follow(&mut self, buffer: Buffer<D>, slot: usize, role: Role) -> Result<Followed<D>, Error> {
        let content = match role {
            Role::Upload => {
                let content = Content::random(&mut self.rng, buffer.size());
                buffer.write(0, content.bytes())?;
                Some(content)
            }
            Role::Mesh | Role::Readback => None,
        };
        let slots = &mut self.by_role[role as usize];
        slots.push(slot);
        Ok(Followed { buffer, content, place: slots.len() - 1, role })
    }

    /// Drops what is in a slot; nothing when its creation failed.
    pub(super) fn drop_slot(&mut self, slot: usize) {
        let object = self.slots.get_mut(slot).and_then(Option::take);
        if let Some(Object::Buffer(Followed { place, role, .. })) = &object {
            let slots = &mut self.by_role[*role as usize];
            slots.swap_remove(*place);
            if let Some(&moved) = slots.get(*place)
                && let Some(Some(Object::Buffer(followed))) = self.slots.get_mut(moved)
            {
                followed.place = *place;
            }
        }
    }

    /// The slot of a random live buffer of a role.
    pub(super) fn pick(&self, rng: &mut Rng, role: Role) -> Option<usize> {
        let slots = &self.by_role[role as usize];
        slots.get(rng.below(slots.len())).copied()
    }

    pub(super) fn buffer(&self, slot: usize) -> Option<&Followed<D>> {
        match self.slots.get(slot) {
            Some(Some(Object::Buffer(followed))) => Some(followed),
            _ => None,
        }
    }

    pub(super) fn set_content(&mut self, slot: usize, content: Content) {
        if let Some(Some(Object::Buffer(followed))) = self.slots.get_mut(slot) {
            followed.content = Some(content);
        }
    }
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::Mesh => "mesh",
            Self::Readback => "readback",
        }
    }
}

const fn role(memory: MemoryUse) -> (Role, Usage) {
    match memory {
        MemoryUse::Dynamic | MemoryUse::GpuUpload => (Role::Upload, Usage::COPY_SRC.union(Usage::VERTEX)),
        MemoryUse::Readback => (Role::Readback, Usage::COPY_DST),
        _ => (Role::Mesh, Usage::VERTEX.union(Usage::INDEX)),
    }
}
