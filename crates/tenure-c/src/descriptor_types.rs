//! Values and structures of the header for samplers, tables and sets, with conversions to Rust.

use std::ffi::c_void;

use tenure_core::{
    AddressMode, BindingKind, BorderColor, Compare, DescriptorKind, Filter, SamplerDesc, SamplerInfo,
    SetBinding, ShaderStages, State,
};

use crate::convert::unknown;
use crate::object::{AccelerationStructure, Sampler, SetLayout, View};
use crate::pointer::In;
use crate::slot::Handle;
use crate::types::*;

/// The filter between texels or mips.
pub type tn_Filter = u32;
/// A weighted mean of the neighbours.
pub const TN_FILTER_LINEAR: tn_Filter = 0;
/// The nearest texel or mip.
pub const TN_FILTER_NEAREST: tn_Filter = 1;

/// Addressing outside the texture.
pub type tn_AddressMode = u32;
/// Repeats the texture.
pub const TN_ADDRESS_REPEAT: tn_AddressMode = 0;
/// Repeats the texture, mirrored.
pub const TN_ADDRESS_MIRROR: tn_AddressMode = 1;
/// Repeats the texel at the edge.
pub const TN_ADDRESS_CLAMP: tn_AddressMode = 2;
/// The border colour.
pub const TN_ADDRESS_BORDER: tn_AddressMode = 3;

/// The comparison of a sampler.
pub type tn_Compare = u32;
/// No comparison.
pub const TN_COMPARE_NONE: tn_Compare = 0;
/// Never true.
pub const TN_COMPARE_NEVER: tn_Compare = 1;
/// Less.
pub const TN_COMPARE_LESS: tn_Compare = 2;
/// Equal.
pub const TN_COMPARE_EQUAL: tn_Compare = 3;
/// Less or equal.
pub const TN_COMPARE_LESS_OR_EQUAL: tn_Compare = 4;
/// Greater.
pub const TN_COMPARE_GREATER: tn_Compare = 5;
/// Not equal.
pub const TN_COMPARE_NOT_EQUAL: tn_Compare = 6;
/// Greater or equal.
pub const TN_COMPARE_GREATER_OR_EQUAL: tn_Compare = 7;
/// Always true.
pub const TN_COMPARE_ALWAYS: tn_Compare = 8;

/// A border colour.
pub type tn_BorderColor = u32;
/// Transparent black.
pub const TN_BORDER_TRANSPARENT_BLACK: tn_BorderColor = 0;
/// Black.
pub const TN_BORDER_OPAQUE_BLACK: tn_BorderColor = 1;
/// White.
pub const TN_BORDER_OPAQUE_WHITE: tn_BorderColor = 2;

/// Flag of `tn_SamplerDesc`: a `max_lod` of 0 is a limit, so that only the first mip is read.
pub const TN_SAMPLER_MAX_LOD: u32 = 1 << 0;

/// A sampler. Zeroed: trilinear, repeating, all mips.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SamplerDesc {
    /// `sizeof(tn_SamplerDesc)`.
    pub struct_size: u32,
    /// `TN_SAMPLER_MAX_LOD`.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The filter for magnification, `TN_FILTER_…`.
    pub mag: tn_Filter,
    /// The filter for minification.
    pub min: tn_Filter,
    /// The filter between mips.
    pub mip: tn_Filter,
    /// `TN_ADDRESS_…` in x, y and z.
    pub address: [tn_AddressMode; 3],
    /// Added to the mip level; -16 to 15.99.
    pub mip_bias: f32,
    /// The maximum anisotropy, up to `tn_DeviceProperties.anisotropy`; 0 or 1: off.
    pub anisotropy: u32,
    /// `TN_COMPARE_…`.
    pub compare: tn_Compare,
    /// The finest mip level; at least 0.
    pub min_lod: f32,
    /// The coarsest mip level, not below `min_lod`; 0: no limit.
    pub max_lod: f32,
    /// `TN_BORDER_…`, for `TN_ADDRESS_BORDER`.
    pub border: tn_BorderColor,
    /// The name in messages and reports.
    pub name: tn_Str,
}

