//! Checks that allocations do not overlap and are aligned.

use super::play::{Player, handles};
use crate::script::{Call, Script};
use crate::suballoc::check::Live;

/// The result of a check.
pub(super) struct Checked {
    /// Allocations, none of which overlapped with another or was not aligned.
    pub(super) allocations: usize,
}

/// Replays a script with a new allocator, and checks every allocation.
pub(super) fn check<P: Player>(script: &Script) -> Result<Checked, String> {
    let mut player = P::new()?;
    let mut handles = handles::<P>(script);
    let mut live = Live::default();
    let mut allocations = 0;
    for (line, call) in script.calls.iter().enumerate() {
        match call {
            Call::Allocate { slot, request } => {
                let handle = player.allocate(request)?;
                let (block, offset) = player.place(&handle);
                let fault = if offset.is_multiple_of(request.align) {
                    live.add(block, offset, offset + request.size)
                } else {
                    Err(format!("{offset} is no multiple of {}", request.align))
                };
                fault.map_err(|fault| format!("call {line}: {fault}"))?;
                handles[*slot] = Some(handle);
                allocations += 1;
            }
            Call::Free { slot } => {
                let Some(handle) = handles[*slot].take() else { continue };
                let (block, offset) = player.place(&handle);
                live.remove(block, offset);
                player.free(handle)?;
            }
            Call::EndFrame => {}
        }
    }
    handles.into_iter().flatten().try_for_each(|handle| player.free(handle))?;
    Ok(Checked { allocations })
}
