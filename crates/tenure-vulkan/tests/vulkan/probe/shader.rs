//! The shaders of probes, assembled: no language has all kinds of descriptors.

use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, Dim, ImageFormat, ImageOperands, MemoryAccess, MemoryModel,
    StorageClass, Word,
};
use tenure_core::BindingKind;

use super::OUT;
use crate::spirv::{assemble_compute, begin_main, bind, builder};

/// Which element of an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Index {
    /// That of this number among the pushed constants.
    Pushed(u32),
    /// This one.
    Known(u32),
}

/// The output of the shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Out {
    /// To a buffer in a set.
    Set,
    /// To the address that is the third and fourth number among the pushed constants.
    Address,
}

/// The place of a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Find {
    pub(super) set: u32,
    pub(super) kind: BindingKind,
    pub(super) binding: u32,
    pub(super) index: Index,
}

/// A shader that reads the descriptor `find` (with a sampler: in the middle of `texture`), and writes four
/// words.
pub(super) fn compile(find: &Find, texture: Option<&Find>, out: Out) -> Vec<u32> {
    let mut shader = Shader::new();
    let is_combined = find.kind == BindingKind::CombinedSampler;
    let found = shader.descriptor(find, is_combined);
    let texture = texture.map(|texture| shader.descriptor(texture, true));
    let set = Find { set: OUT, kind: BindingKind::Buffer, binding: 0, index: Index::Known(0) };
    let out = (out == Out::Set).then(|| shader.descriptor(&set, false));
    if out.is_none() {
        shader.use_addresses();
    }
    shader.main = begin_main(&mut shader.b);
    let words = match texture {
        Some(texture) => shader.sample(find, found, texture),
        None if is_combined => shader.sample_combined(found),
        None => shader.read(find, found),
    };
    match out {
        Some(out) => shader.end(out, words),
        None => shader.end_at_address(words),
    }
}

/// The type of a descriptor, and the variable that holds an array of them.
#[derive(Clone, Copy)]
struct Descriptor {
    find: Find,
    kind: Word,
    class: StorageClass,
    array: Word,
}

struct Shader {
    b: Builder,
    main: Word,
    uint: Word,
    int: Word,
    float: Word,
    uint4: Word,
    /// A buffer of four words.
    block: Word,
    pushed: Word,
}

impl Shader {
    fn new() -> Self {
        let mut b = builder(3);
        let (uint, int, float) = (b.type_int(32, 0), b.type_int(32, 1), b.type_float(32, None));
        let uint4 = b.type_vector(uint, 4);
        let block = b.type_struct([uint4]);
        let pushed = b.type_struct([uint; 4]);
        let members = (0..4).map(|member| (pushed, member, 4 * member));
        for (block, member, offset) in [(block, 0, 0)].into_iter().chain(members) {
            b.member_decorate(block, member, Decoration::Offset, [Operand::LiteralBit32(offset)]);
        }
        b.decorate(block, Decoration::Block, []);
        b.decorate(pushed, Decoration::Block, []);
        let pointer = b.type_pointer(None, StorageClass::PushConstant, pushed);
        let pushed = b.variable(pointer, None, StorageClass::PushConstant, None);
        Self { b, main: 0, uint, int, float, uint4, block, pushed }
    }

    /// Declares a descriptor; `floats`: a texture of floats.
    fn descriptor(&mut self, find: &Find, floats: bool) -> Descriptor {
        let (kind, class) = self.descriptor_type(find.kind, floats);
        let array = match find.index {
            Index::Known(element) => {
                let length = self.b.constant_bit32(self.uint, element + 1);
                self.b.type_array(kind, length)
            }
            Index::Pushed(_) => {
                self.allow_indexing(find.kind);
                self.b.type_runtime_array(kind)
            }
        };
        let pointer = self.b.type_pointer(None, class, array);
        let array = self.b.variable(pointer, None, class, None);
        bind(&mut self.b, array, find.set, find.binding);
        Descriptor { find: *find, kind, class, array }
    }

