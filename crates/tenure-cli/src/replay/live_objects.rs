//! The live objects of a replay by slot, and the random choice among them.

use tenure::device::Device;
use tenure::{Buffer, BufferDesc, Error, Gpu, MemoryUse, Recording, Texture, TextureDesc, Usage};

use super::observer::{Moment, Observer};
use super::program::What;
use super::shape::Shape;

/// A random number generator: SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014).
///
/// Its numbers for a seed, and so the chosen buffers and contents, must not change between versions.
/// `test-random`, the generator of the tests, is not published.
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `limit`; 0 if that is 0.
    pub(super) const fn below(&mut self, limit: usize) -> usize {
        // The upper half of the product (Lemire): the bias does not matter here.
        ((self.next() as u128 * limit as u128) >> 64) as usize
    }
}

/// The number of bytes at the beginning of a buffer that the replay tracks.
pub(super) const FOLLOWED: usize = 16;

/// The first bytes of a buffer.
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

    /// The first bytes, limited to `size` and to `len`.
    const fn cut(self, size: u64, len: u8) -> Self {
        Self { len: if size < len as u64 { size as u8 } else { len }, ..self }
    }

    /// The content of a buffer of `size` bytes after a copy from this one.
    pub(super) const fn copied_to(self, size: u64) -> Self {
        self.cut(size, self.len)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A buffer, and its first bytes once written.
pub(super) struct Followed<D: Device> {
    pub(super) buffer: Buffer<D>,
    pub(super) content: Option<Content>,
    /// The buffer's index in each list.
    places: [Option<usize>; LISTS],
}

/// The role of a buffer in a frame's copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Written by the CPU; source of copies and draws.
    Upload,
    /// GPU-only memory; destination of copies, source of draws.
    Mesh,
    /// Read by the CPU.
    Readback,
}

/// Lists of live buffers to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// All CPU-written buffers.
    Uploads,
    /// All GPU-only buffers.
    Meshes,
    /// Meshes that were copied to.
    WrittenMeshes,
}

const LISTS: usize = 3;

enum Object<D: Device> {
    Buffer(Followed<D>),
    /// Only created and dropped.
    Texture(Texture<D>),
}

impl<D: Device> Object<D> {
    fn name(&self) -> &str {
        match self {
            Self::Buffer(followed) => followed.buffer.name().as_str(),
            Self::Texture(texture) => texture.name().as_str(),
        }
    }

    fn moves(&self) -> u64 {
        match self {
            Self::Buffer(followed) => followed.buffer.moves(),
            Self::Texture(texture) => texture.moves(),
        }
    }
}

/// Live objects by slot, and the slots of the buffers to choose from.
pub(super) struct Objects<D: Device> {
    slots: Vec<Option<Object<D>>>,
    lists: [Vec<usize>; LISTS],
    /// Random contents of buffers.
    rng: Rng,
    /// Whether GPU-only resources are created as movable.
    is_movable: bool,
    /// Slots of movable objects that are new or have moved since their locations were last queried. Some may have
    /// been dropped.
    unlocated: Vec<usize>,
    /// Each slot's number of moves when its location was last queried.
    moves: Vec<u64>,
}

impl<D: Device> Objects<D> {
    pub(super) fn new(slots: usize, seed: u64, is_movable: bool) -> Self {
        let moves = vec![0; if is_movable { slots } else { 0 }];
        let slots = std::iter::repeat_with(|| None).take(slots).collect();
        let rng = Rng::new(seed);
        Self { slots, lists: Default::default(), rng, is_movable, unlocated: Vec::new(), moves }
    }

    /// Creates an object in an empty slot, with its recorded name if any. Fills the beginning of a mapped buffer.
    pub(super) fn create(
        &mut self,
        gpu: &Gpu<D>,
        slot: usize,
        what: What,
        shapes: &[Shape],
        name: Option<&str>,
    ) -> Result<(), Error> {
        match what {
            What::Buffer { size, align, memory } => {
                let (role, usage) = role(memory);
                let desc = BufferDesc::new(size, usage).memory(memory).alignment(align);
                let desc = match name {
                    Some(name) => desc.name(name.to_owned()),
                    None => desc.name(role.name()),
                };
                let is_movable = self.is_movable && role == Role::Mesh;
                let desc = if is_movable { desc.movable() } else { desc };
                let buffer = gpu.create_buffer(&desc)?;
                if is_movable {
                    self.unlocated.push(slot);
                } else {
                    is_used(buffer.raw());
                }
                self.follow(buffer, slot, role)
            }
            What::Texture(index) => {
                if let Some(shape) = shapes.get(index) {
                    let desc = shape.desc();
                    let desc = if let Some(name) = name { desc.name(name.to_owned()) } else { desc };
                    let desc = if self.is_movable { TextureDesc::movable(desc) } else { desc };
                    let texture = gpu.create_texture(&desc)?;
                    if self.is_movable {
                        self.unlocated.push(slot);
                    } else {
                        is_used(texture.raw());
                    }
                    self.put(slot, Object::Texture(texture));
                }
                Ok(())
            }
        }
    }

