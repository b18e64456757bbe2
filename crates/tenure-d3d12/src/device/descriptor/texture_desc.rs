//! Translation of texture views to Direct3D.

use tenure_core::device::{TextureInfo, TextureView, ViewShape};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING, D3D12_DEPTH_STENCIL_VIEW_DESC, D3D12_DEPTH_STENCIL_VIEW_DESC_0,
    D3D12_DSV_DIMENSION_TEXTURE2D, D3D12_DSV_DIMENSION_TEXTURE2DARRAY, D3D12_DSV_DIMENSION_TEXTURE2DMS,
    D3D12_DSV_DIMENSION_TEXTURE2DMSARRAY, D3D12_DSV_FLAGS, D3D12_RENDER_TARGET_VIEW_DESC,
    D3D12_RENDER_TARGET_VIEW_DESC_0, D3D12_RTV_DIMENSION_TEXTURE2D, D3D12_RTV_DIMENSION_TEXTURE2DARRAY,
    D3D12_RTV_DIMENSION_TEXTURE2DMS, D3D12_RTV_DIMENSION_TEXTURE2DMSARRAY, D3D12_RTV_DIMENSION_TEXTURE3D,
    D3D12_SHADER_RESOURCE_VIEW_DESC, D3D12_SHADER_RESOURCE_VIEW_DESC_0, D3D12_SRV_DIMENSION_TEXTURE2D,
    D3D12_SRV_DIMENSION_TEXTURE2DARRAY, D3D12_SRV_DIMENSION_TEXTURE2DMS,
    D3D12_SRV_DIMENSION_TEXTURE2DMSARRAY, D3D12_SRV_DIMENSION_TEXTURE3D, D3D12_SRV_DIMENSION_TEXTURECUBE,
    D3D12_SRV_DIMENSION_TEXTURECUBEARRAY, D3D12_TEX2D_ARRAY_DSV, D3D12_TEX2D_ARRAY_RTV,
    D3D12_TEX2D_ARRAY_SRV, D3D12_TEX2D_ARRAY_UAV, D3D12_TEX2D_DSV, D3D12_TEX2D_RTV, D3D12_TEX2D_SRV,
    D3D12_TEX2D_UAV, D3D12_TEX2DMS_ARRAY_DSV, D3D12_TEX2DMS_ARRAY_RTV, D3D12_TEX2DMS_ARRAY_SRV,
    D3D12_TEX3D_RTV, D3D12_TEX3D_SRV, D3D12_TEX3D_UAV, D3D12_TEXCUBE_ARRAY_SRV, D3D12_TEXCUBE_SRV,
    D3D12_UAV_DIMENSION_TEXTURE2D, D3D12_UAV_DIMENSION_TEXTURE2DARRAY, D3D12_UAV_DIMENSION_TEXTURE3D,
    D3D12_UNORDERED_ACCESS_VIEW_DESC, D3D12_UNORDERED_ACCESS_VIEW_DESC_0,
};
use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT;

/// The dimension of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    D2,
    D2Array,
    Multisampled,
    MultisampledArray,
    Cube,
    CubeArray,
    D3,
}

impl Shape {
    /// The dimension of a view of the requested shape. Only arrays can begin at another layer than the first, so
    /// one layer or one cube further on is an array of one, which shaders read as the layer or the cube.
    pub(crate) const fn of(view: &TextureView, info: &TextureInfo) -> Self {
        let (is_first, is_multisampled) = (view.first_layer == 0, info.samples > 1);
        match view.shape {
            ViewShape::D2 if is_first && is_multisampled => Self::Multisampled,
            ViewShape::D2 if is_first => Self::D2,
            ViewShape::D2 | ViewShape::D2Array if is_multisampled => Self::MultisampledArray,
            ViewShape::D2 | ViewShape::D2Array => Self::D2Array,
            ViewShape::Cube if is_first => Self::Cube,
            ViewShape::Cube | ViewShape::CubeArray => Self::CubeArray,
            ViewShape::D3 => Self::D3,
        }
    }
}

/// The viewed part of a texture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) format: DXGI_FORMAT,
    /// The component mapping.
    pub(crate) components: u32,
    /// 1: stencil.
    pub(crate) plane: u32,
    pub(crate) first_mip: u32,
    pub(crate) mips: u32,
    pub(crate) first_layer: u32,
    pub(crate) layers: u32,
    /// Slices of a volume at the first mip.
    pub(crate) depth: u32,
}

