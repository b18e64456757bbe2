//! Creates descriptors of all kinds, and reads through them.

use crate::harness::PERMIT;
use tenure_core::device::{
    Barrier, Descriptor, DescriptorHeapDesc, DescriptorSource, ResourceDesc, TextureView, prelude::*,
};
use tenure_core::{
    BufferLayout, DescriptorKind, Plane, SamplerInfo, State, Subresource, TextureAccess, TextureInfo,
    TextureRegion, Usage, ViewShape,
};
use tenure_d3d12::{DescriptorHeap, Device, DeviceConfig, List, Resource};

use crate::bench::{Bench, GPU_ONLY, GRAPHICS, LONG, buffer, create};
use crate::shaders::{Shader, Shaders};

/// Descriptors in each heap.
pub(crate) const COUNT: u32 = 256;

/// A device with a heap of each kind.
pub(crate) struct Viewer {
    pub(crate) bench: Bench,
    pub(crate) shaders: Shaders,
    /// The CPU heaps of the descriptors, by kind.
    pub(crate) hidden: [DescriptorHeap; 4],
    /// The shader-visible heap of views.
    pub(crate) views: DescriptorHeap,
    /// The shader-visible heap of samplers.
    pub(crate) samplers: DescriptorHeap,
    out: Resource,
    readback: Resource,
}

pub(crate) fn heap_of(device: &Device, kind: DescriptorKind, shader_visible: bool) -> DescriptorHeap {
    device.create_descriptor_heap(&DescriptorHeapDesc { kind, count: COUNT, shader_visible }).unwrap()
}

impl Viewer {
    pub(crate) fn new() -> Self {
        let bench = Bench::new(create(DeviceConfig::default()));
        let device = &bench.device;
        let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
        Self {
            shaders: Shaders::new(device),
            hidden: DescriptorKind::ALL.map(|kind| heap_of(device, kind, false)),
            views: heap_of(device, DescriptorKind::Resource, true),
            samplers: heap_of(device, DescriptorKind::Sampler, true),
            out: device.create_committed(&buffer(256, usage), GPU_ONLY).unwrap(),
            readback: bench.readback(256),
            bench,
        }
    }

    pub(crate) fn device(&self) -> Device {
        self.bench.device.clone()
    }

    pub(crate) fn hidden(&self, kind: DescriptorKind) -> &DescriptorHeap {
        &self.hidden[kind as usize]
    }

    /// A buffer of the words, for views of every kind.
    pub(crate) fn words(&mut self, words: &[u32]) -> Resource {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let usage = Usage::CONSTANT | Usage::SHADER_READ | Usage::UNORDERED_ACCESS | Usage::COPY_DST;
        let size = bytes.len() as u64;
        let words = self.bench.device.create_committed(&buffer(size, usage), GPU_ONLY).unwrap();
        let staging = self.bench.staging(&bytes);
        self.bench.run(GRAPHICS, |list| list.copy_buffer(&staging, 0, &words, 0, size));
        words
    }

    pub(crate) fn texture(&self, info: &TextureInfo) -> Resource {
        let desc = ResourceDesc::Texture(info.clone());
        self.bench.device.create_committed(&desc, GPU_ONLY).unwrap()
    }

    /// Sets all texels of each subresource, of four bytes, to one word of its own: see [`word`]. The
    /// texture has not been used before, and is in `State::SHADER_READ` then.
    pub(crate) fn paint(&mut self, texture: &Resource, info: &TextureInfo) {
        self.change(texture, State::COMMON, State::COPY_DST);
        for (mip, layer) in (0..info.layers()).flat_map(|layer| (0..info.mips).map(move |mip| (mip, layer))) {
            let extent = info.mip_extent(mip);
            let rows = extent[1] * extent[2];
            let word = word(mip, layer).to_le_bytes();
            let staging = self.bench.staging(&word.repeat(64 * rows as usize));
            let layout = BufferLayout { offset: 0, row_pitch: 256, rows: extent[1] };
            let region = TextureRegion { mip, layer, plane: Plane::First, origin: [0; 3], extent };
            self.bench.run(GRAPHICS, |list| list.copy_buffer_to_texture(&staging, layout, texture, region));
        }
        self.change(texture, State::COPY_DST, State::SHADER_READ);
    }

    /// Changes the state of a whole resource.
    pub(crate) fn change(&mut self, resource: &Resource, before: State, after: State) {
        let subresource = Subresource::All;
        self.bench.run(GRAPHICS, |list| {
            list.barriers(&[Barrier::Transition { resource, subresource, before, after, transfer: None }]);
        });
    }

    /// Creates a descriptor in its CPU heap and copies it to the shader-visible heap, at the same index.
    pub(crate) fn show(&self, index: u32, descriptor: &Descriptor<'_, Device>) {
        let kind = descriptor.kind();
        let heap = self.hidden(kind);
        self.bench.device.write_descriptor(PERMIT, heap, index, descriptor).unwrap();
        let visible = match kind {
            DescriptorKind::Resource => &self.views,
            DescriptorKind::Sampler => &self.samplers,
            _ => return,
        };
        let source = DescriptorSource::Copy { heap, index };
        self.bench.device.fill_descriptors(PERMIT, visible, index, &[source]).unwrap();
    }

    pub(crate) fn show_texture(&self, index: u32, resource: &Resource, view: TextureView) {
        self.show(index, &Descriptor::Texture { resource, view });
    }

    pub(crate) fn show_sampler(&self, index: u32, desc: SamplerInfo) {
        self.show(index, &Descriptor::Sampler(desc));
    }

    /// The words that a shader reads at indices of the shader-visible heaps: the first of views, a second of
    /// samplers.
    pub(crate) fn see(&mut self, shader: Shader, at: &[u32]) -> [u32; 4] {
        self.see_after(shader, at, |_| ())
    }

    /// The same, after commands of another library.
    pub(crate) fn see_after(
        &mut self,
        shader: Shader,
        at: &[u32],
        before: impl FnOnce(&mut List),
    ) -> [u32; 4] {
        let heaps = [&self.views, &self.samplers];
        let at: Vec<_> = heaps.into_iter().zip(at.iter().copied()).collect();
        let list = self.bench.recorded(GRAPHICS, |list| {
            list.set_descriptor_heaps(Some(&self.views), Some(&self.samplers));
            before(list);
            list.set_descriptor_heaps(Some(&self.views), Some(&self.samplers));
            self.shaders.record(list, shader, &at, (&self.out, 0));
        });
        let list = list.unwrap();
        let done = self.bench.submit(GRAPHICS, &[&list], &[]);
        assert!(self.bench.device.wait(done, LONG).unwrap());
        let (out, readback) = (&self.out, &self.readback);
        self.bench.run(GRAPHICS, |list| list.copy_buffer(out, 0, readback, 0, 16));
        let bytes = self.bench.contents(readback, 16);
        let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        words.collect::<Vec<_>>().try_into().unwrap()
    }
}

/// The texels of a painted subresource.
pub(crate) const fn word(mip: u32, layer: u32) -> u32 {
    0x0101_0101 * (1 + layer * 8 + mip)
}

/// All of a texture, as shaders read it.
pub(crate) fn whole(info: &TextureInfo, shape: ViewShape) -> TextureView {
    TextureView {
        access: TextureAccess::Sampled,
        shape,
        format: info.format,
        plane: Plane::First,
        first_mip: 0,
        mips: info.mips,
        first_layer: 0,
        layers: info.layers(),
    }
}