    /// Reports the object just created in a slot, unless the creation failed. `earlier` objects were created
    /// before.
    pub(super) fn show(
        &self,
        gpu: &Gpu<D>,
        slot: usize,
        (earlier, what): (usize, What),
        observer: &mut impl Observer<D>,
    ) {
        let Some(Some(object)) = self.slots.get(slot) else { return };
        observer.observe(gpu, Moment::Created { slot, earlier, what, name: object.name() });
        match object {
            _ if self.unlocated.last() == Some(&slot) => {}
            Object::Buffer(Followed { buffer, .. }) => {
                let (resource, offset) = (buffer.raw(), buffer.offset());
                observer.observe(gpu, Moment::Placed { slot, resource, offset });
            }
            Object::Texture(texture) => {
                observer.observe(gpu, Moment::Placed { slot, resource: texture.raw(), offset: 0 });
            }
        }
    }

    /// Makes a recording query the locations of movable objects that are new or have moved, and marks them as
    /// used: see [`is_used`].
    pub(super) fn locate(
        &mut self,
        gpu: &Gpu<D>,
        recording: &mut Recording<D>,
        observer: &mut impl Observer<D>,
    ) -> Result<(), Error> {
        for slot in std::mem::take(&mut self.unlocated) {
            let Some(Some(object)) = self.slots.get(slot) else { continue };
            if let Some(moves) = self.moves.get_mut(slot) {
                *moves = object.moves();
            }
            let (_, scratch) = recording.split();
            let (resource, offset) = match object {
                Object::Buffer(Followed { buffer, .. }) => {
                    let place = scratch.buffer(buffer)?;
                    (place.raw(), place.offset())
                }
                Object::Texture(texture) => (scratch.texture(texture)?, 0),
            };
            observer.observe(gpu, Moment::Placed { slot, resource, offset });
        }
        Ok(())
    }

    /// Finds the objects that have moved. O(slots).
    pub(super) fn note_moves(&mut self) {
        for (slot, (object, moves)) in self.slots.iter().zip(&self.moves).enumerate() {
            if object.as_ref().is_some_and(|object| object.moves() != *moves) {
                self.unlocated.push(slot);
            }
        }
    }

    fn put(&mut self, slot: usize, object: Object<D>) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(object);
        }
    }

    fn follow(&mut self, buffer: Buffer<D>, slot: usize, role: Role) -> Result<(), Error> {
        let (content, among) = match role {
            Role::Upload => {
                let content = Content::random(&mut self.rng, buffer.size());
                buffer.write(0, content.bytes())?;
                (Some(content), Some(Among::Uploads))
            }
            Role::Mesh => (None, Some(Among::Meshes)),
            Role::Readback => (None, None),
        };
        self.put(slot, Object::Buffer(Followed { buffer, content, places: [None; LISTS] }));
        if let Some(among) = among {
            self.enlist(slot, among);
        }
        Ok(())
    }

    /// Adds a buffer to a list, unless it contains the buffer.
    fn enlist(&mut self, slot: usize, among: Among) {
        let list = &mut self.lists[among as usize];
        if let Some(Some(Object::Buffer(followed))) = self.slots.get_mut(slot) {
            followed.places[among as usize].get_or_insert_with(|| {
                list.push(slot);
                list.len() - 1
            });
        }
    }

    /// Drops the object in a slot, which is empty if the creation failed.
    pub(super) fn drop_slot(&mut self, slot: usize) {
        let object = self.slots.get_mut(slot).and_then(Option::take);
        let Some(Object::Buffer(Followed { places, .. })) = &object else { return };
        for (number, (list, place)) in self.lists.iter_mut().zip(places).enumerate() {
            let Some(place) = *place else { continue };
            list.swap_remove(place);
            if let Some(&moved) = list.get(place)
                && let Some(Some(Object::Buffer(followed))) = self.slots.get_mut(moved)
            {
                followed.places[number] = Some(place);
            }
        }
    }

    /// The slot of a random live buffer.
    pub(super) fn pick(&self, rng: &mut Rng, among: Among) -> Option<usize> {
        let list = &self.lists[among as usize];
        list.get(rng.below(list.len())).copied()
    }

    pub(super) fn buffer(&self, slot: usize) -> Option<&Followed<D>> {
        match self.slots.get(slot) {
            Some(Some(Object::Buffer(followed))) => Some(followed),
            _ => None,
        }
    }

    /// Sets the content copied to a mesh.
    pub(super) fn set_content(&mut self, slot: usize, content: Content) {
        if let Some(Some(Object::Buffer(followed))) = self.slots.get_mut(slot) {
            followed.content = Some(content);
        }
        self.enlist(slot, Among::WrittenMeshes);
    }
}

/// Marks a resource as used, as if its API object was passed to commands. The manager frees a resource at once if
/// its API object was never requested, and the replay would then report too few bytes pending release.
fn is_used<R>(_resource: &R) {}

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
        MemoryUse::Upload | MemoryUse::GpuUpload => (Role::Upload, Usage::COPY_SRC.union(Usage::VERTEX)),
        MemoryUse::Readback => (Role::Readback, Usage::COPY_DST),
        // On real devices the check copies the content to a readback buffer.
        _ => (Role::Mesh, Usage::VERTEX.union(Usage::INDEX).union(Usage::COPY_SRC)),
    }
}
