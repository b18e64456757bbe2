//! vulkano, on Vulkan.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

use ::vulkano::VulkanLibrary;
use ::vulkano::buffer::allocator::{SubbufferAllocator, SubbufferAllocatorCreateInfo};
use ::vulkano::buffer::{Buffer, BufferCreateInfo, BufferUsage, Subbuffer};
use ::vulkano::command_buffer::allocator::StandardCommandBufferAllocator;
use ::vulkano::command_buffer::{
    AutoCommandBufferBuilder, CommandBufferUsage, CopyBufferInfo, PrimaryAutoCommandBuffer,
};
use ::vulkano::device::{Device, DeviceCreateInfo, Queue, QueueCreateInfo, QueueFlags};
use ::vulkano::format::Format;
use ::vulkano::image::{Image, ImageCreateInfo, ImageUsage};
use ::vulkano::instance::{Instance, InstanceCreateInfo};
use ::vulkano::memory::allocator::{
    AllocationCreateInfo, DeviceMemoryPool, MemoryTypeFilter, StandardMemoryAllocator, Suballocator,
};
use ::vulkano::sync::future::FenceSignalFuture;
use ::vulkano::sync::{self, GpuFuture};
use bench::Result;
use bench::managers::{
    Call, Contender, DeviceName, Frame, Manager, MemoryKind, Program, Slots, UPLOADED, VALUES, copies,
};

use crate::FRAMES_IN_FLIGHT;

/// Bytes of a page of staging memory or constants: enough for a frame.
const ARENA_BYTES: u64 = 4 << 20;

type Builder = AutoCommandBufferBuilder<PrimaryAutoCommandBuffer>;
/// A submission in flight.
type Submitted = Arc<FenceSignalFuture<Box<dyn GpuFuture>>>;

/// vulkano on its one device.
pub(crate) fn contender() -> Contender {
    let open = || Vulkano::open().map(|manager| Box::new(manager) as Box<dyn Manager>);
    // It refuses lists in one submission that write the same buffers.
    let plays = |program| program != Program::Lists;
    Contender { manager: "vulkano 0.35", device: DeviceName::Vulkan, plays, target: |_| Some(0.5), open }
}

struct Vulkano {
    queue: Arc<Queue>,
    memory: Arc<StandardMemoryAllocator>,
    lists: Arc<StandardCommandBufferAllocator>,
    staging: SubbufferAllocator,
    constants: SubbufferAllocator,
    slots: Slots<Resource>,
    /// For uploads or copies.
    buffers: Vec<Subbuffer<[u8]>>,
    /// With the constants that each may read.
    in_flight: VecDeque<(Submitted, Vec<Subbuffer<[u32; 16]>>)>,
}

/// A resource, which is only kept.
#[expect(dead_code, reason = "a handle is dropped, and not used")]
enum Resource {
    Buffer(Arc<Buffer>),
    Image(Arc<Image>),
}

impl Vulkano {
    fn open() -> Result<Self> {
        let library = VulkanLibrary::new()?;
        let instance = Instance::new(library, InstanceCreateInfo::default())?;
        let physical = instance.enumerate_physical_devices()?.next().ok_or("no device")?;
        let families = physical.queue_family_properties();
        let is_graphics = |flags: QueueFlags| flags.intersects(QueueFlags::GRAPHICS);
        let family = families.iter().position(|family| is_graphics(family.queue_flags));
        let queue_family_index = u32::try_from(family.ok_or("no queue for graphics")?)?;
        let info = DeviceCreateInfo {
            queue_create_infos: vec![QueueCreateInfo { queue_family_index, ..Default::default() }],
            ..Default::default()
        };
        let (device, mut queues) = Device::new(physical, info)?;
        let memory = Arc::new(StandardMemoryAllocator::new_default(Arc::clone(&device)));
        let arena = |buffer_usage, device_local| {
            let place =
                if device_local { MemoryTypeFilter::PREFER_DEVICE } else { MemoryTypeFilter::PREFER_HOST };
            let memory_type_filter = place | MemoryTypeFilter::HOST_SEQUENTIAL_WRITE;
            let arena_size = ARENA_BYTES;
            let info = SubbufferAllocatorCreateInfo {
                arena_size,
                buffer_usage,
                memory_type_filter,
                ..Default::default()
            };
            SubbufferAllocator::new(Arc::clone(&memory), info)
        };
        Ok(Self {
            queue: queues.next().ok_or("no queue")?,
            lists: Arc::new(StandardCommandBufferAllocator::new(device, Default::default())),
            staging: arena(BufferUsage::TRANSFER_SRC, false),
            constants: arena(BufferUsage::UNIFORM_BUFFER, true),
            memory,
            slots: Slots(Vec::new()),
            buffers: Vec::new(),
            in_flight: VecDeque::new(),
        })
    }

    fn buffer(
        &self,
        size: u64,
        usage: BufferUsage,
        filter: MemoryTypeFilter,
    ) -> Result<Subbuffer<[u8]>> {
        let info = BufferCreateInfo { usage, ..Default::default() };
        let allocation = AllocationCreateInfo { memory_type_filter: filter, ..Default::default() };
        Ok(Buffer::new_slice(Arc::clone(&self.memory) as _, info, allocation, size)?)
    }