impl Part {
    /// The smallest part of no texture at all.
    pub(crate) const fn null(format: DXGI_FORMAT, shape: Shape) -> Self {
        let layers = if matches!(shape, Shape::Cube | Shape::CubeArray) { 6 } else { 1 };
        let components = D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING;
        Self { format, components, plane: 0, first_mip: 0, mips: 1, first_layer: 0, layers, depth: 1 }
    }
}

/// A view that shaders read (SRV).
pub(crate) fn sampled(shape: Shape, part: &Part) -> D3D12_SHADER_RESOURCE_VIEW_DESC {
    let Part { first_mip, mips, plane, first_layer, layers, .. } = *part;
    let (dimension, view) = match shape {
        Shape::D2 => {
            let view = D3D12_TEX2D_SRV {
                MostDetailedMip: first_mip,
                MipLevels: mips,
                PlaneSlice: plane,
                ResourceMinLODClamp: 0.0,
            };
            (D3D12_SRV_DIMENSION_TEXTURE2D, D3D12_SHADER_RESOURCE_VIEW_DESC_0 { Texture2D: view })
        }
        Shape::D2Array => {
            let view = D3D12_TEX2D_ARRAY_SRV {
                MostDetailedMip: first_mip,
                MipLevels: mips,
                FirstArraySlice: first_layer,
                ArraySize: layers,
                PlaneSlice: plane,
                ResourceMinLODClamp: 0.0,
            };
            (D3D12_SRV_DIMENSION_TEXTURE2DARRAY, D3D12_SHADER_RESOURCE_VIEW_DESC_0 { Texture2DArray: view })
        }
        Shape::Multisampled => {
            (D3D12_SRV_DIMENSION_TEXTURE2DMS, D3D12_SHADER_RESOURCE_VIEW_DESC_0::default())
        }
        Shape::MultisampledArray => {
            let view = D3D12_TEX2DMS_ARRAY_SRV { FirstArraySlice: first_layer, ArraySize: layers };
            (
                D3D12_SRV_DIMENSION_TEXTURE2DMSARRAY,
                D3D12_SHADER_RESOURCE_VIEW_DESC_0 { Texture2DMSArray: view },
            )
        }
        Shape::Cube => {
            let view =
                D3D12_TEXCUBE_SRV { MostDetailedMip: first_mip, MipLevels: mips, ResourceMinLODClamp: 0.0 };
            (D3D12_SRV_DIMENSION_TEXTURECUBE, D3D12_SHADER_RESOURCE_VIEW_DESC_0 { TextureCube: view })
        }
        Shape::CubeArray => {
            let view = D3D12_TEXCUBE_ARRAY_SRV {
                MostDetailedMip: first_mip,
                MipLevels: mips,
                First2DArrayFace: first_layer,
                NumCubes: layers / 6,
                ResourceMinLODClamp: 0.0,
            };
            (
                D3D12_SRV_DIMENSION_TEXTURECUBEARRAY,
                D3D12_SHADER_RESOURCE_VIEW_DESC_0 { TextureCubeArray: view },
            )
        }
        Shape::D3 => {
            let view =
                D3D12_TEX3D_SRV { MostDetailedMip: first_mip, MipLevels: mips, ResourceMinLODClamp: 0.0 };
            (D3D12_SRV_DIMENSION_TEXTURE3D, D3D12_SHADER_RESOURCE_VIEW_DESC_0 { Texture3D: view })
        }
    };
    D3D12_SHADER_RESOURCE_VIEW_DESC {
        Format: part.format,
        ViewDimension: dimension,
        Shader4ComponentMapping: part.components,
        Anonymous: view,
    }
}

/// A view that shaders read and write (UAV); `None` if UAVs do not support the shape.
pub(crate) fn storage(shape: Shape, part: &Part) -> Option<D3D12_UNORDERED_ACCESS_VIEW_DESC> {
    let Part { first_mip, plane, first_layer, layers, .. } = *part;
    let (dimension, view) = match shape {
        Shape::D2 => {
            let view = D3D12_TEX2D_UAV { MipSlice: first_mip, PlaneSlice: plane };
            (D3D12_UAV_DIMENSION_TEXTURE2D, D3D12_UNORDERED_ACCESS_VIEW_DESC_0 { Texture2D: view })
        }
        Shape::D2Array => {
            let view = D3D12_TEX2D_ARRAY_UAV {
                MipSlice: first_mip,
                FirstArraySlice: first_layer,
                ArraySize: layers,
                PlaneSlice: plane,
            };
            (D3D12_UAV_DIMENSION_TEXTURE2DARRAY, D3D12_UNORDERED_ACCESS_VIEW_DESC_0 { Texture2DArray: view })
        }
        Shape::D3 => {
            let view = D3D12_TEX3D_UAV { MipSlice: first_mip, FirstWSlice: 0, WSize: part.depth };
            (D3D12_UAV_DIMENSION_TEXTURE3D, D3D12_UNORDERED_ACCESS_VIEW_DESC_0 { Texture3D: view })
        }
        Shape::Multisampled | Shape::MultisampledArray | Shape::Cube | Shape::CubeArray => return None,
    };
    Some(D3D12_UNORDERED_ACCESS_VIEW_DESC { Format: part.format, ViewDimension: dimension, Anonymous: view })
}

