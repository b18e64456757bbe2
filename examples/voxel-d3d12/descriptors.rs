//! Descriptors of the targets and the texture.

use tenure::Texture;
use tenure::d3d12::{Device, to_dxgi_format};
use voxel_world::{Result, Targets};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CPU_DESCRIPTOR_HANDLE, D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING, D3D12_DEPTH_STENCIL_VIEW_DESC,
    D3D12_DESCRIPTOR_HEAP_DESC, D3D12_DESCRIPTOR_HEAP_FLAG_NONE, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE,
    D3D12_DESCRIPTOR_HEAP_FLAGS, D3D12_DESCRIPTOR_HEAP_TYPE, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
    D3D12_DESCRIPTOR_HEAP_TYPE_DSV, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, D3D12_DSV_DIMENSION_TEXTURE2DMS,
    D3D12_RENDER_TARGET_VIEW_DESC, D3D12_RTV_DIMENSION_TEXTURE2DMS, D3D12_SHADER_RESOURCE_VIEW_DESC,
    D3D12_SHADER_RESOURCE_VIEW_DESC_0, D3D12_SRV_DIMENSION_TEXTURE2DARRAY, D3D12_TEX2D_ARRAY_SRV,
    ID3D12DescriptorHeap,
};

/// A heap of one descriptor for each use.
pub(crate) struct Descriptors {
    colour: ID3D12DescriptorHeap,
    depth: ID3D12DescriptorHeap,
    /// Visible to shaders.
    pub(crate) tiles: ID3D12DescriptorHeap,
}

impl Descriptors {
    pub(crate) fn new(device: &Device, targets: &Targets<Device>, tiles: &Texture<Device>) -> Result<Self> {
        let hidden = D3D12_DESCRIPTOR_HEAP_FLAG_NONE;
        let descriptors = Self {
            colour: heap(device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, hidden)?,
            depth: heap(device, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, hidden)?,
            tiles: heap(
                device,
                D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
                D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE,
            )?,
        };
        descriptors.describe_targets(device, targets);
        descriptors.describe_tiles(device, tiles);
        Ok(descriptors)
    }

    pub(crate) fn colour(&self) -> D3D12_CPU_DESCRIPTOR_HANDLE {
        first(&self.colour)
    }

    pub(crate) fn depth(&self) -> D3D12_CPU_DESCRIPTOR_HANDLE {
        first(&self.depth)
    }

    /// Describes the targets, in place of earlier ones.
    pub(crate) fn describe_targets(&self, device: &Device, targets: &Targets<Device>) {
        let colour = D3D12_RENDER_TARGET_VIEW_DESC {
            Format: to_dxgi_format(targets.colour.info().format),
            ViewDimension: D3D12_RTV_DIMENSION_TEXTURE2DMS,
            ..Default::default()
        };
        let depth = D3D12_DEPTH_STENCIL_VIEW_DESC {
            Format: to_dxgi_format(targets.depth.info().format),
            ViewDimension: D3D12_DSV_DIMENSION_TEXTURE2DMS,
            ..Default::default()
        };
        let device = device.raw();
        // SAFETY: the resources are alive and have these formats and several samples; the descriptors
        // are in heaps of their kinds.
        unsafe {
            let view = Some(&raw const colour);
            device.CreateRenderTargetView(targets.colour.raw().raw(), view, self.colour());
            let view = Some(&raw const depth);
            device.CreateDepthStencilView(targets.depth.raw().raw(), view, self.depth());
        }
    }

    fn describe_tiles(&self, device: &Device, tiles: &Texture<Device>) {
        let info = tiles.info();
        let array =
            D3D12_TEX2D_ARRAY_SRV { MipLevels: info.mips, ArraySize: info.layers(), ..Default::default() };
        let view = D3D12_SHADER_RESOURCE_VIEW_DESC {
            Format: to_dxgi_format(info.format),
            ViewDimension: D3D12_SRV_DIMENSION_TEXTURE2DARRAY,
            Shader4ComponentMapping: D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING,
            Anonymous: D3D12_SHADER_RESOURCE_VIEW_DESC_0 { Texture2DArray: array },
        };
        let (texture, descriptor) = (tiles.raw().raw(), first(&self.tiles));
        // SAFETY: the resource is alive and has this format, these mips and layers; the descriptor is in
        // a heap of its kind.
        unsafe { device.raw().CreateShaderResourceView(texture, Some(&raw const view), descriptor) };
    }
}

fn heap(
    device: &Device,
    kind: D3D12_DESCRIPTOR_HEAP_TYPE,
    flags: D3D12_DESCRIPTOR_HEAP_FLAGS,
) -> Result<ID3D12DescriptorHeap> {
    let desc = D3D12_DESCRIPTOR_HEAP_DESC { Type: kind, NumDescriptors: 1, Flags: flags, NodeMask: 0 };
    // SAFETY: the pointer is to a local that outlives the call.
    Ok(unsafe { device.raw().CreateDescriptorHeap(&raw const desc) }?)
}

fn first(heap: &ID3D12DescriptorHeap) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    // SAFETY: the interface is alive.
    unsafe { heap.GetCPUDescriptorHandleForHeapStart() }
}
