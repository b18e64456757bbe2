//! What APIs ask of copies between buffers and textures.

use crate::device::{DeviceError, QueueKind, TextureInfo, TextureRegion};

/// Whether a queue copies such texels at all.
///
/// # Errors
/// [`DeviceError::InvalidCall`] with the rule that it breaks.
pub(crate) fn check_region(
    info: &TextureInfo,
    region: TextureRegion,
    queue: QueueKind,
) -> Result<(), DeviceError> {
    let refuse = |rule, value, limit| Err(DeviceError::InvalidCall { rule, value, limit });
    if let Err((rule, value, limit)) = region.check(info) {
        return refuse(rule, value, limit);
    }
    if !info.format.is_depth() {
        return Ok(());
    }
    if info.format.has_stencil() {
        return refuse("depth and stencil are not copied as one (planes)", 2, 1);
    }
    if queue != QueueKind::Graphics {
        return refuse("depth is copied on a graphics queue (kind of queue)", queue as u64, 0);
    }
    let is_whole = region.origin == [0; 3] && region.extent == info.mip_extent(region.mip);
    if is_whole {
        Ok(())
    } else {
        refuse("depth is copied a whole mip at a time (mip)", u64::from(region.mip), 0)
    }
}
