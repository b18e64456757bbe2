//! A recording prepared for a replay.

use std::collections::HashMap;

use tenure::MemoryUse;
use tenure_trace::{Event, HeapKind, Layout, MemoryKind, Trace};

use super::image::Image;
use super::shape::{Shape, Wanted};

/// The object to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A buffer.
    Buffer {
        /// Bytes.
        size: u64,
        /// Bytes; a power of two.
        align: u64,
        /// The use of its memory.
        memory: MemoryUse,
    },
    /// A texture, by its index in [`Program::shapes`].
    Texture(usize),
}

/// One step of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Create an object in an empty slot.
    Create {
        /// The slot.
        slot: usize,
        /// The object.
        what: What,
    },
    /// Drop the object in a slot.
    Drop {
        /// The slot.
        slot: usize,
        /// Whether the program has waited for the GPU, so that the bytes are free at once.
        is_final: bool,
    },
    /// End the frame and begin the next.
    EndFrame,
}

/// A recording as steps over numbered slots; a replay needs no map from ids to objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The number of slots: the peak number of live objects.
    pub slots: usize,
    /// The distinct textures.
    pub shapes: Vec<Shape>,
    /// Peak of the program's live bytes: recorded sizes, except for images with sizes from the device.
    pub peak_live_bytes: u64,
    /// The id of each created object, in order.
    pub ids: Vec<u64>,
    /// Recorded names, by the index of the creation.
    pub names: HashMap<usize, Box<str>>,
    /// The first step of the second half of the frames; without frames, the middle of the steps.
    pub second_half: usize,
}

impl Program {
    /// Prepares a recording. `shape` finds a texture, and is called once per distinct one; with `asks_device`
    /// textures are the recorded images, if described. Aliases and imports are left out, because they take no memory.
    ///
    /// O(events), plus one call of `shape` per distinct texture.
    pub fn new(trace: &Trace, asks_device: bool, shape: impl Fn(&Wanted) -> Shape) -> Self {
        let mut slots = Slots::default();
        let mut shapes = Shapes { find: shape, known: HashMap::new(), shapes: Vec::new() };
        // Numbers of formats and usage flags are specific to the API.
        let asks_device = asks_device && trace.header.get("api") == Some("vulkan");
        let mut program = Self::default();
        let mut live_bytes = 0_u64;
        for (event, details) in trace.iter() {
            let step = match *event {
                Event::Alloc { id, size, align, kind, .. } if !details.is_import => {
                    let (what, bytes) = match kind.layout {
                        Layout::Linear => {
                            let memory = memory_use(kind.memory, details.heap);
                            (What::Buffer { size, align, memory }, size)
                        }
                        Layout::Optimal => {
                            let image = if asks_device { Image::of(details) } else { None };
                            let index = shapes.index(Wanted { size, align, image });
                            (What::Texture(index), shapes.image_bytes(index).unwrap_or(size))
                        }
                    };
                    live_bytes = live_bytes.saturating_add(bytes);
                    program.peak_live_bytes = program.peak_live_bytes.max(live_bytes);
                    if let Some(name) = &details.name {
                        program.names.insert(program.ids.len(), name.clone());
                    }
                    program.ids.push(id);
                    Step::Create { slot: slots.take(id, bytes), what }
                }
                // A valid recording frees only live allocations. Imports and aliases have no slot.
                Event::Free { id, .. } => {
                    let Some((slot, bytes)) = slots.release(id) else { continue };
                    live_bytes = live_bytes.saturating_sub(bytes);
                    Step::Drop { slot, is_final: details.is_final }
                }
                Event::Frame { .. } => Step::EndFrame,
                _ => continue,
            };
            program.steps.push(step);
        }
        let second_half = second_half(&program.steps, trace.summary.frames);
        Self { slots: slots.used, shapes: shapes.shapes, second_half, ..program }
    }
}