    fn descriptor_type(&mut self, kind: BindingKind, floats: bool) -> (Word, StorageClass) {
        let texel = if floats { self.float } else { self.uint };
        let mut image = |dim, is_storage: bool| {
            let (sampled, format) =
                if is_storage { (2, ImageFormat::R32ui) } else { (1, ImageFormat::Unknown) };
            self.b.type_image(texel, dim, 0, 0, 0, sampled, format, None)
        };
        let constant = StorageClass::UniformConstant;
        match kind {
            BindingKind::Constants | BindingKind::DynamicConstants => (self.block, StorageClass::Uniform),
            BindingKind::Buffer => (self.block, StorageClass::StorageBuffer),
            BindingKind::TypedBuffer => {
                let image = image(Dim::DimBuffer, false);
                self.b.capability(Capability::SampledBuffer);
                (image, constant)
            }
            BindingKind::TypedStorageBuffer => {
                let image = image(Dim::DimBuffer, true);
                self.b.capability(Capability::ImageBuffer);
                (image, constant)
            }
            BindingKind::Texture => (image(Dim::Dim2D, false), constant),
            BindingKind::StorageTexture => (image(Dim::Dim2D, true), constant),
            BindingKind::Sampler => (self.b.type_sampler(), constant),
            BindingKind::CombinedSampler => {
                let image = image(Dim::Dim2D, false);
                (self.b.type_sampled_image(image), constant)
            }
            BindingKind::InputAttachment => unreachable!("compute shaders have no input attachments"),
            BindingKind::AccelerationStructure => unreachable!("probes trace no rays"),
        }
    }

    fn allow_indexing(&mut self, kind: BindingKind) {
        self.b.extension("SPV_EXT_descriptor_indexing");
        self.b.capability(Capability::RuntimeDescriptorArray);
        self.b.capability(match kind {
            BindingKind::Constants | BindingKind::DynamicConstants => {
                Capability::UniformBufferArrayDynamicIndexing
            }
            BindingKind::Buffer => Capability::StorageBufferArrayDynamicIndexing,
            BindingKind::TypedBuffer => Capability::UniformTexelBufferArrayDynamicIndexing,
            BindingKind::TypedStorageBuffer => Capability::StorageTexelBufferArrayDynamicIndexing,
            BindingKind::Texture | BindingKind::Sampler | BindingKind::CombinedSampler => {
                Capability::SampledImageArrayDynamicIndexing
            }
            BindingKind::StorageTexture => Capability::StorageImageArrayDynamicIndexing,
            BindingKind::InputAttachment => Capability::InputAttachmentArrayDynamicIndexing,
            BindingKind::AccelerationStructure => unreachable!("probes trace no rays"),
        });
    }

    fn number(&mut self, value: u32) -> Word {
        self.b.constant_bit32(self.uint, value)
    }

    /// The pointer to one element of an array of descriptors, or to a member of it.
    fn pointer(&mut self, of: Descriptor, inside: Option<Word>) -> Word {
        let index = match of.find.index {
            Index::Known(element) => self.number(element),
            Index::Pushed(member) => self.pushed(member),
        };
        let pointer = self.b.type_pointer(None, of.class, inside.unwrap_or(of.kind));
        let first = self.number(0);
        let indices = [index].into_iter().chain(inside.map(|_| first));
        self.b.access_chain(pointer, None, of.array, indices).unwrap()
    }

    /// A number among the pushed constants.
    fn pushed(&mut self, member: u32) -> Word {
        let pointer = self.b.type_pointer(None, StorageClass::PushConstant, self.uint);
        let member = self.number(member);
        let pushed = self.b.access_chain(pointer, None, self.pushed, [member]).unwrap();
        self.b.load(self.uint, None, pushed, None, []).unwrap()
    }

    fn use_addresses(&mut self) {
        self.b.extension("SPV_KHR_physical_storage_buffer");
        self.b.capability(Capability::PhysicalStorageBufferAddresses);
        self.b.memory_model(AddressingModel::PhysicalStorageBuffer64, MemoryModel::GLSL450);
    }

