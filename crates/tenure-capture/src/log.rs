//! The log of a device: its objects by numbers of the log's own, and a line for each event.

use std::collections::HashMap;
use std::fmt::{Arguments, Write as _};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use ash::vk;

use crate::chain::in_line;
use crate::disguise::{Shape, Table};
use crate::file::LogFile;
use crate::program::Program;
use crate::submissions::Submissions;

/// The number of the format, in the first line.
const FORMAT: u32 = 1;

/// Lines are written when there are this many bytes, even without a submission.
const MOST_BYTES: usize = 32 << 10;

/// Microseconds after the last write at which new lines are written without a submission: a program may load for long, and fail.
const LONGEST_WAIT: u64 = 1000;

/// An object of the API, by its kind and handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Object {
    Buffer(vk::Buffer),
    Image(vk::Image),
    /// A range of a video session, by its index.
    VideoSession(vk::VideoSessionKHR, u32),
}

/// What the driver says that a resource needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requirements {
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    /// Whether the driver prefers, and requires, memory of its own for the resource, where it was asked.
    pub(crate) dedicated: Option<[bool; 2]>,
}

/// A resource of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resource {
    id: u64,
    pub(crate) shape: Shape,
    /// An image whose planes are bound one by one.
    pub(crate) is_disjoint: bool,
    /// The driver's last answer.
    pub(crate) known: Option<Requirements>,
}

/// Memory of the program.
#[derive(Clone, Copy, Debug)]
struct Memory {
    id: u64,
    index: u32,
    size: u64,
}

/// A range of memory for a resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub(crate) object: Object,
    pub(crate) memory: vk::DeviceMemory,
    pub(crate) offset: u64,
    pub(crate) plane: vk::ImageAspectFlags,
}

/// The log of a device.
pub(crate) struct Log {
    /// `None` without a folder, and after a failure.
    file: Option<LogFile>,
    text: String,
    start: Instant,
    /// When lines were last written, in microseconds from the start.
    written: u64,
    last_id: u64,
    memory: HashMap<vk::DeviceMemory, Memory>,
    resources: HashMap<Object, Resource>,
    submissions: Submissions,
}

/// The number of this thread, in the order in which threads first wrote a line.
fn thread() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    thread_local!(static NUMBER: u32 = NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| *number)
}

impl Log {
    pub(crate) fn new(file: Option<LogFile>) -> Self {
        Self {
            file,
            text: String::new(),
            start: Instant::now(),
            written: 0,
            last_id: 0,
            memory: HashMap::new(),
            resources: HashMap::new(),
            submissions: Submissions::default(),
        }
    }

    fn line(&mut self, event: Arguments<'_>) {
        if self.file.is_none() {
            return;
        }
        let time = self.elapsed();
        // A string takes everything.
        let _never_fails = writeln!(self.text, "{time} {} {event}", thread());
        if self.text.len() >= MOST_BYTES || time.saturating_sub(self.written) >= LONGEST_WAIT {
            self.flush();
        }
    }

