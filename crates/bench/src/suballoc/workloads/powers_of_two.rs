//! W7: powers of two.

use super::{Scale, churn};
use crate::suballoc::rng::Rng;
use crate::suballoc::trace::Trace;

/// 256 to 64 Ki, align 256, about 10,000 live, 1 M calls.
pub(super) fn trace(mut rng: Rng, scale: Scale) -> Trace {
    let request = |rng: &mut Rng| (1 << rng.between(8, 16), 256);
    let any = |rng: &mut Rng, len| rng.index(len);
    let recorder = churn(&mut rng, 10_000, scale.calls(1_000_000), request, any);
    recorder.finish("W7", "powers of two 256..64 Ki", 256)
}
