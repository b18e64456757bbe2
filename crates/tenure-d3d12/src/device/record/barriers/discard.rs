//! `DiscardResource`: contents become undefined.

use tenure_core::device::{CallRule, DeviceError, QueueKind, ResourceDesc, State, Subresource, Usage, check};
use windows::Win32::Graphics::Direct3D12::D3D12_DISCARD_REGION;

use super::legacy::subresources;
use crate::device::record::list::List;
use crate::device::resource::object::Resource;

/// True if the API can discard such textures on the queue: graphics queues discard only targets. Textures with
/// unordered access only do not need it on any queue.
pub(super) fn is_recorded(kind: QueueKind, usage: Usage) -> bool {
    kind == QueueKind::Compute || usage.intersects(Usage::TEXTURE_ONLY)
}

impl List {
    pub(crate) fn record_discard(
        &mut self,
        resource: &Resource,
        subresource: Subresource,
    ) -> Result<(), DeviceError> {
        self.check_owner(resource)?;
        let ResourceDesc::Texture(info) = &resource.desc else {
            return Err(DeviceError::broken_rule(CallRule::IsTexture));
        };
        check::subresource(&resource.desc, subresource)?;
        if State::to_discard(info.usage, self.kind).is_none() {
            return Err(DeviceError::cannot_discard(info.usage));
        }
        if !is_recorded(self.kind, info.usage) {
            return Ok(());
        }
        if subresource == Subresource::All {
            // SAFETY: the list is open and of a kind that discards such textures, and the texture is alive.
            // Without a region all of it is discarded.
            unsafe { self.raw.DiscardResource(&resource.raw, None) };
            return Ok(());
        }
        for index in subresources(&resource.desc, subresource) {
            let region =
                D3D12_DISCARD_REGION { FirstSubresource: index, NumSubresources: 1, ..Default::default() };
            // SAFETY: as above; the subresource exists, and no rectangles mean all of it.
            unsafe { self.raw.DiscardResource(&resource.raw, Some(&raw const region)) };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphics_queues_discard_targets_and_compute_queues_storage() {
        for (kind, usage, expected) in [
            (QueueKind::Graphics, Usage::RENDER_TARGET, true),
            (QueueKind::Graphics, Usage::DEPTH_STENCIL, true),
            (QueueKind::Graphics, Usage::UNORDERED_ACCESS, false),
            (QueueKind::Graphics, Usage::UNORDERED_ACCESS | Usage::RENDER_TARGET, true),
            (QueueKind::Compute, Usage::UNORDERED_ACCESS, true),
        ] {
            assert_eq!(is_recorded(kind, usage), expected, "{usage:?} on {kind:?}");
        }
    }
}
