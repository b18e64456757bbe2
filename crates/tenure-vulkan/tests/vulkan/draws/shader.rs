//! Shaders of draws: a triangle over everything, in one colour.

use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    BuiltIn, Capability, Decoration, Dim, ExecutionMode, ExecutionModel, ImageFormat, ImageOperands,
    StorageClass, Word,
};

use crate::spirv::{assemble, begin_main, bind, builder};

/// The inputs of a pixel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Paint {
    Colour([f32; 4]),
    /// The texel of an input attachment, with red and blue swapped: at this binding of set 0, and of this
    /// number in the pass.
    Input {
        binding: u32,
        index: u32,
    },
    /// The middle of a combined sampler at this binding of set 0.
    Combined {
        binding: u32,
    },
}

/// Three vertices around all pixels.
pub(super) fn vertex() -> Vec<u32> {
    let mut b = builder(3);
    let (int, float) = (b.type_int(32, 1), b.type_float(32, None));
    let float4 = b.type_vector(float, 4);
    let pointer = b.type_pointer(None, StorageClass::Input, int);
    let index = b.variable(pointer, None, StorageClass::Input, None);
    b.decorate(index, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::VertexIndex)]);
    let pointer = b.type_pointer(None, StorageClass::Output, float4);
    let position = b.variable(pointer, None, StorageClass::Output, None);
    b.decorate(position, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::Position)]);
    let main = begin_main(&mut b);
    let number = b.load(int, None, index, None, []).unwrap();
    let mut place = |bit: u32, scale: f32| {
        let bit = b.constant_bit32(int, bit);
        let bits = b.bitwise_and(int, None, number, bit).unwrap();
        let value = b.convert_s_to_f(float, None, bits).unwrap();
        let (scale, one) =
            (b.constant_bit32(float, scale.to_bits()), b.constant_bit32(float, 1_f32.to_bits()));
        let scaled = b.f_mul(float, None, value, scale).unwrap();
        b.f_sub(float, None, scaled, one).unwrap()
    };
    let (x, y) = (place(1, 4.0), place(2, 2.0));
    let (zero, one) = (b.constant_bit32(float, 0), b.constant_bit32(float, 1_f32.to_bits()));
    let place = b.composite_construct(float4, None, [x, y, zero, one]).unwrap();
    b.store(position, place, None, []).unwrap();
    b.entry_point(ExecutionModel::Vertex, main, "main", [index, position]);
    assemble(b)
}

fn bound(b: &mut Builder, kind: Word, binding: u32) -> Word {
    let pointer = b.type_pointer(None, StorageClass::UniformConstant, kind);
    let variable = b.variable(pointer, None, StorageClass::UniformConstant, None);
    bind(b, variable, 0, binding);
    variable
}

pub(super) fn fragment(paint: Paint) -> Vec<u32> {
    let mut b = builder(3);
    let (int, float) = (b.type_int(32, 1), b.type_float(32, None));
    let float4 = b.type_vector(float, 4);
    let pointer = b.type_pointer(None, StorageClass::Output, float4);
    let out = b.variable(pointer, None, StorageClass::Output, None);
    b.decorate(out, Decoration::Location, [Operand::LiteralBit32(0)]);
    let number = |b: &mut Builder, value: f32| b.constant_bit32(float, value.to_bits());
    let (main, colour) = match paint {
        Paint::Colour(channels) => {
            let channels = channels.map(|channel| number(&mut b, channel));
            let colour = b.constant_composite(float4, channels);
            (begin_main(&mut b), colour)
        }
        Paint::Input { binding, index } => {
            b.capability(Capability::InputAttachment);
            let image = b.type_image(float, Dim::DimSubpassData, 0, 0, 0, 2, ImageFormat::Unknown, None);
            let input = bound(&mut b, image, binding);
            b.decorate(input, Decoration::InputAttachmentIndex, [Operand::LiteralBit32(index)]);
            let int2 = b.type_vector(int, 2);
            let zero = b.constant_bit32(int, 0);
            let here = b.constant_composite(int2, [zero, zero]);
            let main = begin_main(&mut b);
            let image = b.load(image, None, input, None, []).unwrap();
            let texel = b.image_read(float4, None, image, here, None, []).unwrap();
            (main, b.vector_shuffle(float4, None, texel, texel, [2, 1, 0, 3]).unwrap())
        }
        Paint::Combined { binding } => {
            let image = b.type_image(float, Dim::Dim2D, 0, 0, 0, 1, ImageFormat::Unknown, None);
            let combined = b.type_sampled_image(image);
            let picture = bound(&mut b, combined, binding);
            let float2 = b.type_vector(float, 2);
            let (zero, half) = (number(&mut b, 0.0), number(&mut b, 0.5));
            let middle = b.constant_composite(float2, [half, half]);
            let main = begin_main(&mut b);
            let combined = b.load(combined, None, picture, None, []).unwrap();
            let lod = [Operand::IdRef(zero)];
            let colour = b.image_sample_explicit_lod(float4, None, combined, middle, ImageOperands::LOD, lod);
            (main, colour.unwrap())
        }
    };
    b.store(out, colour, None, []).unwrap();
    b.entry_point(ExecutionModel::Fragment, main, "main", [out]);
    b.execution_mode(main, ExecutionMode::OriginUpperLeft, []);
    assemble(b)
}