    fn end_at_address(mut self, words: Word) -> Vec<u32> {
        let [low, high] = [2, 3].map(|member| self.pushed(member));
        let (class, uint2) = (StorageClass::PhysicalStorageBuffer, self.b.type_vector(self.uint, 2));
        let pointer = self.b.type_pointer(None, class, self.uint4);
        let address = self.b.composite_construct(uint2, None, [low, high]).unwrap();
        let pointer = self.b.bitcast(pointer, None, address).unwrap();
        let alignment = [Operand::LiteralBit32(16)];
        self.b.store(pointer, words, Some(MemoryAccess::ALIGNED), alignment).unwrap();
        assemble_compute(self.b, self.main, &[])
    }

    fn load(&mut self, of: Descriptor) -> Word {
        let pointer = self.pointer(of, None);
        self.b.load(of.kind, None, pointer, None, []).unwrap()
    }

    /// The first four words, or the first texel's first word four times.
    fn read(&mut self, find: &Find, found: Descriptor) -> Word {
        let zero = self.b.constant_bit32(self.int, 0);
        let int2 = self.b.type_vector(self.int, 2);
        let corner = self.b.constant_composite(int2, [zero, zero]);
        let words = self.uint4;
        let texel = match find.kind {
            BindingKind::Constants | BindingKind::DynamicConstants | BindingKind::Buffer => {
                let pointer = self.pointer(found, Some(words));
                return self.b.load(words, None, pointer, None, []).unwrap();
            }
            BindingKind::TypedBuffer => {
                let image = self.load(found);
                self.b.image_fetch(words, None, image, zero, None, []).unwrap()
            }
            BindingKind::Texture => {
                let image = self.load(found);
                let lod = [Operand::IdRef(zero)];
                self.b.image_fetch(words, None, image, corner, Some(ImageOperands::LOD), lod).unwrap()
            }
            BindingKind::TypedStorageBuffer => {
                let image = self.load(found);
                self.b.image_read(words, None, image, zero, None, []).unwrap()
            }
            BindingKind::StorageTexture => {
                let image = self.load(found);
                self.b.image_read(words, None, image, corner, None, []).unwrap()
            }
            BindingKind::Sampler
            | BindingKind::CombinedSampler
            | BindingKind::InputAttachment
            | BindingKind::AccelerationStructure => {
                unreachable!("they are sampled, or not read by dispatches")
            }
        };
        let word = self.b.composite_extract(self.uint, None, texel, [0]).unwrap();
        self.b.composite_construct(words, None, [word; 4]).unwrap()
    }

    /// The value that a sampler reads in the middle of a texture, of 255.
    fn sample(&mut self, find: &Find, found: Descriptor, texture: Descriptor) -> Word {
        assert_eq!(find.kind, BindingKind::Sampler);
        let (image, sampler) = (self.load(texture), self.load(found));
        let combined = self.b.type_sampled_image(texture.kind);
        let combined = self.b.sampled_image(combined, None, image, sampler).unwrap();
        self.sample_middle(combined)
    }

    fn sample_combined(&mut self, found: Descriptor) -> Word {
        let combined = self.load(found);
        self.sample_middle(combined)
    }

    fn sample_middle(&mut self, combined: Word) -> Word {
        let mut number = |value: f32| self.b.constant_bit32(self.float, value.to_bits());
        let (zero, half, all) = (number(0.0), number(0.5), number(255.0));
        let (float2, float4) = (self.b.type_vector(self.float, 2), self.b.type_vector(self.float, 4));
        let middle = self.b.constant_composite(float2, [half, half]);
        let lod = [Operand::IdRef(zero)];
        let colour =
            self.b.image_sample_explicit_lod(float4, None, combined, middle, ImageOperands::LOD, lod);
        let scaled = self.b.vector_times_scalar(float4, None, colour.unwrap(), all).unwrap();
        let half = self.b.constant_composite(float4, [half; 4]);
        let rounded = self.b.f_add(float4, None, scaled, half).unwrap();
        self.b.convert_f_to_u(self.uint4, None, rounded).unwrap()
    }

    fn end(mut self, out: Descriptor, words: Word) -> Vec<u32> {
        let pointer = self.pointer(out, Some(self.uint4));
        self.b.store(pointer, words, None, []).unwrap();
        assemble_compute(self.b, self.main, &[])
    }
}
