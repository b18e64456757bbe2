//! A recording prepared for a replay: a list of steps.

use std::collections::HashMap;

use tenure::MemoryUse;
use tenure_trace::{Event, Layout, MemoryKind, Trace};

use super::shape::Shape;

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
    /// Create an object and keep it in a slot, which is empty.
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
    },
    /// End the frame and begin the next.
    EndFrame,
}

/// A recording as steps over numbered slots, so that a replay needs no map from ids to objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The number of slots: the most objects that are live at once.
    pub slots: usize,
    /// The distinct textures.
    pub shapes: Vec<Shape>,
    /// The index of the step with which the second half of the frames begins; without frames, the
    /// middle of the steps.
    pub second_half: usize,
}

impl Program {
    /// Prepares a recording. `shape` finds a texture for a size and an alignment, in bytes; it is
    /// called once for each pair.
    ///
    /// O(events), and one call of `shape` for each distinct texture.
    pub fn new(trace: &Trace, shape: impl Fn(u64, u64) -> Shape) -> Self {
        let mut slots = Slots::default();
        let mut shapes = Shapes { find: shape, known: HashMap::new(), shapes: Vec::new() };
        let step = |event: &Event| match *event {
            Event::Alloc { id, size, align, kind, .. } => {
                let what = match kind.layout {
                    Layout::Linear => What::Buffer { size, align, memory: memory_use(kind.memory) },
                    Layout::Optimal => What::Texture(shapes.index(size, align)),
                };
                Some(Step::Create { slot: slots.take(id), what })
            }
            // A checked recording frees only its own allocations.
            Event::Free { id, .. } => slots.release(id).map(|slot| Step::Drop { slot }),
            Event::Frame { .. } => Some(Step::EndFrame),
            _ => None,
        };
        let steps: Vec<_> = trace.events.iter().filter_map(step).collect();
        let second_half = second_half(&steps, trace.summary.frames);
        Self { steps, slots: slots.used, shapes: shapes.shapes, second_half }
    }
}

const fn memory_use(kind: MemoryKind) -> MemoryUse {
    match kind {
        MemoryKind::GpuOnly => MemoryUse::GpuOnly,
        MemoryKind::CpuToGpu => MemoryUse::Upload,
        MemoryKind::GpuToCpu => MemoryUse::Readback,
    }
}

fn second_half(steps: &[Step], frames: u64) -> usize {
    let middle = usize::try_from(frames / 2).unwrap_or(usize::MAX);
    let mut ends = steps.iter().enumerate().filter(|(_, step)| **step == Step::EndFrame);
    ends.nth(middle).map_or(steps.len() / 2, |(index, _)| index)
}

/// Assigns a slot number to each live id; the numbers of freed ids are reused first.
#[derive(Default)]
struct Slots {
    of_id: HashMap<u64, usize>,
    free: Vec<usize>,
    used: usize,
}

impl Slots {
    fn take(&mut self, id: u64) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        });
        self.of_id.insert(id, slot);
        slot
    }

    fn release(&mut self, id: u64) -> Option<usize> {
        let slot = self.of_id.remove(&id)?;
        self.free.push(slot);
        Some(slot)
    }
}

/// The distinct textures of a recording.
struct Shapes<F> {
    find: F,
    known: HashMap<(u64, u64), usize>,
    shapes: Vec<Shape>,
}

impl<F: Fn(u64, u64) -> Shape> Shapes<F> {
    fn index(&mut self, size: u64, align: u64) -> usize {
        *self.known.entry((size, align)).or_insert_with(|| {
            self.shapes.push((self.find)(size, align));
            self.shapes.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tenure::{Format, MemoryUse};
    use tenure_trace::{Trace, Workload, generate, read_all};

    use super::super::Shape;
    use super::{Program, Step, What};

    const SHAPE: Shape = Shape { width: 1, height: 1, layers: 1, samples: 1, format: Format::R8Unorm };

    #[test]
    fn slots_are_used_again_and_textures_are_shaped_once() {
        let text = "op,id,size,align,kind,frame\n\
                    alloc,70,10,4,cpu_to_gpu+linear,0\n\
                    alloc,3,4096,64,gpu_only+optimal,0\n\
                    frame,,,,,5\n\
                    free,70,10,,,5\n\
                    alloc,71,4096,64,gpu_only+optimal,5\n\
                    free,3,4096,,,5\n";
        let trace = read_all(text.as_bytes(), "text").unwrap();
        let asked = RefCell::new(Vec::new());
        let program = Program::new(&trace, |size, align| {
            asked.borrow_mut().push((size, align));
            SHAPE
        });
        let upload = What::Buffer { size: 10, align: 4, memory: MemoryUse::Upload };
        let steps = vec![
            Step::Create { slot: 0, what: upload },
            Step::Create { slot: 1, what: What::Texture(0) },
            Step::EndFrame,
            Step::Drop { slot: 0 },
            Step::Create { slot: 0, what: What::Texture(0) },
            Step::Drop { slot: 1 },
        ];
        assert_eq!(program, Program { steps, slots: 2, shapes: vec![SHAPE], second_half: 2 });
        assert_eq!(asked.into_inner(), [(4096, 64)]);
    }

    #[test]
    fn the_number_of_slots_is_the_peak_of_live_objects() {
        for workload in Workload::ALL {
            let trace = Trace::from_events(generate(workload, 3, 4000)).unwrap();
            let program = Program::new(&trace, |_, _| SHAPE);
            assert_eq!(program.slots as u64, trace.summary.peak_live_allocations, "{workload}");
            let mut taken = vec![false; program.slots];
            for step in &program.steps {
                match *step {
                    Step::Create { slot, .. } => assert!(!std::mem::replace(&mut taken[slot], true)),
                    Step::Drop { slot } => assert!(std::mem::replace(&mut taken[slot], false)),
                    Step::EndFrame => {}
                }
            }
            let ends = program.steps[..program.second_half].iter().filter(|step| **step == Step::EndFrame);
            assert_eq!(ends.count() as u64, trace.summary.frames / 2);
        }
    }
}
