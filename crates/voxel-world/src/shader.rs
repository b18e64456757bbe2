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
/// Group 0: the scene's constants at binding 0 (register b0), the texture at binding 1 (t0), its
/// sampler at binding 2 (s0).
pub struct Shaders {
    module: naga::Module,
    info: ModuleInfo,
}

impl Shaders {
    /// The name of the entry point of vertices.
    pub const VERTEX: &str = VERTEX;
    /// The name of the entry point of fragments.
    pub const FRAGMENT: &str = FRAGMENT;

    /// Parses and validates the shader.
    ///
    /// # Errors
    /// [`ShaderError`] with the position in the source.
    pub fn new() -> Result<Self, ShaderError> {
        let module = naga::front::wgsl::parse_str(SOURCE)
            .map_err(|error| ShaderError(error.emit_to_string_with_path(SOURCE, "voxel.wgsl")))?;
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
        let info = validator
            .validate(&module)
            .map_err(|error| ShaderError(error.emit_to_string_with_path(SOURCE, "voxel.wgsl")))?;
        Ok(Self { module, info })
    }

    /// SPIR-V of both stages. naga flips the y of clip space for Vulkan, so that the picture is the same as on
    /// Direct3D 12.
    ///
    /// # Errors
    /// [`ShaderError`].
    pub fn spirv(&self) -> Result<Vec<u32>, ShaderError> {
        let options = spv::Options { lang_version: (1, 3), ..spv::Options::default() };
        spv::write_vec(&self.module, &self.info, &options, None).map_err(refused)
    }

    /// HLSL of both stages, for `vs_5_0` and `ps_5_0`. Inputs of vertices have the semantics
    /// `LOC0` to `LOC3`.
    ///
    /// # Errors
    /// [`ShaderError`].
    pub fn hlsl(&self) -> Result<String, ShaderError> {
        let mut options = hlsl::Options { shader_model: hlsl::ShaderModel::V5_0, ..hlsl::Options::default() };
        for (binding, register) in [(0, 0), (1, 0), (2, 0)] {
            let target = hlsl::BindTarget { register, ..hlsl::BindTarget::default() };
            options.binding_map.insert(naga::ResourceBinding { group: 0, binding }, target);
        }
        let mut text = String::new();
        let stages = hlsl::PipelineOptions::default();
        hlsl::Writer::new(&mut text, &options, &stages)
            .write(&self.module, &self.info, None)
            .map_err(refused)?;
        plain_sampler(&text)
    }
}

/// Replaces naga's array of 2,048 samplers, which needs shader model 5.1, by one sampler in register s0.
fn plain_sampler(text: &str) -> Result<String, ShaderError> {
    let is_heap = |line: &&str| {
        line.contains("nagaSamplerHeap[2048]")
            || line.contains("nagaComparisonSamplerHeap")
            || line.starts_with("StructuredBuffer<uint> nagaGroup0SamplerIndexArray")
    };
    let plain = |line: &str| match line.strip_prefix("static const SamplerState ") {
        Some(sampler) => {
            let name = sampler.split_whitespace().next().unwrap_or_default();
            format!("SamplerState {name} : register(s0);\n")
        }
        None => format!("{line}\n"),
    };
    let text: String = text.lines().filter(|line| !is_heap(line)).map(plain).collect();
    if text.contains("nagaSampler") || text.contains("SamplerIndexArray") {
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
            "SamplerState tile_sampler : register(s0)",
            "register(b0)",
            "register(t0)",
            "LOC3",
        ] {
            assert!(hlsl.contains(expected), "no {expected:?} in\n{hlsl}");
        }
        assert!(!hlsl.contains("space"), "shader model 5.0 has no register spaces:\n{hlsl}");
    }
}