/// The type of the descriptors of a binding.
pub type tn_BindingKind = u32;
/// Constants (uniform buffers).
pub const TN_BINDING_CONSTANTS: tn_BindingKind = 1;
/// Constants with an offset passed when the set is bound (dynamic uniform buffers).
pub const TN_BINDING_DYNAMIC_CONSTANTS: tn_BindingKind = 2;
/// Raw or structured buffers, read-only or writable (storage buffers).
pub const TN_BINDING_BUFFER: tn_BindingKind = 3;
/// Typed buffers, read.
pub const TN_BINDING_TYPED_BUFFER: tn_BindingKind = 4;
/// Typed buffers, read and written.
pub const TN_BINDING_TYPED_STORAGE_BUFFER: tn_BindingKind = 5;
/// Textures, read.
pub const TN_BINDING_TEXTURE: tn_BindingKind = 6;
/// Textures, read and written.
pub const TN_BINDING_STORAGE_TEXTURE: tn_BindingKind = 7;
/// Samplers.
pub const TN_BINDING_SAMPLER: tn_BindingKind = 8;
/// Textures, each combined with its sampler (combined image samplers).
pub const TN_BINDING_COMBINED_SAMPLER: tn_BindingKind = 9;
/// Texels of the pass's own targets, for pixel shaders.
pub const TN_BINDING_INPUT_ATTACHMENT: tn_BindingKind = 10;
/// Acceleration structures.
pub const TN_BINDING_ACCELERATION_STRUCTURE: tn_BindingKind = 11;

/// A binding of a set.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SetBinding {
    /// The number in shaders.
    pub binding: u32,
    /// `TN_BINDING_…`.
    pub kind: tn_BindingKind,
    /// The array size; 0: 1.
    pub count: u32,
}

/// The layout of descriptor sets.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SetLayoutDesc {
    /// `sizeof(tn_SetLayoutDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The bindings, in any order.
    pub bindings: In<tn_SetBinding>,
    /// Number of bindings; at least 1.
    pub binding_count: usize,
    /// The name in messages and reports.
    pub name: tn_Str,
}

/// A descriptor: a view, a sampler, both (in sets only), constants of a recording, or an acceleration structure.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Bind {
    /// The binding of a set; unused in tables.
    pub binding: u32,
    /// The element of the binding's array; unused in tables.
    pub element: u32,
    /// A view.
    pub view: Handle<View>,
    /// A sampler.
    pub sampler: Handle<Sampler>,
    /// In `tn_recording_descriptors` and `tn_recording_descriptor_set` only: constants, copied to memory of the recording.
    pub data: In<c_void>,
    /// Bytes of `data`.
    pub data_size: usize,
    /// An acceleration structure, in sets and in tables of Direct3D 12.
    pub structure: Handle<AccelerationStructure>,
}

/// A descriptor table: consecutive descriptors that shaders access by index.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_DescriptorTableDesc {
    /// `sizeof(tn_DescriptorTableDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The descriptors in order: either all views or all samplers.
    pub binds: In<tn_Bind>,
    /// Number of descriptors; at least 1.
    pub bind_count: usize,
    /// The name in messages and reports.
    pub name: tn_Str,
}

/// A descriptor set.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_DescriptorSetDesc {
    /// `sizeof(tn_DescriptorSetDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The layout.
    pub layout: Handle<SetLayout>,
    /// The descriptors. Shaders must not use other descriptors of the layout.
    pub binds: In<tn_Bind>,
    /// Number of descriptors.
    pub bind_count: usize,
    /// The name in messages and reports.
    pub name: tn_Str,
}

/// The kind of a shader-visible descriptor heap.
pub type tn_DescriptorKind = u32;
/// Views.
pub const TN_DESCRIPTOR_RESOURCE: tn_DescriptorKind = 0;
/// Samplers.
pub const TN_DESCRIPTOR_SAMPLER: tn_DescriptorKind = 1;

