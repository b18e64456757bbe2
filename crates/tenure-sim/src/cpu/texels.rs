//! Direct writes of texels by the CPU.

use std::sync::Arc;

use smallvec::SmallVec;
use tenure_core::device::{
    CallRule, DeviceError, Features, ResourceDesc, State, Subresource, TEXTURE_WRITES, TextureInfo,
    TextureWrite, Usage, check,
};

use crate::hazard::{Checks, HazardKind};
use crate::layout::Span;
use crate::memory::Memory;
use crate::resource::{Resource, ResourceState};
use crate::shared::Shared;

const CALL: &str = "write_texture";

/// The states whose layouts a driver lists that writes texels in the GPU's own format.
const STATES: State = State::SHADER_READ
    .union(State::COPY_SRC)
    .union(State::RESOLVE_SRC)
    .union(State::COPY_DST)
    .union(State::RESOLVE_DST)
    .union(State::UNORDERED);

impl Shared {
    pub(crate) fn texture_write_states(&self, info: &TextureInfo) -> State {
        let mut info = info.clone();
        info.usage |= Usage::CPU_WRITE;
        let desc = ResourceDesc::Texture(info);
        if self.requirements_of(&desc).is_ok() { STATES } else { State::COMMON }
    }

    pub(crate) fn write_texture(
        &self,
        texture: &Resource,
        states: (State, State),
        writes: &[TextureWrite<'_>],
    ) -> Result<(), DeviceError> {
        if !self.properties.features.contains(Features::TEXTURE_WRITES) {
            return Err(DeviceError::Unsupported { feature: TEXTURE_WRITES });
        }
        let texture = &texture.state;
        if texture.device != self.number {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        let ResourceDesc::Texture(info) = &texture.desc else {
            return Err(DeviceError::invalid_value(CallRule::IsTexture, texture.label.id));
        };
        check::texture_writes(info, states, STATES, writes)?;
        self.check_texture_write(texture)?;
        let mut written: SmallVec<[u32; 16]> = writes.iter().map(|write| write.subresource(info)).collect();
        written.sort_unstable();
        written.dedup();
        for subresource in written {
            let which = subresource..subresource.saturating_add(1);
            let found = texture.states.lock().write_by_cpu(which, states);
            if let Err(wrong) = found {
                self.report(Checks::STATES, wrong.kind(), &[&texture.label], wrong, CALL);
            }
            if states.0.is_empty() {
                self.lose_contents(texture, subresource);
            }
        }
        writes.iter().for_each(|write| self.write_texels(texture, write));
        Ok(())
    }

    /// Checks that the bytes are the texture's, and that work in flight does not use it.
    fn check_texture_write(&self, texture: &Arc<ResourceState>) -> Result<(), DeviceError> {
        if let Some(freed) = texture.freed() {
            let detail = format!("it is written after {freed} was destroyed");
            self.report(Checks::LIFETIME, HazardKind::WriteOfFreed, &[&texture.label], detail, CALL);
            return Err(DeviceError::invalid_value(
                "a texture is not written after it is destroyed",
                texture.label.id,
            ));
        }
        if let Some((queue, serial)) = texture.last_use.first_after(&self.observed) {
            let queue = queue.0;
            let detail = format!(
                "the CPU writes texels, and submission {serial} on queue {queue} uses the texture and has not been seen \
                 complete"
            );
            self.report(Checks::MAPPING, HazardKind::MappingHazard, &[&texture.label], detail, CALL);
        }
        if let (Memory::Placed { heap, tenant, offset, size }, true) =
            (&texture.memory, self.checks.contains(Checks::ALIASING))
        {
            for previous in heap.claim(*offset..offset + size, tenant) {
                let detail = format!("{} used their common bytes last", previous.label);
                let kind = HazardKind::MissingAliasingBarrier;
                self.report(Checks::ALIASING, kind, &[&texture.label, &previous.label], detail, CALL);
            }
        }
        Ok(())
    }

    fn lose_contents(&self, texture: &ResourceState, subresource: u32) {
        if self.checks.contains(Checks::INITIALIZED) {
            let ranges = texture.layout.ranges(&Span::Subresource(Subresource::One(subresource)));
            ranges.into_iter().for_each(|range| texture.written.remove(range));
        }
    }

    fn write_texels(&self, texture: &ResourceState, write: &TextureWrite<'_>) {
        texture.layout.runs(&write.region, |run| {
            // The rows were checked to hold the region.
            let row = run.slice * u64::from(write.rows) + run.row;
            let start = (row * write.row_pitch + run.column) as usize;
            if let Some(bytes) = write.bytes.get(start..start + run.bytes as usize) {
                texture.memory.write(run.offset, bytes);
            }
            if self.checks.contains(Checks::INITIALIZED) {
                let written = run.offset..run.offset + run.bytes;
                texture.initialized.iter().for_each(|initialized| initialized.insert(written.clone()));
                texture.written.insert(written);
            }
        });
    }
}
