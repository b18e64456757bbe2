//! Resources that shaders read, one for each kind of descriptor, and the expected results.

use std::sync::Arc;

use tenure_core::device::Device;
use tenure_core::{
    Bind, BindingKind, Buffer, BufferAccess, BufferDesc, BufferViewDesc, Commands, Elements, Filter, Format,
    Name, Sampler, SamplerDesc, SamplerInfo, State, Subresource, Texture, TextureAccess, TextureDesc,
    TextureViewDesc, Usage, View,
};

use crate::bench::Bench;
use crate::{Harness, Look};
use test_random::Rng;

/// The kind of a shader input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Constants,
    Buffer,
    StorageBuffer,
    TypedBuffer,
    TypedStorageBuffer,
    Texture,
    StorageTexture,
    /// A texture that is sampled with linear filtering.
    Smooth,
    /// A texture that is sampled with point filtering.
    Sharp,
}

impl Kind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Constants,
        Self::Buffer,
        Self::StorageBuffer,
        Self::TypedBuffer,
        Self::TypedStorageBuffer,
        Self::Texture,
        Self::StorageTexture,
        Self::Smooth,
        Self::Sharp,
    ];

    /// The access of a buffer view; `None` for a texture.
    const fn buffer(self) -> Option<BufferAccess> {
        match self {
            Self::Constants => Some(BufferAccess::Constants),
            Self::Buffer => Some(BufferAccess::Read(Elements::Raw)),
            Self::StorageBuffer => Some(BufferAccess::ReadWrite(Elements::Raw)),
            Self::TypedBuffer => Some(BufferAccess::Read(Elements::Typed(Format::R32Uint))),
            Self::TypedStorageBuffer => Some(BufferAccess::ReadWrite(Elements::Typed(Format::R32Uint))),
            Self::Texture | Self::StorageTexture | Self::Smooth | Self::Sharp => None,
        }
    }

    const fn texture(self) -> TextureAccess {
        match self {
            Self::StorageTexture => TextureAccess::Storage,
            _ => TextureAccess::Sampled,
        }
    }

    const fn usage(self) -> Usage {
        match self.buffer() {
            Some(access) => access.usage(),
            None => self.texture().usage(),
        }
    }

    fn state(self) -> State {
        let allowed = State::allowed_for(self.usage());
        if allowed.contains(State::UNORDERED_ACCESS) {
            return State::UNORDERED_ACCESS;
        }
        // Without `PIXEL_SHADER`, because compute queues read it too.
        allowed.difference(State::PIXEL_SHADER)
    }

    /// The kind of its binding in a set.
    pub(crate) fn binding(self) -> BindingKind {
        match (self.buffer(), self) {
            (Some(access), _) => access.into(),
            (None, Self::StorageTexture) => BindingKind::StorageTexture,
            (None, _) => BindingKind::Texture,
        }
    }

    /// The read of an input of this kind; `None` if it needs a sampler.
    pub(crate) const fn look<'a, D: Device>(self) -> Option<Look<'a, D>> {
        match self {
            Self::Constants => Some(Look::Constants),
            Self::Buffer => Some(Look::Buffer),
            Self::StorageBuffer => Some(Look::StorageBuffer),
            Self::TypedBuffer => Some(Look::TypedBuffer),
            Self::TypedStorageBuffer => Some(Look::TypedStorageBuffer),
            Self::Texture => Some(Look::Texture),
            Self::StorageTexture => Some(Look::StorageTexture),
            Self::Smooth | Self::Sharp => None,
        }
    }

    fn sampler(self) -> Option<SamplerInfo> {
        let filter = match self {
            Self::Smooth => Filter::Linear,
            Self::Sharp => Filter::Nearest,
            _ => return None,
        };
        Some(SamplerInfo::default().mag(filter).min(filter))
    }

    /// The result of a read at the beginning of these bytes or texels.
    fn words(self, bytes: &[u8]) -> [u32; 4] {
        let word = |index: usize| u32::from_le_bytes(bytes[4 * index..4 * index + 4].try_into().unwrap());
        match self {
            Self::Constants | Self::Buffer | Self::StorageBuffer => std::array::from_fn(word),
            _ => [word(0); 4],
        }
    }
}

/// The resource.
enum Shown<D: Device> {
    Buffer(Arc<Buffer<D>>),
    Texture(Arc<Texture<D>>),
}

/// A view of a resource, and the result that shaders read through it.
pub(crate) struct ShaderInput<D: Device> {
    pub(crate) kind: Kind,
    pub(crate) view: View<D>,
    pub(crate) sampler: Option<Sampler<D>>,
    shown: Shown<D>,
    expected: Expected,
}

/// The expected result of reading an input. It can outlive the input.
pub(crate) struct Expected {
    kind: Kind,
    name: Name,
    words: [u32; 4],
}

impl Expected {
    /// Compares the result of a read with the expected words.
    #[track_caller]
    pub(crate) fn check(&self, seen: [u32; 4], what: &str) {
        // The rounding of filtered texels differs between devices.
        let slack = u32::from(self.kind == Kind::Smooth);
        let is_right = seen.iter().zip(self.words).all(|(seen, word)| seen.abs_diff(word) <= slack);
        let Self { kind, name, words } = self;
        assert!(is_right, "{what}: the read of {kind:?} '{name}' returned {seen:x?}, not {words:x?}");
    }
}

