//! The probes of the suite, in HLSL.

use conformance::{Look, Probe, Through};
use tenure_d3d12::{DescriptorHeap, Device, List};

use crate::shaders::{Register, Shader, Shaders};

pub(crate) const CONSTANTS: Shader = Shader {
    declared: "cbuffer source : register(b0) { uint4 words; }",
    seen: "words",
    registers: &[Register::Constants],
    otherwise: None,
};
pub(crate) const BUFFER: Shader = Shader {
    declared: "ByteAddressBuffer source : register(t0);",
    seen: "source.Load4(0)",
    registers: &[Register::Read],
    otherwise: None,
};
pub(crate) const STORAGE_BUFFER: Shader = Shader {
    declared: "RWByteAddressBuffer source : register(u1);",
    seen: "source.Load4(0)",
    registers: &[Register::ReadWrite],
    otherwise: Some((
        "RWBuffer<uint> source : register(u1);",
        "uint4(source[0], source[1], source[2], source[3])",
    )),
};
pub(crate) const TYPED_BUFFER: Shader = Shader {
    declared: "Buffer<uint> source : register(t0);",
    seen: "source[0].xxxx",
    registers: &[Register::Read],
    otherwise: None,
};
pub(crate) const TYPED_STORAGE_BUFFER: Shader = Shader {
    declared: "RWBuffer<uint> source : register(u1);",
    seen: "source[0].xxxx",
    registers: &[Register::ReadWrite],
    otherwise: None,
};
pub(crate) const TEXTURE: Shader = Shader {
    declared: "Texture2D<uint> source : register(t0);",
    seen: "source.Load(int3(0, 0, 0)).xxxx",
    registers: &[Register::Read],
    otherwise: Some(("Texture2DArray<uint> source : register(t0);", "source.Load(int4(0, 0, 0, 0)).xxxx")),
};
pub(crate) const STORAGE_TEXTURE: Shader = Shader {
    declared: "RWTexture2D<uint> source : register(u1);",
    seen: "source[uint2(0, 0)].xxxx",
    registers: &[Register::ReadWrite],
    otherwise: Some(("RWTexture2DArray<uint> source : register(u1);", "source[uint3(0, 0, 0)].xxxx")),
};
pub(crate) const SAMPLED: Shader = Shader {
    declared: "Texture2D<float4> image : register(t0); SamplerState source : register(s0);",
    seen: "uint4(round(image.SampleLevel(source, float2(0.5, 0.5), 0) * 255.0))",
    registers: &[Register::Read, Register::Sampler],
    otherwise: None,
};

fn place<'a>(through: &Through<'a, Device>) -> (&'a DescriptorHeap, u32) {
    match through {
        Through::Heap { heap, index } => (heap, *index),
        Through::Set { .. } => unreachable!("Direct3D 12 has no descriptor sets"),
    }
}

impl Shaders {
    pub(crate) fn probe(&self, list: &List, probe: &Probe<'_, Device>) {
        let (at, out) = (place(&probe.through), (probe.out, probe.offset));
        let shader = match &probe.look {
            Look::Constants => CONSTANTS,
            Look::DynamicConstants { .. } | Look::CombinedSampler => {
                unreachable!("Direct3D 12 has no descriptor sets")
            }
            Look::Buffer => BUFFER,
            Look::StorageBuffer => STORAGE_BUFFER,
            Look::TypedBuffer => TYPED_BUFFER,
            Look::TypedStorageBuffer => TYPED_STORAGE_BUFFER,
            Look::Texture => TEXTURE,
            Look::StorageTexture => STORAGE_TEXTURE,
            Look::Sampler { texture } => return self.record(list, SAMPLED, &[place(texture), at], out),
        };
        self.record(list, shader, &[at], out);
    }
}
