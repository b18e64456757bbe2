//! vulkano, on Vulkan.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

use ::vulkano::VulkanLibrary;
use ::vulkano::buffer::allocator::{SubbufferAllocator, SubbufferAllocatorCreateInfo};
use ::vulkano::buffer::{Buffer, BufferCreateInfo, BufferMemory, BufferUsage, Subbuffer};
use ::vulkano::command_buffer::allocator::StandardCommandBufferAllocator;
use ::vulkano::command_buffer::{
    AutoCommandBufferBuilder, CommandBufferUsage, CopyBufferInfo, PrimaryAutoCommandBuffer,
};
use ::vulkano::device::{Device, DeviceCreateInfo, Queue, QueueCreateInfo, QueueFlags};
use ::vulkano::format::Format;
use ::vulkano::image::{Image, ImageCreateInfo, ImageMemory, ImageUsage};
use ::vulkano::instance::{Instance, InstanceCreateInfo};
use ::vulkano::memory::ResourceMemory;
use ::vulkano::memory::allocator::{
    AllocationCreateInfo, DeviceMemoryPool, MemoryTypeFilter, StandardMemoryAllocator, Suballocator,
};
use ::vulkano::sync::future::FenceSignalFuture;
use ::vulkano::sync::{self, GpuFuture};
use bench::managers::{
    COPIED_BUFFERS, COPIED_BYTES, Call, Contender, DeviceName, Manager, MemoryKind, Program, UPLOAD_BYTES,
    UPLOADS, copies,
};

use crate::FRAMES_IN_FLIGHT;

/// Bytes of a page of staging memory or constants: enough for a frame.
const ARENA_BYTES: u64 = 4 << 20;

type Builder = AutoCommandBufferBuilder<PrimaryAutoCommandBuffer>;
/// A submission that may not be complete.
type Submitted = Arc<FenceSignalFuture<Box<dyn GpuFuture>>>;

/// vulkano on its one device.
pub(crate) fn contender() -> Contender {
    let open = || Vulkano::open().map(|manager| Box::new(manager) as Box<dyn Manager>);
    // It refuses lists in one submission that write the same buffers.
    let plays = |program| program != Program::Lists;
    Contender { manager: "vulkano 0.35", device: DeviceName::Vulkan, plays, target: |_| Some(0.5), open }
}

fn words(error: impl ToString) -> String {
    error.to_string()
}

struct Vulkano {
    queue: Arc<Queue>,
    memory: Arc<StandardMemoryAllocator>,
    lists: Arc<StandardCommandBufferAllocator>,
    staging: SubbufferAllocator,
    constants: SubbufferAllocator,
    /// What was created and not dropped.
    slots: Vec<Option<Resource>>,
    /// Those that are uploaded to, or copied between.
    buffers: Vec<Subbuffer<[u8]>>,
    /// With the constants that each may read.
    in_flight: VecDeque<(Submitted, Vec<Subbuffer<[u32; 16]>>)>,
}

enum Resource {
    Buffer(Arc<Buffer>),
    Image(Arc<Image>),
}

impl Resource {
    /// Bytes that it has of the driver for itself.
    fn dedicated_bytes(&self) -> u64 {
        let memory = match self {
            Self::Buffer(buffer) => match buffer.memory() {
                BufferMemory::Normal(memory) => Some(memory),
                _ => None,
            },
            Self::Image(image) => match image.memory() {
                ImageMemory::Normal(memories) => memories.first(),
                _ => None,
            },
        };
        let memory = memory.map(ResourceMemory::device_memory).filter(|memory| memory.is_dedicated());
        memory.map_or(0, |memory| memory.allocation_size())
    }
}

