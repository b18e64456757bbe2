//! Colours, which people with any kind of colour vision can tell apart.

use egui::{Color32, Visuals};

/// The palette of Okabe and Ito (*Color universal design*, 2008), without its black and its vermilion, which
/// marks the selection.
pub(crate) const PALETTE: [Color32; 6] = [
    Color32::from_rgb(0x00, 0x72, 0xb2),
    Color32::from_rgb(0xe6, 0x9f, 0x00),
    Color32::from_rgb(0x00, 0x9e, 0x73),
    Color32::from_rgb(0xcc, 0x79, 0xa7),
    Color32::from_rgb(0x56, 0xb4, 0xe9),
    Color32::from_rgb(0xf0, 0xe4, 0x42),
];

/// The colour of all groups beyond the palette.
pub(crate) const REST: Color32 = Color32::from_rgb(0x8a, 0x8f, 0x98);

/// The colour of the selection and of limits.
pub(crate) const MARK: Color32 = Color32::from_rgb(0xd5, 0x5e, 0x00);

/// The colour of a group by its number.
pub(crate) fn of_group(group: usize) -> Color32 {
    PALETTE.get(group).copied().unwrap_or(REST)
}

/// Free bytes of blocks that hold something, and blocks that hold nothing.
pub(crate) fn free(visuals: &Visuals) -> [Color32; 2] {
    if visuals.dark_mode {
        [Color32::from_gray(0x60), Color32::from_gray(0x3c)]
    } else {
        [Color32::from_gray(0xb4), Color32::from_gray(0xdc)]
    }
}

/// The colour of an object's age, from light (new) to dark (old), by the logarithm of the frames since its creation.
pub(crate) fn of_age(frames: u64) -> Color32 {
    const NEW: [f32; 3] = [253.0, 231.0, 180.0];
    const OLD: [f32; 3] = [10.0, 60.0, 110.0];
    // 2^16 frames are 18 minutes at 60 a second.
    let share = (frames.saturating_add(1).ilog2() as f32 / 16.0).min(1.0);
    let mixed = |channel: usize| (NEW[channel] + (OLD[channel] - NEW[channel]) * share) as u8;
    Color32::from_rgb(mixed(0), mixed(1), mixed(2))
}
