//! The whole suite under the validation layers, with everything a device offers and without.

use std::time::Duration;

use tenure_vulkan::{ApiVersion, DeviceConfig, OptionalFeatures};

use crate::disguise::Costume;
use crate::harness::{Vulkan, in_buffers, validated};

/// Everything that the device offers.
mod full {
    conformance::suite!(super::full());
}

/// Nothing that is optional: fences, older barriers, no dedicated allocations, no addresses.
mod bare {
    conformance::suite!(super::bare());
}

/// Vulkan 1.1, with extensions for features of later versions.
mod oldest {
    conformance::suite!(super::oldest());
}

/// An engine's device without listed features: fences, on queues that can be held.
mod wrapped {
    conformance::suite!(super::wrapped());
}

/// Descriptors in buffers, where the device can: there are no sets.
mod buffers {
    conformance::suite!(super::buffers());
}

/// Three queue families, memory that is not coherent, buffers and textures apart, an array for each type of
/// descriptor.
mod discrete {
    conformance::suite!(super::discrete());
}

/// The same with fences and older barriers.
mod discrete_bare {
    conformance::suite!(super::discrete_bare());
}

fn full() -> Vulkan {
    let sizes = &[[1920, 1080], [3840, 2160]];
    Vulkan::new(validated()).threads(Duration::from_secs(1)).rendering(12, sizes)
}

/// Steady frames on the devices that are variations: a thousand of them are enough on the first.
const STEADY: u64 = 200;

fn bare() -> Vulkan {
    Vulkan::new(validated().without(OptionalFeatures::all())).frames(STEADY)
}

fn oldest() -> Vulkan {
    Vulkan::new(validated().api_version(ApiVersion::V1_1)).frames(STEADY)
}

fn buffers() -> Vulkan {
    Vulkan::new(in_buffers()).frames(STEADY)
}

fn wrapped() -> Vulkan {
    Vulkan::wrapping(&DeviceConfig::default().without(OptionalFeatures::all())).frames(STEADY)
}

fn discrete() -> Vulkan {
    let options = DeviceConfig::default().without(OptionalFeatures::MUTABLE_DESCRIPTORS);
    Vulkan::disguised(Costume::discrete(), &options).frames(STEADY)
}

/// Sparse memory stays: without timeline semaphores it is ordered in another way.
fn discrete_bare() -> Vulkan {
    let sparse = OptionalFeatures::SPARSE_BUFFERS | OptionalFeatures::SPARSE_TEXTURES;
    Vulkan::disguised(
        Costume::discrete(),
        &DeviceConfig::default().without(OptionalFeatures::all().difference(sparse)),
    )
    .frames(STEADY)
}
