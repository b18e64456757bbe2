//! The shader, translated to the languages of both APIs.

use naga::back::{hlsl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

const SOURCE: &str = include_str!("voxel.wgsl");

/// The names of the entry points, the same in every language.
const VERTEX: &str = "vertex";
const FRAGMENT: &str = "fragment";

/// An error of the translation, with naga's message.
#[derive(Debug, thiserror::Error)]
#[error("the shader cannot be translated: {0}")]
pub struct ShaderError(String);

/// The parsed and validated shader.
///
/// A binding is also the register in HLSL, in whichever group it is. The shader of the voxel world has its constants at
/// binding 0 (register b0), the texture at binding 1 (t1), and its sampler at binding 2 (s2).
pub struct Shaders {
    module: naga::Module,
    info: ModuleInfo,
}

impl Shaders {
    /// The name of the entry point of vertices.
    pub const VERTEX: &str = VERTEX;
    /// The name of the entry point of fragments.
    pub const FRAGMENT: &str = FRAGMENT;

    /// Parses and validates the shader of the voxel world.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn new() -> Result<Self, ShaderError> {
        Self::parse("voxel.wgsl", SOURCE)
    }

    /// Parses and validates WGSL from a file of that name.
    ///
    /// # Errors
    /// [`ShaderError`] with the position in the source.
    pub fn parse(file: &str, source: &str) -> Result<Self, ShaderError> {
        let module = naga::front::wgsl::parse_str(source)
            .map_err(|error| ShaderError(error.emit_to_string_with_path(source, file)))?;
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
        let info = validator
            .validate(&module)
            .map_err(|error| ShaderError(error.emit_to_string_with_path(source, file)))?;
        Ok(Self { module, info })
    }

    /// SPIR-V of all stages. naga flips the y of clip space for Vulkan, so that the picture is the same as on
    /// Direct3D 12.
    ///
    /// # Errors
    /// [`ShaderError`].
    pub fn spirv(&self) -> Result<Vec<u32>, ShaderError> {
        let options = spv::Options { lang_version: (1, 3), ..spv::Options::default() };
        spv::write_vec(&self.module, &self.info, &options, None).map_err(refused)
    }

    /// HLSL of all stages, for `vs_5_0` and `ps_5_0`. Inputs of vertices have the semantics `LOC0`, `LOC1` and so on.
    ///
    /// # Errors
    /// [`ShaderError`].
    pub fn hlsl(&self) -> Result<String, ShaderError> {
        let mut options = hlsl::Options { shader_model: hlsl::ShaderModel::V5_0, ..hlsl::Options::default() };
        for binding in self.module.global_variables.iter().filter_map(|(_, variable)| variable.binding) {
            let target = hlsl::BindTarget { register: binding.binding, ..hlsl::BindTarget::default() };
            options.binding_map.insert(binding, target);
        }
        let mut text = String::new();
        let stages = hlsl::PipelineOptions::default();
        hlsl::Writer::new(&mut text, &options, &stages)
            .write(&self.module, &self.info, None)
            .map_err(refused)?;
        plain_samplers(&text)
    }
}

/// Replaces naga's arrays of 2,048 samplers, which need shader model 5.1, by a register for each sampler.
fn plain_samplers(text: &str) -> Result<String, ShaderError> {
    let is_heap = |line: &&str| {
        [
            "SamplerState nagaSamplerHeap",
            "SamplerComparisonState nagaComparisonSamplerHeap",
            "StructuredBuffer<uint> naga",
        ]
        .iter()
        .any(|start| line.starts_with(start))
    };
    // `static const SamplerState NAME = nagaSamplerHeap[nagaGroup0SamplerIndexArray[REGISTER]];`
    let plain = |line: &str| {
        let sampler = line.strip_prefix("static const Sampler").and_then(|rest| rest.split_once(" = naga"));
        match sampler {
            Some((sampler, place)) => {
                let register = place.rsplit('[').next().unwrap_or_default().trim_end_matches("]];");
                format!("Sampler{sampler} : register(s{register});\n")
            }
            None => format!("{line}\n"),
        }
    };
    let text: String = text.lines().filter(|line| !is_heap(line)).map(plain).collect();
    if text.contains("SamplerHeap") || text.contains("SamplerIndexArray") {
        return Err(ShaderError(format!("samplers are not declared as expected:\n{text}")));
    }
    Ok(text)
}

fn refused(error: impl std::error::Error) -> ShaderError {
    ShaderError(error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn both_languages_have_both_entry_points() {
        let shaders = Shaders::new().unwrap();
        let spirv = shaders.spirv().unwrap();
        assert_eq!(spirv.first(), Some(&0x0723_0203), "the magic number");
        let hlsl = shaders.hlsl().unwrap();
        for expected in [
            " vertex(",
            " fragment(",
            "SamplerState tile_sampler : register(s2);",
            "register(b0)",
            "register(t1)",
            "LOC3",
        ] {
            assert!(hlsl.contains(expected), "no {expected:?} in\n{hlsl}");
        }
        assert!(!hlsl.contains("space"), "shader model 5.0 has no register spaces:\n{hlsl}");
    }

    #[test]
    fn a_binding_is_a_register_in_every_group() {
        let source = "@group(0) @binding(1) var shadows: texture_depth_2d;
            @group(0) @binding(2) var comparison: sampler_comparison;
            @group(1) @binding(3) var surface: texture_2d<f32>;
            @group(1) @binding(14) var smooth_sampler: sampler;
            @fragment fn fragment(@location(0) at: vec3<f32>) -> @location(0) vec4<f32> {
                let lit = textureSampleCompareLevel(shadows, comparison, at.xy, at.z);
                return textureSample(surface, smooth_sampler, at.xy) * lit;
            }";
        let hlsl = Shaders::parse("lit.wgsl", source).unwrap().hlsl().unwrap();
        for expected in [
            "SamplerComparisonState comparison : register(s2);",
            "SamplerState smooth_sampler : register(s14);",
            "shadows : register(t1)",
            "surface : register(t3)",
        ] {
            assert!(hlsl.contains(expected), "no {expected:?} in\n{hlsl}");
        }
        assert!(!hlsl.contains("space"), "shader model 5.0 has no register spaces:\n{hlsl}");
    }
}