    fn elapsed(&self) -> u64 {
        // In 64 bits, whose digits are quicker.
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Hands the lines to the system, which keeps them if the process ends.
    pub(crate) fn flush(&mut self) {
        if let Some(file) = &mut self.file
            && !self.text.is_empty()
            && !file.append(&self.text)
        {
            self.file = None;
        }
        self.text.clear();
        self.written = self.elapsed();
    }

    fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// The lines about the program and the device.
    pub(crate) fn begin(
        &mut self,
        program: &Program,
        table: Option<&Table>,
        version: u32,
        (properties, memory): (&vk::PhysicalDeviceProperties, &vk::PhysicalDeviceMemoryProperties),
    ) {
        let limits = &properties.limits;
        let device = in_line(properties.device_name_as_c_str().unwrap_or_default());
        self.line(format_args!("capture {FORMAT}"));
        self.line(format_args!("process {}", std::process::id()));
        self.line(format_args!("application {}", program.application));
        self.line(format_args!("engine {}", program.engine));
        let [major, minor] = [vk::api_version_major(version), vk::api_version_minor(version)];
        self.line(format_args!("api {major}.{minor}"));
        self.line(format_args!("device {device}"));
        let vk::PhysicalDeviceProperties { vendor_id, device_id, device_type, driver_version, .. } =
            properties;
        self.line(format_args!(
            "ids {vendor_id:x} {device_id:x} {} {driver_version:x}",
            device_type.as_raw()
        ));
        self.line(format_args!(
            "limits {} {} {}",
            limits.buffer_image_granularity,
            limits.max_memory_allocation_count,
            limits.non_coherent_atom_size
        ));
        if let Some(table) = table {
            self.line(format_args!("as {}", table.name));
        }
        for (index, heap) in memory.memory_heaps_as_slice().iter().enumerate() {
            self.line(format_args!("heap {index} {} {}", heap.size, heap.flags.as_raw()));
        }
        for (index, memory_type) in memory.memory_types_as_slice().iter().enumerate() {
            let vk::MemoryType { property_flags, heap_index } = memory_type;
            self.line(format_args!("type {index} {} {heap_index}", property_flags.as_raw()));
        }
        self.flush();
    }

    /// The last line.
    pub(crate) fn end(&mut self) {
        self.line(format_args!("end"));
        self.flush();
    }

    /// The type and size of all memory that the program has not freed.
    pub(crate) fn live_memory(&self) -> impl Iterator<Item = (u32, u64)> {
        self.memory.values().map(|it| (it.index, it.size))
    }

    pub(crate) fn allocated(&mut self, memory: vk::DeviceMemory, index: u32, size: u64, words: &str) {
        let id = self.new_id();
        self.memory.insert(memory, Memory { id, index, size });
        self.line(format_args!("M {id} {size} {index}{words}"));
    }

    pub(crate) fn refused(&mut self, result: vk::Result, index: u32, size: u64, words: &str) {
        self.line(format_args!("N {} {size} {index}{words}", result.as_raw()));
        // Programs often end then.
        self.flush();
    }

    /// The type and size of the memory.
    pub(crate) fn freed(&mut self, memory: vk::DeviceMemory) -> Option<(u32, u64)> {
        let Memory { id, index, size } = self.memory.remove(&memory)?;
        self.line(format_args!("F {id}"));
        Some((index, size))
    }

    pub(crate) fn mapped(&mut self, memory: vk::DeviceMemory) {
        if let Some(&Memory { id, .. }) = self.memory.get(&memory) {
            self.line(format_args!("m {id}"));
        }
    }

    pub(crate) fn unmapped(&mut self, memory: vk::DeviceMemory) {
        if let Some(&Memory { id, .. }) = self.memory.get(&memory) {
            self.line(format_args!("u {id}"));
        }
    }

    pub(crate) fn created(&mut self, object: Object, shape: Shape, is_disjoint: bool, event: Arguments<'_>) {
        let id = self.new_id();
        self.resources.insert(object, Resource { id, shape, is_disjoint, known: None });
        self.line(format_args!("R {id} {event}"));
    }

    pub(crate) fn destroyed(&mut self, object: Object) {
        if let Some(Resource { id, .. }) = self.resources.remove(&object) {
            self.line(format_args!("D {id}"));
        }
    }

    pub(crate) fn destroyed_session(&mut self, session: vk::VideoSessionKHR) {
        let of_session = |object: &Object| matches!(object, Object::VideoSession(it, _) if *it == session);
        let ranges: Vec<_> = self.resources.keys().copied().filter(of_session).collect();
        ranges.into_iter().for_each(|range| self.destroyed(range));
    }

    pub(crate) fn resource(&mut self, object: Object) -> Option<&mut Resource> {
        self.resources.get_mut(&object)
    }

    pub(crate) fn bound(&mut self, binding: &Binding, needed: &Requirements) {
        let Binding { object, memory, offset, plane } = binding;
        let (Some(resource), Some(memory)) = (self.resources.get(object), self.memory.get(memory)) else {
            return;
        };
        let (resource, memory) = (resource.id, memory.id);
        let Requirements { size, alignment, dedicated } = needed;
        let [prefers, requires] = dedicated.unwrap_or_default();
        let wish = if requires {
            " needs-dedicated"
        } else if prefers {
            " wants-dedicated"
        } else {
            ""
        };
        self.line(format_args!(
            "B {resource} {memory} {offset} {size} {alignment} {:x}{wish}",
            plane.as_raw()
        ));
    }

    pub(crate) fn named(&mut self, object: Object, name: &str) {
        if let Some(&Resource { id, .. }) = self.resources.get(&object) {
            self.line(format_args!("n {id} {name}"));
        }
    }

    /// A submission, with the fence and the timeline semaphores that it will signal.
    pub(crate) fn submitted(&mut self, queue: vk::Queue, fence: vk::Fence, signals: &[(vk::Semaphore, u64)]) {
        let (queue, number) = self.submissions.submitted(queue, fence, signals);
        self.line(format_args!("S {number} {queue}"));
        self.flush();
    }

    /// The program saw that submissions were complete: the last one of each queue.
    fn seen(&mut self, done: impl IntoIterator<Item = (u32, u64)>) {
        for (queue, number) in done {
            self.line(format_args!("W {number} {queue}"));
        }
    }

    pub(crate) fn saw_fences(&mut self, fences: &[vk::Fence]) {
        for fence in fences {
            let done = self.submissions.saw_fence(*fence);
            self.seen(done);
        }
    }

    pub(crate) fn saw_semaphore(&mut self, semaphore: vk::Semaphore, value: u64) {
        let done = self.submissions.saw_semaphore(semaphore, value);
        self.seen(done);
    }

    /// The last submission of one queue, or of each.
    pub(crate) fn submitted_to(&self, queue: Option<vk::Queue>) -> Vec<(u32, u64)> {
        self.submissions.last_of(queue)
    }

    /// The program waited for these submissions.
    pub(crate) fn saw(&mut self, submitted: Vec<(u32, u64)>) {
        let done = self.submissions.saw(submitted);
        self.seen(done);
    }

    pub(crate) fn bound_sparsely(
        &mut self,
        queue: vk::Queue,
        fence: vk::Fence,
        counts: [u32; 3],
        signals: &[(vk::Semaphore, u64)],
    ) {
        let [buffers, opaque, images] = counts;
        self.line(format_args!("X {buffers} {opaque} {images}"));
        self.submitted(queue, fence, signals);
    }

    pub(crate) fn presented(&mut self, queue: vk::Queue) {
        let queue = self.submissions.queue(queue);
        self.line(format_args!("P {queue}"));
        self.flush();
    }

    pub(crate) fn created_swapchain(&mut self, info: &vk::SwapchainCreateInfoKHR<'_>) {
        let vk::Extent2D { width, height } = info.image_extent;
        let (images, format) = (info.min_image_count, info.image_format.as_raw());
        self.line(format_args!("C {width}x{height} {images} {format}"));
    }
}