impl Vulkano {
    fn open() -> Result<Self, String> {
        let library = VulkanLibrary::new().map_err(words)?;
        let instance = Instance::new(library, InstanceCreateInfo::default()).map_err(words)?;
        let physical = instance.enumerate_physical_devices().map_err(words)?.next().ok_or("no device")?;
        let families = physical.queue_family_properties();
        let is_graphics = |flags: QueueFlags| flags.intersects(QueueFlags::GRAPHICS);
        let family = families.iter().position(|family| is_graphics(family.queue_flags));
        let queue_family_index = u32::try_from(family.ok_or("no queue for graphics")?).map_err(words)?;
        let info = DeviceCreateInfo {
            queue_create_infos: vec![QueueCreateInfo { queue_family_index, ..Default::default() }],
            ..Default::default()
        };
        let (device, mut queues) = Device::new(physical, info).map_err(words)?;
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
            slots: Vec::new(),
            buffers: Vec::new(),
            in_flight: VecDeque::new(),
        })
    }

    fn buffer(
        &self,
        size: u64,
        usage: BufferUsage,
        filter: MemoryTypeFilter,
    ) -> Result<Subbuffer<[u8]>, String> {
        let info = BufferCreateInfo { usage, ..Default::default() };
        let allocation = AllocationCreateInfo { memory_type_filter: filter, ..Default::default() };
        Buffer::new_slice(Arc::clone(&self.memory) as _, info, allocation, size).map_err(words)
    }

    fn image(&self, width: u32, height: u32) -> Result<Arc<Image>, String> {
        let info = ImageCreateInfo {
            format: Format::R8G8B8A8_UNORM,
            extent: [width, height, 1],
            usage: ImageUsage::SAMPLED | ImageUsage::TRANSFER_DST,
            ..Default::default()
        };
        Image::new(Arc::clone(&self.memory) as _, info, AllocationCreateInfo::default()).map_err(words)
    }

    fn call(&mut self, call: &Call) -> Result<(), String> {
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
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        self.slots[slot] = made;
        Ok(())
    }

    fn builder(&self) -> Result<Builder, String> {
        let family = self.queue.queue_family_index();
        AutoCommandBufferBuilder::primary(
            Arc::clone(&self.lists) as _,
            family,
            CommandBufferUsage::OneTimeSubmit,
        )
        .map_err(words)
    }

    /// Submits after what was submitted before, and ends the frame.
    #[expect(clippy::arc_with_non_send_sync, reason = "a shared submission is a future only in an `Arc`")]
    fn submit(&mut self, builder: Builder, constants: Vec<Subbuffer<[u32; 16]>>) -> Result<(), String> {
        let list = builder.build().map_err(words)?;
        let last = match self.in_flight.back() {
            Some((last, _)) => Arc::clone(last).boxed(),
            None => sync::now(Arc::clone(self.queue.device())).boxed(),
        };
        let after = last.then_execute(Arc::clone(&self.queue), list).map_err(words)?.boxed();
        let submitted = after.then_signal_fence_and_flush().map_err(words)?;
        self.in_flight.push_back((Arc::new(submitted), constants));
        if self.in_flight.len() > FRAMES_IN_FLIGHT
            && let Some((oldest, _)) = self.in_flight.pop_front()
        {
            oldest.wait(None).map_err(words)?;
        }
        Ok(())
    }
}

impl Manager for Vulkano {
    fn prepare(&mut self, program: Program) -> Result<(), String> {
        let (count, size, usage) = match program {
            Program::Uploads => {
                (UPLOADS, UPLOAD_BYTES as u64, BufferUsage::VERTEX_BUFFER | BufferUsage::TRANSFER_DST)
            }
            Program::Passes | Program::Lists | Program::Pass => {
                (COPIED_BUFFERS, COPIED_BYTES, BufferUsage::TRANSFER_SRC | BufferUsage::TRANSFER_DST)
            }
            Program::Buffers | Program::Textures | Program::Constants => return Ok(()),
        };
        let buffer = |_| self.buffer(size, usage, MemoryTypeFilter::PREFER_DEVICE);
        self.buffers = (0..count).map(buffer).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn create(&mut self, calls: &[Call]) -> Result<(), String> {
        calls.iter().try_for_each(|call| self.call(call))
    }

    fn upload(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut builder = self.builder()?;
        for buffer in &self.buffers {
            let staged = self.staging.allocate_slice::<u8>(bytes.len() as u64).map_err(words)?;
            staged.write().map_err(words)?.copy_from_slice(black_box(bytes));
            builder.copy_buffer(CopyBufferInfo::buffers(staged, buffer.clone())).map_err(words)?;
        }
        self.submit(builder, Vec::new())
    }

    fn record(&mut self, passes: usize) -> Result<(), String> {
        let mut builder = self.builder()?;
        for (from, to) in copies(passes).flatten() {
            let copy = CopyBufferInfo::buffers(self.buffers[from].clone(), self.buffers[to].clone());
            builder.copy_buffer(copy).map_err(words)?;
        }
        self.submit(builder, Vec::new())
    }

    fn record_lists(&mut self, _: usize) -> Result<(), String> {
        Err("it does not play that program".to_owned())
    }

    fn write_constants(&mut self, values: &[[u32; 16]]) -> Result<(), String> {
        let builder = self.builder()?;
        let mut constants = Vec::with_capacity(values.len());
        for value in values {
            let constant = self.constants.allocate_sized::<[u32; 16]>().map_err(words)?;
            *constant.write().map_err(words)? = *black_box(value);
            constants.push(constant);
        }
        self.submit(builder, constants)
    }

    /// The pools, and what the created have for themselves.
    fn reserved(&self) -> Option<u64> {
        let pooled: u64 = self.memory.pools().iter().map(blocks_of).sum();
        let dedicated: u64 = self.slots.iter().flatten().map(Resource::dedicated_bytes).sum();
        Some(pooled + dedicated)
    }

    fn driver_creations(&self) -> Option<u64> {
        None
    }
}

/// Bytes of a pool's blocks.
fn blocks_of<S: Suballocator>(pool: &DeviceMemoryPool<S>) -> u64 {
    pool.blocks().map(|block| block.device_memory().allocation_size()).sum()
}