    fn image(&self, width: u32, height: u32) -> Result<Arc<Image>> {
        let info = ImageCreateInfo {
            format: Format::R8G8B8A8_UNORM,
            extent: [width, height, 1],
            usage: ImageUsage::SAMPLED | ImageUsage::TRANSFER_DST,
            ..Default::default()
        };
        Ok(Image::new(Arc::clone(&self.memory) as _, info, AllocationCreateInfo::default())?)
    }

    fn call(&mut self, call: &Call) -> Result {
        let (slot, made) = match *call {
            Call::Buffer { slot, size, memory } => {
                let (usage, filter) = match memory {
                    MemoryKind::GpuOnly => (
                        BufferUsage::VERTEX_BUFFER | BufferUsage::INDEX_BUFFER | BufferUsage::TRANSFER_DST,
                        MemoryTypeFilter::PREFER_DEVICE,
                    ),
                    MemoryKind::CpuToGpu => (
                        BufferUsage::TRANSFER_SRC,
                        MemoryTypeFilter::PREFER_HOST | MemoryTypeFilter::HOST_SEQUENTIAL_WRITE,
                    ),
                    MemoryKind::GpuToCpu => (
                        BufferUsage::TRANSFER_DST,
                        MemoryTypeFilter::PREFER_HOST | MemoryTypeFilter::HOST_RANDOM_ACCESS,
                    ),
                };
                let buffer = self.buffer(size, usage, filter)?;
                (slot, Some(Resource::Buffer(Arc::clone(buffer.buffer()))))
            }
            Call::Texture { slot, width, height } => {
                (slot, Some(Resource::Image(self.image(width, height)?)))
            }
            Call::Drop { slot } => (slot, None),
        };
        self.slots.put(slot, made);
        Ok(())
    }

    fn builder(&self) -> Result<Builder> {
        let (lists, family) = (Arc::clone(&self.lists), self.queue.queue_family_index());
        Ok(AutoCommandBufferBuilder::primary(lists as _, family, CommandBufferUsage::OneTimeSubmit)?)
    }

    /// Submits after all earlier submissions, and ends the frame.
    #[expect(clippy::arc_with_non_send_sync, reason = "a shared submission is a future only in an `Arc`")]
    fn submit(&mut self, builder: Builder, constants: Vec<Subbuffer<[u32; 16]>>) -> Result {
        let list = builder.build()?;
        let last = match self.in_flight.back() {
            Some((last, _)) => Arc::clone(last).boxed(),
            None => sync::now(Arc::clone(self.queue.device())).boxed(),
        };
        let after = last.then_execute(Arc::clone(&self.queue), list)?.boxed();
        let submitted = after.then_signal_fence_and_flush()?;
        self.in_flight.push_back((Arc::new(submitted), constants));
        if self.in_flight.len() > FRAMES_IN_FLIGHT
            && let Some((oldest, _)) = self.in_flight.pop_front()
        {
            oldest.wait(None)?;
        }
        Ok(())
    }
}

impl Manager for Vulkano {
    fn prepare(&mut self, program: Program) -> Result {
        let (count, size) = program.buffers();
        let usage = match program {
            Program::Uploads => BufferUsage::VERTEX_BUFFER | BufferUsage::TRANSFER_DST,
            _ => BufferUsage::TRANSFER_SRC | BufferUsage::TRANSFER_DST,
        };
        let buffer = |_| self.buffer(size, usage, MemoryTypeFilter::PREFER_DEVICE);
        self.buffers = (0..count).map(buffer).collect::<Result<_>>()?;
        Ok(())
    }

    fn play(&mut self, frame: &Frame) -> Result {
        let mut constants = Vec::new();
        let builder = match frame {
            Frame::Create(calls) => return calls.iter().try_for_each(|call| self.call(call)),
            Frame::Lists(_) => return Err("it does not play that program".into()),
            Frame::Upload => {
                let mut builder = self.builder()?;
                for buffer in &self.buffers {
                    let staged = self.staging.allocate_slice::<u8>(UPLOADED.len() as u64)?;
                    staged.write()?.copy_from_slice(black_box(&UPLOADED));
                    builder.copy_buffer(CopyBufferInfo::buffers(staged, buffer.clone()))?;
                }
                builder
            }
            Frame::Passes(passes) => {
                let mut builder = self.builder()?;
                for (from, to) in copies(*passes).flatten() {
                    let [from, to] = [from, to].map(|index| self.buffers[index].clone());
                    builder.copy_buffer(CopyBufferInfo::buffers(from, to))?;
                }
                builder
            }
            Frame::Constants => {
                constants.reserve(VALUES.len());
                for value in &VALUES {
                    let constant = self.constants.allocate_sized::<[u32; 16]>()?;
                    *constant.write()? = *black_box(value);
                    constants.push(constant);
                }
                self.builder()?
            }
        };
        self.submit(builder, constants)
    }

    /// The bytes of the pools. Dedicated allocations of large resources are left out, in favour of vulkano.
    fn reserved(&self) -> Option<u64> {
        Some(self.memory.pools().iter().map(blocks_of).sum())
    }
}

/// Bytes of a pool's blocks.
fn blocks_of<S: Suballocator>(pool: &DeviceMemoryPool<S>) -> u64 {
    pool.blocks().map(|block| block.device_memory().allocation_size()).sum()
}
