//! W2: log-normal sizes, most of them short-lived.

use super::{Scale, churn};
use crate::suballoc::rng::Rng;
use crate::suballoc::trace::Trace;

/// Median 16 Ki, sigma 2.2, 256 to 16 Mi, align 256, of those from 64 Ki on 30 % align 64 Ki; 70 %
/// of the frees hit the youngest fifth; about 5,000 live, 1 M calls.
pub(super) fn trace(mut rng: Rng, scale: Scale) -> Trace {
    let request = |rng: &mut Rng| {
        let size = rng.log_normal(16_384.0, 2.2, 256, 16 << 20);
        let coarse = size >= 64 << 10 && rng.percent(30);
        (size, if coarse { 64 << 10 } else { 256 })
    };
    let mostly_young = |rng: &mut Rng, len: usize| {
        let candidates = if rng.percent(70) { len.div_ceil(5) } else { len };
        len - 1 - rng.index(candidates)
    };
    let live = 5_000;
    let recorder = churn(&mut rng, live, scale.calls(1_000_000), request, mostly_young);
    recorder.finish("W2", "log-normal 256..16 Mi", 256)
}
