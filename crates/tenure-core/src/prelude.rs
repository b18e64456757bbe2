//! The items needed by a rendering program, in one import.
//!
//! ```
//! use tenure::prelude::*;
//! use tenure::sim;
//!
//! let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
//! let target = gpu.create_texture(
//!     &TextureDesc::d2(640, 480, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("target"),
//! )?;
//! let mut recording = gpu.record(Queue::Graphics, "draw")?;
//! recording.use_resource(&target, Subresource::All, State::RENDER_TARGET)?;
//! recording.submit()?;
//! # Ok::<(), Error>(())
//! ```
//!
//! The device is not included, because every backend has one: `sim::Device`, `vulkan::Device`, `d3d12::Device`. The trait that
//! they implement is [`device::Device`](crate::device::Device).

#[doc(no_inline)]
pub use crate::{
    AddressMode, Bind, BindingKind, BorderColor, Buffer, BufferAccess, BufferDesc, BufferLayout,
    BufferViewDesc, ClearValue, ColorSpace, Commands, Compare, Config, Constant, Deferred, DescriptorSet,
    DescriptorSetDesc, DescriptorTable, DescriptorTableDesc, Elements, Error, Filter, Format, Frame,
    FrameConfig, Gpu, Graph, HdrMetadata, MemoryUse, Plane, PresentMode, Queue, Readback, Recording,
    Reserved, ReservedDesc, RingSlice, Sampler, SamplerDesc, SamplerInfo, Scratch, Set, SetBinding,
    SetDescriptor, SetLayout, SetLayoutDesc, ShaderStages, State, Subresource, Subresources, SurfaceFormat,
    SwapchainDesc, SwapchainImage, SyncPoint, TexelData, Texture, TextureAccess, TextureDesc, TextureRegion,
    TextureViewDesc, TransientDesc, UploadRing, UploadRingDesc, Usage, View,
};