/// A view that draws write (RTV); `None` if RTVs do not support the shape.
pub(crate) fn render_target(shape: Shape, part: &Part) -> Option<D3D12_RENDER_TARGET_VIEW_DESC> {
    let Part { first_mip, plane, first_layer, layers, .. } = *part;
    let (dimension, view) = match shape {
        Shape::D2 => {
            let view = D3D12_TEX2D_RTV { MipSlice: first_mip, PlaneSlice: plane };
            (D3D12_RTV_DIMENSION_TEXTURE2D, D3D12_RENDER_TARGET_VIEW_DESC_0 { Texture2D: view })
        }
        Shape::D2Array => {
            let view = D3D12_TEX2D_ARRAY_RTV {
                MipSlice: first_mip,
                FirstArraySlice: first_layer,
                ArraySize: layers,
                PlaneSlice: plane,
            };
            (D3D12_RTV_DIMENSION_TEXTURE2DARRAY, D3D12_RENDER_TARGET_VIEW_DESC_0 { Texture2DArray: view })
        }
        Shape::Multisampled => (D3D12_RTV_DIMENSION_TEXTURE2DMS, D3D12_RENDER_TARGET_VIEW_DESC_0::default()),
        Shape::MultisampledArray => {
            let view = D3D12_TEX2DMS_ARRAY_RTV { FirstArraySlice: first_layer, ArraySize: layers };
            (D3D12_RTV_DIMENSION_TEXTURE2DMSARRAY, D3D12_RENDER_TARGET_VIEW_DESC_0 { Texture2DMSArray: view })
        }
        Shape::D3 => {
            let view = D3D12_TEX3D_RTV { MipSlice: first_mip, FirstWSlice: 0, WSize: part.depth };
            (D3D12_RTV_DIMENSION_TEXTURE3D, D3D12_RENDER_TARGET_VIEW_DESC_0 { Texture3D: view })
        }
        Shape::Cube | Shape::CubeArray => return None,
    };
    Some(D3D12_RENDER_TARGET_VIEW_DESC { Format: part.format, ViewDimension: dimension, Anonymous: view })
}

/// A view that draws test against (DSV); `None` if DSVs do not support the shape.
pub(crate) fn depth_stencil(
    shape: Shape,
    part: &Part,
    flags: D3D12_DSV_FLAGS,
) -> Option<D3D12_DEPTH_STENCIL_VIEW_DESC> {
    let Part { first_mip, first_layer, layers, .. } = *part;
    let (dimension, view) = match shape {
        Shape::D2 => {
            let view = D3D12_TEX2D_DSV { MipSlice: first_mip };
            (D3D12_DSV_DIMENSION_TEXTURE2D, D3D12_DEPTH_STENCIL_VIEW_DESC_0 { Texture2D: view })
        }
        Shape::D2Array => {
            let view = D3D12_TEX2D_ARRAY_DSV {
                MipSlice: first_mip,
                FirstArraySlice: first_layer,
                ArraySize: layers,
            };
            (D3D12_DSV_DIMENSION_TEXTURE2DARRAY, D3D12_DEPTH_STENCIL_VIEW_DESC_0 { Texture2DArray: view })
        }
        Shape::Multisampled => (D3D12_DSV_DIMENSION_TEXTURE2DMS, D3D12_DEPTH_STENCIL_VIEW_DESC_0::default()),
        Shape::MultisampledArray => {
            let view = D3D12_TEX2DMS_ARRAY_DSV { FirstArraySlice: first_layer, ArraySize: layers };
            (D3D12_DSV_DIMENSION_TEXTURE2DMSARRAY, D3D12_DEPTH_STENCIL_VIEW_DESC_0 { Texture2DMSArray: view })
        }
        Shape::Cube | Shape::CubeArray | Shape::D3 => return None,
    };
    Some(D3D12_DEPTH_STENCIL_VIEW_DESC {
        Format: part.format,
        ViewDimension: dimension,
        Flags: flags,
        Anonymous: view,
    })
}