descs! {
    tn_SamplerDesc: TN_SAMPLER_MAX_LOD,
    tn_SetLayoutDesc: 0,
    tn_DescriptorTableDesc: 0,
    tn_DescriptorSetDesc: 0,
}

fn filter(what: &str, filter: tn_Filter) -> Result<Filter, Failure> {
    match filter {
        TN_FILTER_LINEAR => Ok(Filter::Linear),
        TN_FILTER_NEAREST => Ok(Filter::Nearest),
        _ => unknown(what, filter),
    }
}

fn address(mode: tn_AddressMode) -> Result<AddressMode, Failure> {
    match mode {
        TN_ADDRESS_REPEAT => Ok(AddressMode::Repeat),
        TN_ADDRESS_MIRROR => Ok(AddressMode::Mirror),
        TN_ADDRESS_CLAMP => Ok(AddressMode::Clamp),
        TN_ADDRESS_BORDER => Ok(AddressMode::Border),
        _ => unknown("address", mode),
    }
}

fn compare(compare: tn_Compare) -> Result<Option<Compare>, Failure> {
    match compare {
        TN_COMPARE_NONE => Ok(None),
        TN_COMPARE_NEVER => Ok(Some(Compare::Never)),
        TN_COMPARE_LESS => Ok(Some(Compare::Less)),
        TN_COMPARE_EQUAL => Ok(Some(Compare::Equal)),
        TN_COMPARE_LESS_OR_EQUAL => Ok(Some(Compare::LessOrEqual)),
        TN_COMPARE_GREATER => Ok(Some(Compare::Greater)),
        TN_COMPARE_NOT_EQUAL => Ok(Some(Compare::NotEqual)),
        TN_COMPARE_GREATER_OR_EQUAL => Ok(Some(Compare::GreaterOrEqual)),
        TN_COMPARE_ALWAYS => Ok(Some(Compare::Always)),
        _ => unknown("compare", compare),
    }
}

fn border(border: tn_BorderColor) -> Result<BorderColor, Failure> {
    match border {
        TN_BORDER_TRANSPARENT_BLACK => Ok(BorderColor::TransparentBlack),
        TN_BORDER_OPAQUE_BLACK => Ok(BorderColor::OpaqueBlack),
        TN_BORDER_OPAQUE_WHITE => Ok(BorderColor::OpaqueWhite),
        _ => unknown("border", border),
    }
}

pub(crate) fn sampler_desc(desc: &tn_SamplerDesc) -> Result<SamplerDesc, Failure> {
    let mut info = SamplerInfo::default();
    info.mag = filter("mag", desc.mag)?;
    info.min = filter("min", desc.min)?;
    info.mip = filter("mip", desc.mip)?;
    let [x, y, z] = desc.address;
    info.address = [address(x)?, address(y)?, address(z)?];
    info.mip_bias = desc.mip_bias;
    info.anisotropy = desc.anisotropy.max(1);
    info.compare = compare(desc.compare)?;
    info.min_lod = desc.min_lod;
    // Also true for -0.
    if desc.max_lod != 0.0 || desc.flags & TN_SAMPLER_MAX_LOD != 0 {
        info.max_lod = desc.max_lod;
    }
    info.border = border(desc.border)?;
    Ok(SamplerDesc::new(info).name(desc.name.name()?))
}

fn binding_kind(kind: tn_BindingKind) -> Result<BindingKind, Failure> {
    let index = usize::try_from(kind).ok().and_then(|kind| kind.checked_sub(1));
    let found = index.and_then(|index| BindingKind::ALL.get(index));
    found.map_or_else(|| unknown("kind", kind), |found| Ok(*found))
}

pub(crate) fn set_binding(binding: &tn_SetBinding) -> Result<SetBinding, Failure> {
    Ok(SetBinding::new(binding.binding, binding_kind(binding.kind)?).count(binding.count.max(1)))
}

pub(crate) fn descriptor_kind(kind: tn_DescriptorKind) -> Result<DescriptorKind, Failure> {
    match kind {
        TN_DESCRIPTOR_RESOURCE => Ok(DescriptorKind::Resource),
        TN_DESCRIPTOR_SAMPLER => Ok(DescriptorKind::Sampler),
        _ => unknown("kind", kind),
    }
}

