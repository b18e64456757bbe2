//! Mips generated from the next larger ones with a linear filter, like Vulkan's blits.

use tenure_core::device::{Format, Plane, TextureRegion};

use crate::resource::ResourceState;

/// The kind of a channel's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unorm,
    Snorm,
    Srgb,
    /// 16 bits with a sign, 11 or 10 without; 5 of them are the exponent.
    Float,
}

use Kind::{Float, Snorm, Srgb, Unorm};

/// The bits and the kind of each channel, from the lowest bit on: of the formats that every Vulkan device blits with a linear
/// filter. Empty for others.
const fn channels(format: Format) -> &'static [(u32, Kind)] {
    match format {
        Format::R8Unorm => &[(8, Unorm)],
        Format::R8Snorm => &[(8, Snorm)],
        Format::Rg8Unorm => &[(8, Unorm); 2],
        Format::Rg8Snorm => &[(8, Snorm); 2],
        Format::Rgba8Unorm | Format::Bgra8Unorm => &[(8, Unorm); 4],
        Format::Rgba8Snorm => &[(8, Snorm); 4],
        Format::Rgba8Srgb | Format::Bgra8Srgb => &[(8, Srgb), (8, Srgb), (8, Srgb), (8, Unorm)],
        Format::B5G6R5Unorm => &[(5, Unorm), (6, Unorm), (5, Unorm)],
        Format::Bgr5A1Unorm => &[(5, Unorm), (5, Unorm), (5, Unorm), (1, Unorm)],
        Format::Rgb10A2Unorm => &[(10, Unorm), (10, Unorm), (10, Unorm), (2, Unorm)],
        Format::R11G11B10Float => &[(11, Float), (11, Float), (10, Float)],
        Format::R16Float => &[(16, Float)],
        Format::Rg16Float => &[(16, Float); 2],
        Format::Rgba16Float => &[(16, Float); 4],
        _ => &[],
    }
}

/// True for formats whose mips can be filled.
pub(crate) const fn are_filled(format: Format) -> bool {
    !channels(format).is_empty()
}

/// Fills a mip of a layer from the next larger one. Both exist, and the texture has one sample.
pub(crate) fn fill(resource: &ResourceState, mip: u32, layer: u32) {
    let (layout, memory) = (&resource.layout, &resource.memory);
    let Some(info) = layout.texture() else { return };
    let (channels, texel) = (channels(info.format), info.format.block().bytes as usize);
    let (from, to) = (info.mip_extent(mip - 1), info.mip_extent(mip));
    let row = |mip, [width, ..]: [u32; 3], y, z| TextureRegion {
        mip,
        layer,
        plane: Plane::First,
        origin: [0, y, z],
        extent: [width, 1, 1],
    };
    let mut read = vec![0; from[0] as usize * texel];
    let mut written = vec![0; to[0] as usize * texel];
    let mut sums = vec![0.0; to[0] as usize * channels.len()];
    for (z, y) in (0..to[2]).flat_map(|z| (0..to[1]).map(move |y| (z, y))) {
        sums.fill(0.0);
        for (slice, by_z) in taps(z, from[2], to[2]) {
            for (line, by_y) in taps(y, from[1], to[1]) {
                layout.runs(&row(mip - 1, from, line, slice), |run| {
                    let at = run.column as usize;
                    memory.read(run.offset, &mut read[at..at + run.bytes as usize]);
                });
                for (x, sums) in (0..to[0]).zip(sums.chunks_exact_mut(channels.len())) {
                    for (column, by_x) in taps(x, from[0], to[0]) {
                        let at = column as usize * texel;
                        add(sums, channels, &read[at..at + texel], by_x * by_y * by_z);
                    }
                }
            }
        }
        for (texel, sums) in written.chunks_exact_mut(texel).zip(sums.chunks_exact(channels.len())) {
            store(texel, channels, sums);
        }
        layout.runs(&row(mip, to, y, z), |run| {
            let at = run.column as usize;
            memory.write(run.offset, &written[at..at + run.bytes as usize]);
        });
    }
}

/// The one or two texels of `from` along an axis that lie around texel `at` of `to`, with their weights.
fn taps(at: u32, from: u32, to: u32) -> impl Iterator<Item = (u32, f64)> {
    let position = ((f64::from(at) + 0.5) * f64::from(from) / f64::from(to) - 0.5).max(0.0);
    let (first, weight) = (position.floor() as u32, position.fract());
    [(first, 1.0 - weight), ((first + 1).min(from - 1), weight)]
        .into_iter()
        .filter(|(_, weight)| *weight > 0.0)
}