/// The use with memory like the recorded program's: mapped memory may be on either side of the bus.
const fn memory_use(kind: MemoryKind, heap: Option<HeapKind>) -> MemoryUse {
    match kind {
        MemoryKind::GpuOnly => MemoryUse::GpuOnly,
        MemoryKind::CpuToGpu if matches!(heap, Some(HeapKind::Local)) => MemoryUse::GpuUpload,
        MemoryKind::CpuToGpu => MemoryUse::Upload,
        MemoryKind::GpuToCpu => MemoryUse::Readback,
    }
}

fn second_half(steps: &[Step], frames: u64) -> usize {
    let middle = usize::try_from(frames / 2).unwrap_or(usize::MAX);
    let mut ends = steps.iter().enumerate().filter(|(_, step)| **step == Step::EndFrame);
    ends.nth(middle).map_or(steps.len() / 2, |(index, _)| index)
}

/// Assigns slot numbers to live ids, and reuses numbers of freed ids first.
#[derive(Default)]
struct Slots {
    /// The slot and the bytes of each live id.
    of_id: HashMap<u64, (usize, u64)>,
    free: Vec<usize>,
    used: usize,
}

impl Slots {
    fn take(&mut self, id: u64, bytes: u64) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        });
        self.of_id.insert(id, (slot, bytes));
        slot
    }

    fn release(&mut self, id: u64) -> Option<(usize, u64)> {
        let (slot, bytes) = self.of_id.remove(&id)?;
        self.free.push(slot);
        Some((slot, bytes))
    }
}

/// The distinct textures of a recording.
struct Shapes<F> {
    find: F,
    known: HashMap<Wanted, usize>,
    shapes: Vec<Shape>,
}

impl<F: Fn(&Wanted) -> Shape> Shapes<F> {
    fn index(&mut self, wanted: Wanted) -> usize {
        *self.known.entry(wanted).or_insert_with(|| {
            self.shapes.push((self.find)(&wanted));
            self.shapes.len() - 1
        })
    }