impl<D: Device> ShaderInput<D> {
    fn new(kind: Kind, view: View<D>, shown: Shown<D>, words: [u32; 4]) -> Self {
        let expected = Expected { kind, name: view.name().clone(), words };
        Self { kind, view, sampler: None, shown, expected }
    }

    /// Drops the input, and returns the expected result of reading it.
    pub(crate) fn into_expected(self) -> Expected {
        self.expected
    }

    /// Records the transition that its next read needs.
    pub(crate) fn prepare(&self, commands: &mut Commands<D>) {
        let state = self.kind.state();
        match &self.shown {
            Shown::Buffer(buffer) => commands.use_resource(&**buffer, Subresource::All, state).unwrap(),
            Shown::Texture(texture) => commands.use_resource(&**texture, Subresource::All, state).unwrap(),
        }
    }

    pub(crate) fn bind(&self) -> Bind<'_, D> {
        (&self.view).into()
    }

    /// Its view and its sampler as one.
    pub(crate) fn combined(&self) -> Bind<'_, D> {
        (&self.view, self.sampler.as_ref().unwrap()).into()
    }

    /// Compares the result of a read with the expected words.
    #[track_caller]
    pub(crate) fn check(&self, seen: [u32; 4], what: &str) {
        self.expected.check(seen, what);
    }
}

impl<H: Harness> Bench<'_, H> {
    /// An input of a kind, with random contents.
    pub(crate) fn input(&self, kind: Kind, rng: &mut Rng) -> ShaderInput<H::Device> {
        match kind {
            Kind::Smooth | Kind::Sharp => self.picture(kind, rng),
            _ if kind.buffer().is_some() => self.buffer_parts(kind, 1, rng).remove(0),
            _ => self.texture_parts(kind, (1, 1), rng).remove(0),
        }
    }

    /// One input of each kind.
    pub(crate) fn inputs(&self, rng: &mut Rng) -> Vec<ShaderInput<H::Device>> {
        Kind::ALL.into_iter().map(|kind| self.input(kind, rng)).collect()
    }

    /// Views of parts of one buffer.
    pub(crate) fn buffer_parts(&self, kind: Kind, parts: u64, rng: &mut Rng) -> Vec<ShaderInput<H::Device>> {
        /// The size of a part in bytes, a multiple of the alignment of every view.
        const PART: u64 = 512;
        let desc = BufferDesc::new(parts * PART, kind.usage()).alignment(256).name("input");
        let buffer = Arc::new(self.gpu.create_buffer(&desc).unwrap());
        let bytes = rng.bytes(desc.size);
        self.upload(&buffer, 0, &bytes);
        let access = kind.buffer().unwrap();
        (0..parts)
            .map(|part| {
                let view = BufferViewDesc::new(access).range(part * PART, PART / 2);
                let view = view.name(format!("bytes {}", part * PART));
                let view = self.gpu.create_buffer_view(&buffer, &view).unwrap();
                let start = usize::try_from(part * PART).unwrap();
                let words = kind.words(&bytes[start..]);
                ShaderInput::new(kind, view, Shown::Buffer(buffer.clone()), words)
            })
            .collect()
    }

    /// Views of the subresources of one texture, each of one mip of one layer.
    pub(crate) fn texture_parts(
        &self,
        kind: Kind,
        (mips, layers): (u32, u32),
        rng: &mut Rng,
    ) -> Vec<ShaderInput<H::Device>> {
        let desc = TextureDesc::d2(16, 16, Format::R32Uint, kind.usage()).mips(mips).layers(layers);
        let texture = Arc::new(self.gpu.create_texture(&desc.name("input")).unwrap());
        let texels = crate::texels::random(texture.info(), rng);
        self.upload_texels(&texture, &texels);
        let indices = (0..layers).flat_map(|layer| (0..mips).map(move |mip| (mip, layer)));
        indices
            .zip(&texels)
            .map(|((mip, layer), texels)| {
                let view = TextureViewDesc::new(kind.texture()).mips(mip, 1).layers(layer, 1);
                let view = view.name(format!("mip {mip} of layer {layer}"));
                let view = self.gpu.create_texture_view(&texture, &view).unwrap();
                ShaderInput::new(kind, view, Shown::Texture(texture.clone()), kind.words(texels))
            })
            .collect()
    }

    /// A texture with two columns of one colour and two columns of another. In the middle, point filtering returns the
    /// second colour, and linear filtering the mean of both.
    fn picture(&self, kind: Kind, rng: &mut Rng) -> ShaderInput<H::Device> {
        let desc = TextureDesc::d2(4, 4, Format::Rgba8Unorm, Usage::SHADER_READ).name("picture");
        let texture = self.gpu.create_texture(&desc).unwrap();
        let colours = [rng.bytes(4), rng.bytes(4)];
        let row = [0, 0, 1, 1].map(|column: usize| colours[column].clone()).concat();
        self.upload_texels(&texture, &vec![row.repeat(4)]);
        let words = std::array::from_fn(|channel| {
            let [left, right] = [0, 1].map(|colour: usize| u32::from(colours[colour][channel]));
            if kind == Kind::Smooth { (left + right) / 2 } else { right }
        });
        let sampler =
            self.gpu.create_sampler(&SamplerDesc::new(kind.sampler().unwrap()).name("sampler")).unwrap();
        let view = self.gpu.create_texture_view(&texture, &TextureViewDesc::sampled()).unwrap();
        let input = ShaderInput::new(kind, view, Shown::Texture(Arc::new(texture)), words);
        ShaderInput { sampler: Some(sampler), ..input }
    }
}