/// Adds the channels of a texel, with a weight.
fn add(sums: &mut [f64], channels: &[(u32, Kind)], texel: &[u8], weight: f64) {
    let mut bytes = [0; 8];
    bytes[..texel.len()].copy_from_slice(texel);
    let mut rest = u64::from_le_bytes(bytes);
    for (sum, (bits, kind)) in sums.iter_mut().zip(channels) {
        *sum += weight * value(rest & ((1 << bits) - 1), *bits, *kind);
        rest = rest.checked_shr(*bits).unwrap_or(0);
    }
}

/// Writes the channels of a texel.
fn store(texel: &mut [u8], channels: &[(u32, Kind)], sums: &[f64]) {
    let (mut all, mut shift) = (0, 0);
    for (sum, (bits, kind)) in sums.iter().zip(channels) {
        all |= raw(*sum, *bits, *kind) << shift;
        shift += bits;
    }
    texel.copy_from_slice(&all.to_le_bytes()[..texel.len()]);
}

/// The bits of a float's mantissa, of `bits` in all.
const fn mantissa(bits: u32) -> u32 {
    if bits == 16 { 10 } else { bits - 5 }
}

fn value(raw: u64, bits: u32, kind: Kind) -> f64 {
    let unorm = raw as f64 / ((1_u64 << bits) - 1) as f64;
    match kind {
        Unorm => unorm,
        Srgb if unorm <= 0.040_45 => unorm / 12.92,
        Srgb => ((unorm + 0.055) / 1.055).powf(2.4),
        Snorm => {
            let half = 1_i64 << (bits - 1);
            let signed = (raw as i64 + half) % (2 * half) - half;
            (signed as f64 / (half - 1) as f64).max(-1.0)
        }
        Float => {
            let size = mantissa(bits);
            let (exponent, fraction) = (raw >> size & 31, (raw & ((1 << size) - 1)) as f64);
            let sign = if raw >> size >> 5 == 1 { -1.0 } else { 1.0 };
            let one = f64::from(1_u32 << size);
            sign * match exponent {
                0 => fraction / one / 16_384.0,
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                exponent => (1.0 + fraction / one) * f64::from(exponent as i32 - 15).exp2(),
            }
        }
    }
}

fn raw(value: f64, bits: u32, kind: Kind) -> u64 {
    let most = ((1_u64 << bits) - 1) as f64;
    match kind {
        Unorm => (value * most).round() as u64,
        Srgb if value <= 0.003_130_8 => (value * 12.92 * most).round() as u64,
        Srgb => ((1.055 * value.powf(1.0 / 2.4) - 0.055) * most).round() as u64,
        Snorm => {
            let half = 1_i64 << (bits - 1);
            let signed = (value * (half - 1) as f64).round() as i64;
            ((signed + 2 * half) % (2 * half)) as u64
        }
        Float => {
            let size = mantissa(bits);
            let sign = u64::from(value < 0.0) << size << 5;
            let infinity = 31_u64 << size;
            if value.is_nan() {
                return infinity + 1;
            }
            if value.is_infinite() {
                return sign | infinity;
            }
            let exponent = value.abs().log2().floor().max(-14.0);
            let steps = (value.abs() / (exponent - f64::from(size)).exp2()).round_ties_even() as u64;
            sign | (((exponent + 14.0) as u64) << size).saturating_add(steps).min(infinity)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_a_channel_is_kept() {
        for (bits, kind) in Format::ALL.iter().flat_map(|format| channels(*format)) {
            for found in 0..1_u64 << bits {
                let value = value(found, *bits, *kind);
                let again = raw(value, *bits, *kind);
                // The lowest number of Snorm has two forms, and so have 0 and "not a number" of floats.
                let lowest = u64::from(*kind == Snorm && found == 1 << (bits - 1));
                let is_same = again == found + lowest || value.is_nan() || value == 0.0 && again == 0;
                assert!(is_same, "{kind:?} of {bits} bits: {found:#x} is {value}, and {again:#x} again");
            }
        }
    }

    #[test]
    fn the_bits_of_channels_are_those_of_the_format() {
        for format in Format::ALL.iter().copied().filter(|format| are_filled(*format)) {
            let bits: u32 = channels(format).iter().map(|(bits, _)| bits).sum();
            assert_eq!(bits, format.block().bytes * 8, "{format:?}");
        }
    }

    #[test]
    fn taps_of_even_and_odd_sides_stay_inside() {
        let of = |at, from, to| taps(at, from, to).collect::<Vec<_>>();
        assert_eq!(of(3, 8, 4), [(6, 0.5), (7, 0.5)]);
        assert_eq!(of(0, 1, 1), [(0, 1.0)]);
        assert_eq!(of(0, 3, 1), [(1, 1.0)]);
        assert_eq!(of(0, 5, 2), [(0, 0.25), (1, 0.75)]);
        assert_eq!(of(1, 5, 2), [(3, 0.75), (4, 0.25)]);
    }
}
