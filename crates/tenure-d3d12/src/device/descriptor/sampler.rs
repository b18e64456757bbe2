//! Translation of samplers to Direct3D.

use tenure_core::device::{AddressMode, BorderColor, Compare, Filter, SamplerInfo};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_COMPARISON_FUNC, D3D12_COMPARISON_FUNC_ALWAYS, D3D12_COMPARISON_FUNC_EQUAL,
    D3D12_COMPARISON_FUNC_GREATER, D3D12_COMPARISON_FUNC_GREATER_EQUAL, D3D12_COMPARISON_FUNC_LESS,
    D3D12_COMPARISON_FUNC_LESS_EQUAL, D3D12_COMPARISON_FUNC_NEVER, D3D12_COMPARISON_FUNC_NONE,
    D3D12_COMPARISON_FUNC_NOT_EQUAL, D3D12_FILTER, D3D12_FILTER_ANISOTROPIC,
    D3D12_FILTER_REDUCTION_TYPE_COMPARISON, D3D12_FILTER_REDUCTION_TYPE_SHIFT, D3D12_MAG_FILTER_SHIFT,
    D3D12_MIN_FILTER_SHIFT, D3D12_MIP_FILTER_SHIFT, D3D12_SAMPLER_DESC, D3D12_TEXTURE_ADDRESS_MODE,
    D3D12_TEXTURE_ADDRESS_MODE_BORDER, D3D12_TEXTURE_ADDRESS_MODE_CLAMP, D3D12_TEXTURE_ADDRESS_MODE_MIRROR,
    D3D12_TEXTURE_ADDRESS_MODE_WRAP,
};

/// The three filters and whether it compares, in bits. An anisotropic one is linear throughout.
fn filter(desc: &SamplerInfo) -> D3D12_FILTER {
    let bit = |filter: Filter, shift: u32| i32::from(filter == Filter::Linear) << shift;
    let plain = if desc.anisotropy > 1 {
        D3D12_FILTER_ANISOTROPIC.0
    } else {
        bit(desc.min, D3D12_MIN_FILTER_SHIFT)
            | bit(desc.mag, D3D12_MAG_FILTER_SHIFT)
            | bit(desc.mip, D3D12_MIP_FILTER_SHIFT)
    };
    let compares = i32::from(desc.compare.is_some()) * D3D12_FILTER_REDUCTION_TYPE_COMPARISON.0;
    D3D12_FILTER(plain | compares << D3D12_FILTER_REDUCTION_TYPE_SHIFT)
}

const fn address(mode: AddressMode) -> D3D12_TEXTURE_ADDRESS_MODE {
    match mode {
        AddressMode::Repeat => D3D12_TEXTURE_ADDRESS_MODE_WRAP,
        AddressMode::Mirror => D3D12_TEXTURE_ADDRESS_MODE_MIRROR,
        AddressMode::Clamp => D3D12_TEXTURE_ADDRESS_MODE_CLAMP,
        AddressMode::Border => D3D12_TEXTURE_ADDRESS_MODE_BORDER,
    }
}

/// Without a comparison: `NONE` if the runtime supports it, because its debug layer warns of any other unused
/// function.
const fn comparison(compare: Option<Compare>, knows_none: bool) -> D3D12_COMPARISON_FUNC {
    match compare {
        None if knows_none => D3D12_COMPARISON_FUNC_NONE,
        None | Some(Compare::Never) => D3D12_COMPARISON_FUNC_NEVER,
        Some(Compare::Less) => D3D12_COMPARISON_FUNC_LESS,
        Some(Compare::Equal) => D3D12_COMPARISON_FUNC_EQUAL,
        Some(Compare::LessOrEqual) => D3D12_COMPARISON_FUNC_LESS_EQUAL,
        Some(Compare::Greater) => D3D12_COMPARISON_FUNC_GREATER,
        Some(Compare::NotEqual) => D3D12_COMPARISON_FUNC_NOT_EQUAL,
        Some(Compare::GreaterOrEqual) => D3D12_COMPARISON_FUNC_GREATER_EQUAL,
        Some(Compare::Always) => D3D12_COMPARISON_FUNC_ALWAYS,
    }
}

const fn border(color: BorderColor) -> [f32; 4] {
    match color {
        BorderColor::TransparentBlack => [0.0; 4],
        BorderColor::OpaqueBlack => [0.0, 0.0, 0.0, 1.0],
        BorderColor::OpaqueWhite => [1.0; 4],
    }
}

/// Describes a validated sampler. `knows_none`: the runtime supports the comparison `NONE`.
pub(crate) fn sampler(desc: &SamplerInfo, knows_none: bool) -> D3D12_SAMPLER_DESC {
    let [across, down, deep] = desc.address.map(address);
    D3D12_SAMPLER_DESC {
        Filter: filter(desc),
        AddressU: across,
        AddressV: down,
        AddressW: deep,
        MipLODBias: desc.mip_bias,
        MaxAnisotropy: desc.anisotropy,
        ComparisonFunc: comparison(desc.compare, knows_none),
        BorderColor: border(desc.border),
        MinLOD: desc.min_lod,
        MaxLOD: desc.max_lod,
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::device::{Compare, Filter, SamplerInfo};
    use windows::Win32::Graphics::Direct3D12::{
        D3D12_COMPARISON_FUNC_GREATER, D3D12_COMPARISON_FUNC_NEVER, D3D12_COMPARISON_FUNC_NONE,
        D3D12_FILTER_ANISOTROPIC, D3D12_FILTER_COMPARISON_ANISOTROPIC,
        D3D12_FILTER_COMPARISON_MIN_MAG_LINEAR_MIP_POINT, D3D12_FILTER_MIN_LINEAR_MAG_POINT_MIP_LINEAR,
        D3D12_FILTER_MIN_MAG_MIP_LINEAR, D3D12_FILTER_MIN_MAG_MIP_POINT,
    };

    use super::{filter, sampler};

    #[test]
    fn filters_are_made_of_bits() {
        let trilinear = SamplerInfo::default();
        let (nearest, greater) = (Filter::Nearest, Some(Compare::Greater));
        for (desc, expected) in [
            (trilinear, D3D12_FILTER_MIN_MAG_MIP_LINEAR),
            (trilinear.mag(nearest).min(nearest).mip(nearest), D3D12_FILTER_MIN_MAG_MIP_POINT),
            (trilinear.mag(nearest), D3D12_FILTER_MIN_LINEAR_MAG_POINT_MIP_LINEAR),
            (trilinear.mip(nearest).compare(greater), D3D12_FILTER_COMPARISON_MIN_MAG_LINEAR_MIP_POINT),
            (trilinear.anisotropy(16), D3D12_FILTER_ANISOTROPIC),
            (trilinear.anisotropy(2).compare(greater), D3D12_FILTER_COMPARISON_ANISOTROPIC),
        ] {
            assert_eq!(filter(&desc), expected, "{desc:?}");
        }
        let never = Some(Compare::Never);
        for (compare, knows_none, expected) in [
            (greater, true, D3D12_COMPARISON_FUNC_GREATER),
            (never, true, D3D12_COMPARISON_FUNC_NEVER),
            (None, true, D3D12_COMPARISON_FUNC_NONE),
            (None, false, D3D12_COMPARISON_FUNC_NEVER),
        ] {
            let described = sampler(&trilinear.compare(compare), knows_none);
            assert_eq!(described.ComparisonFunc, expected, "{compare:?}, {knows_none}");
        }
    }
}
