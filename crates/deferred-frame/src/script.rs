//! The copies that replace the shaders of the passes, computed once for a frame size and a device.

use tenure::device::{Properties, StateModel};
use tenure::{State, device::QueueId, resource::TextureInfo, transient::TransientDesc};

use crate::DeferredFrame;
use crate::accessed_parts::{Part, parts};
use crate::frame::is_asked_for;

/// The least distance between parts in staging memory. No part is larger.
const GRAIN: u64 = 64;

/// A copy of one part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) resource: usize,
    pub(crate) part: Part,
    /// The number of the part of the resource.
    pub(crate) number: usize,
    pub(crate) bytes: u64,
    /// The offset of the part: in the pass's staging memory if it is written, in the queue's readback buffer if it
    /// is read.
    pub(crate) at: u64,
    /// The pass that wrote it.
    pub(crate) writer: usize,
}

/// The commands of a pass.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) queue: QueueId,
    pub(crate) name: &'static str,
    /// The resources that it uses.
    pub(crate) uses: Vec<usize>,
    /// The states that it declares, which its resources are in before and after it.
    pub(crate) states: Vec<(usize, State)>,
    /// The resources that no pass used before.
    pub(crate) first: Vec<usize>,
    /// The resources that no pass uses after it.
    pub(crate) last: Vec<usize>,
    /// The textures among `last` that another queue was the first to use, where textures have legacy states.
    pub(crate) left: Vec<usize>,
    /// The parts that it reads, before it writes.
    pub(crate) loads: Vec<Piece>,
    pub(crate) stores: Vec<Piece>,
    /// The bytes of staging memory for the parts that it writes.
    pub(crate) staged: u64,
}

/// The commands of all passes.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    /// Bytes that are read back from each queue.
    pub(crate) lanes: Vec<u64>,
    /// Bytes of staging memory of a frame.
    pub(crate) staged: u64,
    /// Bytes of the largest depth texture, with the row pitch of copies.
    pub(crate) depth: u64,
    /// The alignment in bytes of parts, and of the rows of depth textures.
    pub(crate) grain: u64,
}

impl Script {
    pub(crate) fn new(frame: &DeferredFrame, properties: &Properties) -> Self {
        let grain = GRAIN.max(properties.copy_offset_alignment).max(properties.copy_pitch_alignment);
        let resources = frame.resources();
        let parts: Vec<Vec<Part>> = resources.iter().map(|(_, desc)| parts(desc)).collect();
        let mut writers: Vec<Option<usize>> = vec![None; resources.len()];
        let mut script =
            Self { steps: Vec::new(), lanes: vec![0; properties.queues.len()], staged: 0, depth: 0, grain };
        for (index, pass) in frame.passes().iter().enumerate() {
            let queue = pass.queue.id(properties);
            let mut step = Step {
                queue,
                name: pass.name,
                uses: pass.uses.iter().map(|(resource, _)| *resource).collect(),
                states: Vec::new(),
                first: Vec::new(),
                last: Vec::new(),
                left: Vec::new(),
                loads: Vec::new(),
                stores: Vec::new(),
                staged: 0,
            };
            for &(resource, state) in &pass.uses {
                let (_, desc) = &resources[resource];
                if is_asked_for(desc, state) {
                    step.states.push((resource, state));
                }
                let pieces = |writer: usize, end: &mut u64, pieces: &mut Vec<Piece>| {
                    for (number, part) in parts[resource].iter().enumerate() {
                        let (bytes, at) = (part.bytes(desc), *end);
                        pieces.push(Piece { resource, part: *part, number, bytes, at, writer });
                        *end = (at + bytes).next_multiple_of(grain);
                    }
                };
                match (writers[resource], script.lanes.get_mut(queue.index())) {
                    (Some(writer), Some(lane)) => pieces(writer, lane, &mut step.loads),
                    _ => step.first.push(resource),
                }
                if state.is_write() {
                    pieces(index, &mut step.staged, &mut step.stores);
                    writers[resource] = Some(index);
                }
            }
            script.staged += step.staged;
            script.steps.push(step);
        }
        script.depth = depth_bytes(frame, grain);
        script.find_last_uses(frame, properties.state_model);
        script
    }

    /// The steps of unchecked frames: passes record only the copies that they are declared to make.
    pub(crate) fn unchecked(&self) -> Vec<Step> {
        let mut steps = self.steps.clone();
        for step in &mut steps {
            step.loads.clear();
            let states = &step.states;
            step.stores.retain(|piece| states.contains(&(piece.resource, State::COPY_DST)));
        }
        steps
    }

    fn find_last_uses(&mut self, frame: &DeferredFrame, model: StateModel) {
        let mut first = vec![None; frame.resources().len()];
        for step in &self.steps {
            step.first.iter().for_each(|resource| first[*resource] = Some(step.queue));
        }
        let mut is_used = vec![false; first.len()];
        for step in self.steps.iter_mut().rev() {
            for &resource in &step.uses {
                if std::mem::replace(&mut is_used[resource], true) {
                    continue;
                }
                step.last.push(resource);
                let has_states = model == StateModel::Promotion && frame.resources()[resource].1.is_texture();
                if has_states && first[resource] != Some(step.queue) {
                    step.left.push(resource);
                }
            }
        }
    }
}

/// Bytes from one row of a texture to the next in staging memory.
pub(crate) fn row_pitch(info: &TextureInfo, grain: u64) -> u64 {
    (u64::from(info.width) * u64::from(info.format.block().bytes)).next_multiple_of(grain)
}

fn depth_bytes(frame: &DeferredFrame, grain: u64) -> u64 {
    let bytes = frame.resources().iter().map(|(_, desc)| match desc {
        TransientDesc::Texture(desc) if desc.info.format.is_depth() => {
            row_pitch(&desc.info, grain) * u64::from(desc.info.height)
        }
        _ => 0,
    });
    bytes.max().unwrap_or(0)
}
