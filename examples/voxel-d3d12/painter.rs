//! Direct3D's part of a frame: the draw calls.

use tenure::d3d12::{Device, List, Resource, to_dxgi_format};
use tenure::device::ResourceDesc;
use tenure::{Buffer, Deferred, Gpu, Texture};
use voxel_world::{Painter, Pass, Result, Show, Targets, VERTEX_STRIDE};
use windows::Win32::Foundation::RECT;
use windows::Win32::Graphics::Direct3D::D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CLEAR_FLAG_DEPTH, D3D12_INDEX_BUFFER_VIEW, D3D12_VERTEX_BUFFER_VIEW, D3D12_VIEWPORT,
    ID3D12GraphicsCommandList, ID3D12PipelineState, ID3D12RootSignature,
};
use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT_R16_UINT;

use crate::descriptors::Descriptors;
use crate::pipeline::pipeline;
use crate::root;

/// Everything that drawing needs besides tenure's resources.
struct Objects {
    root: ID3D12RootSignature,
    pipeline: ID3D12PipelineState,
    descriptors: Descriptors,
}

/// Draws with Direct3D 12.
pub(crate) struct Direct3dPainter {
    /// tenure releases them when the GPU is done with them.
    objects: Deferred<Device, Objects>,
}

impl Direct3dPainter {
    pub(crate) fn new(show: &Show<Device>) -> Result<Self> {
        let device = show.gpu.device();
        let root = root::signature(device)?;
        let pipeline = pipeline(device, &root, &show.targets)?;
        let descriptors = Descriptors::new(device, &show.targets, &show.tiles)?;
        let objects = show.gpu.defer("pipeline and descriptors", Objects { root, pipeline, descriptors });
        Ok(Self { objects })
    }

    fn clear(&self, list: &ID3D12GraphicsCommandList, [width, height]: [u32; 2]) {
        let Objects { descriptors, .. } = &*self.objects;
        let viewport = D3D12_VIEWPORT {
            Width: width as f32,
            Height: height as f32,
            MaxDepth: 1.0,
            ..Default::default()
        };
        let all = RECT { right: width as i32, bottom: height as i32, ..Default::default() };
        let (colour, depth) = (descriptors.colour(), descriptors.depth());
        // SAFETY: the list is being recorded; the descriptors and the textures that they describe are
        // alive until the GPU is done with them, and tenure brought the textures into these states.
        unsafe {
            list.OMSetRenderTargets(1, Some(&raw const colour), false, Some(&raw const depth));
            list.ClearRenderTargetView(colour, &[0.0; 4], None);
            list.ClearDepthStencilView(depth, D3D12_CLEAR_FLAG_DEPTH, 0.0, 0, None);
            list.RSSetViewports(&[viewport]);
            list.RSSetScissorRects(&[all]);
        }
    }

    fn set_pipeline(&self, list: &ID3D12GraphicsCommandList, constants: &Buffer<Device>) -> Result<()> {
        let Objects { root, pipeline, descriptors } = &*self.objects;
        let constants = constants.gpu_address().ok_or("constants have an address")?;
        // SAFETY: the list is being recorded; all that is set is alive until the GPU is done with it.
        unsafe {
            list.SetGraphicsRootSignature(root);
            list.SetPipelineState(pipeline);
            list.SetDescriptorHeaps(&[Some(descriptors.tiles.clone())]);
            list.SetGraphicsRootConstantBufferView(root::CONSTANTS, constants);
            let table = descriptors.tiles.GetGPUDescriptorHandleForHeapStart();
            list.SetGraphicsRootDescriptorTable(root::TILES, table);
            list.IASetPrimitiveTopology(D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
        }
        Ok(())
    }
}

/// Sets a buffer as vertices and as indices.
fn set_buffer(list: &ID3D12GraphicsCommandList, buffer: &Resource) -> Result<()> {
    let ResourceDesc::Buffer(info) = buffer.desc() else { return Err("meshes are in buffers".into()) };
    let size = u32::try_from(info.size)?;
    // SAFETY: the list is being recorded, and the buffer is alive until the GPU is done with it.
    unsafe {
        let address = buffer.raw().GetGPUVirtualAddress();
        let vertices = D3D12_VERTEX_BUFFER_VIEW {
            BufferLocation: address,
            SizeInBytes: size,
            StrideInBytes: VERTEX_STRIDE,
        };
        let indices = D3D12_INDEX_BUFFER_VIEW {
            BufferLocation: address,
            SizeInBytes: size,
            Format: DXGI_FORMAT_R16_UINT,
        };
        list.IASetVertexBuffers(0, Some(&[vertices]));
        list.IASetIndexBuffer(Some(&raw const indices));
    }
    Ok(())
}

impl Painter<Device> for Direct3dPainter {
    fn draw(&mut self, list: &List, pass: &Pass<'_, Device>) -> Result<()> {
        let list = list.raw();
        self.clear(list, pass.targets.size);
        self.set_pipeline(list, pass.constants)?;
        let mut set: Option<&Resource> = None;
        for draw in pass.draws {
            if !set.is_some_and(|buffer| std::ptr::eq(buffer, draw.buffer)) {
                // Many meshes share a buffer: 20,000 draws need few of these calls.
                set_buffer(list, draw.buffer)?;
                set = Some(draw.buffer);
            }
            // SAFETY: all is set that the pipeline reads; the mesh's indices, vertices and its draw call
            // come from one place.
            unsafe { list.DrawIndexedInstanced(draw.index_count, 1, draw.first_index, draw.base_vertex, 0) };
        }
        Ok(())
    }

    fn resolve(&mut self, list: &List, samples: &Texture<Device>, pixels: &Texture<Device>) -> Result<()> {
        let format = to_dxgi_format(pixels.info().format);
        let (from, to) = (samples.raw().raw(), pixels.raw().raw());
        // SAFETY: the list is being recorded; the textures are alive until the GPU is done with them, of
        // one size and format, and tenure brought them into the states for this.
        unsafe { list.raw().ResolveSubresource(to, 0, from, 0, format) };
        Ok(())
    }

    fn copy(&mut self, list: &List, pixels: &Texture<Device>, image: &Texture<Device>) -> Result<()> {
        // SAFETY: as above; the formats are of one family.
        unsafe { list.raw().CopyResource(image.raw().raw(), pixels.raw().raw()) };
        Ok(())
    }

    fn resize(&mut self, gpu: &Gpu<Device>, targets: &Targets<Device>) -> Result<()> {
        // Recorded lists have copies of these descriptors.
        self.objects.descriptors.describe_targets(gpu.device(), targets);
        Ok(())
    }
}