    /// Bytes of a texture whose size comes from the device.
    fn image_bytes(&self, index: usize) -> Option<u64> {
        self.shapes.get(index)?.image_bytes
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use tenure::{Format, MemoryUse, sim};
    use tenure_trace::{Trace, Workload, generate, read_all};

    use super::super::Shape;
    use super::{Program, Step, What};

    fn tiny() -> Shape {
        Shape::plain(1, 1, 1, 1, Format::R8Unorm)
    }

    #[test]
    fn slots_are_reused_and_each_texture_is_shaped_once() {
        let text = "op,id,size,align,kind,frame\n\
                    alloc,70,10,4,cpu_to_gpu+linear,0\n\
                    alloc,3,4096,64,gpu_only+optimal,0\n\
                    frame,,,,,5\n\
                    free,70,10,,,5\n\
                    alloc,71,4096,64,gpu_only+optimal,5\n\
                    free,3,4096,,,5\n";
        let trace = read_all(text.as_bytes(), "text").unwrap();
        let asked = RefCell::new(Vec::new());
        let program = Program::new(&trace, true, |wanted| {
            asked.borrow_mut().push((wanted.size, wanted.align));
            tiny()
        });
        let upload = What::Buffer { size: 10, align: 4, memory: MemoryUse::Upload };
        let steps = vec![
            Step::Create { slot: 0, what: upload },
            Step::Create { slot: 1, what: What::Texture(0) },
            Step::EndFrame,
            Step::Drop { slot: 0, is_final: false },
            Step::Create { slot: 0, what: What::Texture(0) },
            Step::Drop { slot: 1, is_final: false },
        ];
        let (shapes, ids) = (vec![tiny()], vec![70, 3, 71]);
        let expected = Program {
            steps,
            slots: 2,
            shapes,
            peak_live_bytes: 8192,
            ids,
            second_half: 2,
            ..Program::default()
        };
        assert_eq!(program, expected);
        assert_eq!(asked.into_inner(), [(4096, 64)]);
    }

    #[test]
    fn the_number_of_slots_is_the_peak_of_live_objects() {
        for workload in Workload::ALL {
            let trace = Trace::from_events(generate(workload, 3, 4000)).unwrap();
            let program = Program::new(&trace, true, |_| tiny());
            assert_eq!(program.slots as u64, trace.summary.peak_live_allocations, "{workload}");
            assert_eq!(program.peak_live_bytes, trace.summary.peak_live_bytes, "{workload}");
            let mut taken = vec![false; program.slots];
            for step in &program.steps {
                match *step {
                    Step::Create { slot, .. } => assert!(!std::mem::replace(&mut taken[slot], true)),
                    Step::Drop { slot, .. } => assert!(std::mem::replace(&mut taken[slot], false)),
                    Step::EndFrame => {}
                }
            }
            let ends = program.steps[..program.second_half].iter().filter(|step| **step == Step::EndFrame);
            assert_eq!(ends.count() as u64, trace.summary.frames / 2);
        }
    }

    const CAPTURED: &str = "#tenure-recording=2\n\
        #api=vulkan\n\
        op,id,size,align,kind,frame,more\n\
        alloc,1,32768,1024,gpu_only+optimal,0,extent=64x64x1 format=37 usage=0x6\n\
        alloc,2,5000000,4096,cpu_to_gpu+linear,0,import\n\
        alias,3,4096,256,gpu_only+linear,0,of=1\n\
        alloc,4,65536,1024,gpu_only+optimal,0,extent=64x64x1 format=999 name=rock\n\
        alloc,5,300,4,cpu_to_gpu+linear,0,heap=local\n\
        alloc,6,300,4,cpu_to_gpu+linear,0,heap=host\n\
        free,3,4096,,,0,\n\
        free,2,5000000,,,0,final\n\
        submit,1,,,,0,\n\
        free,1,32768,,,0,final\n";

    #[test]
    fn imports_and_aliases_are_left_out_and_final_frees_are_marked() {
        let trace = read_all(CAPTURED.as_bytes(), "captured").unwrap();
        let program = Program::new(&trace, false, |_| tiny());
        let texture = |slot, index| Step::Create { slot, what: What::Texture(index) };
        let buffer = |slot, memory| Step::Create { slot, what: What::Buffer { size: 300, align: 4, memory } };
        let steps = [
            texture(0, 0),
            texture(1, 1),
            buffer(2, MemoryUse::GpuUpload),
            buffer(3, MemoryUse::Upload),
            Step::Drop { slot: 0, is_final: true },
        ];
        assert_eq!(program.steps, steps);
        assert_eq!((program.ids, program.peak_live_bytes), (vec![1, 4, 5, 6], 98_904));
        assert_eq!(program.names, HashMap::from([(1, "rock".into())]));
    }

    #[test]
    fn a_recorded_image_has_the_size_of_the_replaying_device() {
        let trace = read_all(CAPTURED.as_bytes(), "captured").unwrap();
        let device = sim::Device::new(sim::Profile::D3D12_TIER2);
        let program = Program::new(&trace, true, |wanted| Shape::wanted(&device, wanted));
        let image = program.shapes[0];
        assert_eq!((image.width, image.height, image.format), (64, 64, Format::Rgba8Unorm));
        let needed = image.image_bytes.unwrap();
        assert!((16_384..=65_536).contains(&needed), "{needed}");
        assert_eq!(program.shapes[1].image_bytes, None, "an unknown format");
        assert_eq!(program.peak_live_bytes, needed + 65_536 + 600);

        let other = CAPTURED.replace("api=vulkan", "api=d3d12");
        let trace = read_all(other.as_bytes(), "captured").unwrap();
        let program = Program::new(&trace, true, |wanted| Shape::wanted(&device, wanted));
        assert_eq!(program.shapes[0].image_bytes, None, "the formats of another API");
    }
}