/// The shader stages of a read state.
pub(crate) fn shaders(bits: tn_State) -> Result<ShaderStages, Failure> {
    let known = [
        (State::SHADER_READ, ShaderStages::All),
        (State::NON_PIXEL_SHADER, ShaderStages::NonPixel),
        (State::PIXEL_SHADER, ShaderStages::Pixel),
        (State::VERTEX_SHADER, ShaderStages::Vertex),
        (State::MESH_SHADER, ShaderStages::Mesh),
        (State::COMPUTE_SHADER, ShaderStages::Compute),
        (State::RAY_TRACING_SHADER, ShaderStages::RayTracing),
    ];
    known.iter().find(|(state, _)| state.bits() == bits).map(|(_, shaders)| *shaders).ok_or_else(|| {
        let text = format!(
            "state = {bits:#x}: of a view, table or set it is TN_STATE_SHADER_READ, TN_STATE_NON_PIXEL_SHADER, or the read \
             state of one kind of shaders"
        );
        Failure::new(TN_ERROR_ENUM, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_kinds_have_the_same_numbers_in_both_languages() {
        let known = [
            (TN_BINDING_CONSTANTS, BindingKind::Constants),
            (TN_BINDING_DYNAMIC_CONSTANTS, BindingKind::DynamicConstants),
            (TN_BINDING_BUFFER, BindingKind::Buffer),
            (TN_BINDING_TYPED_BUFFER, BindingKind::TypedBuffer),
            (TN_BINDING_TYPED_STORAGE_BUFFER, BindingKind::TypedStorageBuffer),
            (TN_BINDING_TEXTURE, BindingKind::Texture),
            (TN_BINDING_STORAGE_TEXTURE, BindingKind::StorageTexture),
            (TN_BINDING_SAMPLER, BindingKind::Sampler),
            (TN_BINDING_COMBINED_SAMPLER, BindingKind::CombinedSampler),
            (TN_BINDING_INPUT_ATTACHMENT, BindingKind::InputAttachment),
            (TN_BINDING_ACCELERATION_STRUCTURE, BindingKind::AccelerationStructure),
        ];
        assert_eq!(known.len(), BindingKind::ALL.len());
        for (number, kind) in known {
            assert_eq!(binding_kind(number).ok(), Some(kind));
        }
        assert!(binding_kind(0).is_err() && binding_kind(12).is_err());
    }

    #[test]
    fn a_zeroed_sampler_is_the_default() {
        let none = tn_Str::empty();
        let zeroed = tn_SamplerDesc {
            struct_size: 0,
            flags: 0,
            next: In::NULL,
            mag: 0,
            min: 0,
            mip: 0,
            address: [0; 3],
            mip_bias: 0.0,
            anisotropy: 0,
            compare: 0,
            min_lod: 0.0,
            max_lod: 0.0,
            border: 0,
            name: none,
        };
        assert_eq!(sampler_desc(&zeroed).map(|desc| desc.info).ok(), Some(SamplerInfo::default()));
        let limited = tn_SamplerDesc { flags: TN_SAMPLER_MAX_LOD, ..zeroed };
        assert_eq!(sampler_desc(&limited).map(|desc| desc.info.max_lod).ok(), Some(0.0));
    }

    #[test]
    fn states_name_shaders() {
        assert_eq!(State::SHADER_READ.bits(), TN_STATE_SHADER_READ);
        assert_eq!(State::NON_PIXEL_SHADER.bits(), TN_STATE_NON_PIXEL_SHADER);
        assert_eq!(shaders(TN_STATE_SHADER_READ).ok(), Some(ShaderStages::All));
        assert_eq!(shaders(TN_STATE_COMPUTE_SHADER).ok(), Some(ShaderStages::Compute));
        for refused in [0, TN_STATE_COPY_SRC, TN_STATE_PIXEL_SHADER | TN_STATE_COMPUTE_SHADER] {
            assert!(shaders(refused).is_err(), "{refused:#x}");
        }
    }
}
