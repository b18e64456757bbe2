//! The rows.

use std::ops::RangeInclusive;

use super::{AMD, Actions, DriverVersion, Drivers, Fault, INTEL, NVIDIA, Resources};

type Devices = &'static [RangeInclusive<u32>];

const fn range(high_byte: u32) -> RangeInclusive<u32> {
    high_byte << 8..=high_byte << 8 | 0xff
}

// The generations of Intel's GPUs have device numbers of their own
// (https://dgpu-docs.intel.com/devices/hardware-table.html; `src/dawn/gpu_info.json` of Dawn).
const SKYLAKE: RangeInclusive<u32> = range(0x19);
const GEN_9: Devices =
    &[SKYLAKE, range(0x31), range(0x3e), range(0x5a), range(0x59), range(0x87), range(0x9b)];
const GEN_9_AND_11: Devices = &[
    SKYLAKE,
    range(0x31),
    range(0x3e),
    range(0x5a),
    range(0x59),
    range(0x87),
    range(0x9b),
    range(0x8a),
    range(0x45),
    range(0x4e),
    range(0x98),
];
/// All of Gen 9 but Skylake, and Gen 11.
const GEN_9_5_AND_11: Devices = &[
    range(0x31),
    range(0x3e),
    range(0x5a),
    range(0x59),
    range(0x87),
    range(0x9b),
    range(0x8a),
    range(0x45),
    range(0x4e),
    range(0x98),
];
const GEN_12_LP: Devices = &[range(0x46), range(0x4c), range(0x49), range(0x9a), range(0xa7)];
/// Gen 12 of both kinds, and Xe-LPG.
const GEN_12: Devices = &[
    range(0x46),
    range(0x4c),
    range(0x49),
    range(0x9a),
    range(0xa7),
    range(0x4f),
    range(0x56),
    range(0x7d),
    range(0xb6),
];
const GEN_12_HP_AND_XE_LPG: Devices = &[range(0x4f), range(0x56), range(0x7d), range(0xb6)];
const GEN_12_LP_AND_HP: Devices =
    &[range(0x46), range(0x4c), range(0x49), range(0x9a), range(0xa7), range(0x4f), range(0x56)];
/// The devices that Mesa's `iris_pci_ids.h` calls Iris Xe: Tiger Lake, Alder Lake P, Raptor Lake P and U, DG1.
const IRIS_XE: Devices = &[0x9a40..=0x9a49, 0x46a6..=0x46aa, 0xa7a0..=0xa7a1, 0x4905..=0x4908];

/// A fault of Intel's drivers on every Windows.
const fn intel(
    devices: Devices,
    resources: Resources,
    actions: Actions,
    [fault, source]: [&'static str; 2],
) -> Fault {
    Fault {
        vendor: INTEL,
        devices,
        drivers: Drivers::All,
        windows_from: 0,
        resources,
        actions,
        fault,
        source,
    }
}

/// A fault of Intel's drivers from a version on.
const fn intel_from(
    version: [u16; 4],
    devices: Devices,
    resources: Resources,
    actions: Actions,
    texts: [&'static str; 2],
) -> Fault {
    Fault { drivers: Drivers::From(DriverVersion(version)), ..intel(devices, resources, actions, texts) }
}

const LOST_LAYERS: &str = "copies between depth textures are lost beyond the first subresource";
const CRBUG_DAWN_1083: &str = "https://crbug.com/dawn/1083";
const DIRTY_TARGETS: &str = "what draws and copies write to placed 2D textures shows other contents";
const DIRTY_DEPTH: &str = "copies to placed depth textures are wrong unless the memory was clean before";
const CRBUG_1237175: &str =
    "https://crbug.com/1237175, https://crbug.com/dawn/1628, https://crbug.com/dawn/2032";
const CRBUG_DAWN_1487: &str = "https://crbug.com/dawn/1487";

/// All known faults that affect tenure.
///
/// Dawn clears copyable depth textures in placed memory, because that is dirty. Here they are committed and zeroed instead,
/// which is equally clean and needs no queue. Dawn does so, too, for textures that it commits for other reasons.
pub const TABLE: &[Fault] = &[
    intel(
        IRIS_XE,
        Resources::All,
        Actions::COMMIT,
        [
            "uploads to placed textures that are created again and again arrive wrongly",
            "https://github.com/gfx-rs/wgpu/issues/3552, https://github.com/gfx-rs/wgpu/pull/3668",
        ],
    ),
    intel(GEN_9_5_AND_11, Resources::WrittenTextures, Actions::COMMIT, [DIRTY_TARGETS, CRBUG_1237175]),
    Fault {
        vendor: AMD,
        devices: &[],
        drivers: Drivers::Before(DriverVersion([32, 0, 13_031, 8021])),
        windows_from: 0,
        resources: Resources::WrittenTextures,
        actions: Actions::COMMIT,
        fault: DIRTY_TARGETS,
        source: CRBUG_1237175,
    },
    Fault {
        vendor: INTEL,
        devices: &[],
        drivers: Drivers::UpTo(DriverVersion([27, 20, 100, 9664])),
        windows_from: 25_957,
        resources: Resources::All,
        actions: Actions::COMMIT,
        fault: "nothing can be placed with old drivers on newer builds of Windows 11",
        source: "https://crbug.com/dawn/2308",
    },
    Fault {
        vendor: INTEL,
        devices: GEN_12_LP,
        drivers: Drivers::Before(DriverVersion([30, 0, 101, 1692])),
        windows_from: 0,
        resources: Resources::ColorArrays,
        actions: Actions::SPARE_LAYERS,
        fault: "too little memory is reserved for the compression of 2D arrays",
        source: "https://crbug.com/dawn/949",
    },
    intel(
        GEN_9_AND_11,
        Resources::Textures,
        Actions::ZERO,
        ["committed textures that are not zeroed are corrupt", "https://crbug.com/dawn/484"],
    ),
    intel(
        GEN_12,
        Resources::DepthStencil,
        Actions::NO_CLEAR_VALUE,
        ["depth textures with a clear value are corrupt", CRBUG_DAWN_1487],
    ),
    intel(
        GEN_9,
        Resources::CopiedDepthStencil,
        Actions::COMMIT.union(Actions::ZERO),
        [DIRTY_DEPTH, CRBUG_DAWN_1487],
    ),
    intel(
        GEN_12,
        Resources::CopiedDepthStencil,
        Actions::COMMIT.union(Actions::ZERO),
        [DIRTY_DEPTH, CRBUG_DAWN_1487],
    ),
    intel_from(
        [31, 0, 101, 2121],
        GEN_9,
        Resources::CopiedDepthStencil,
        Actions::NO_LAYER_COPIES,
        [LOST_LAYERS, CRBUG_DAWN_1083],
    ),
    intel_from(
        [31, 0, 101, 4091],
        GEN_12_LP,
        Resources::CopiedDepthStencil,
        Actions::NO_LAYER_COPIES,
        [LOST_LAYERS, CRBUG_DAWN_1083],
    ),
    intel(
        GEN_12_HP_AND_XE_LPG,
        Resources::CopiedDepthStencil,
        Actions::NO_STENCIL_UPLOADS,
        [
            "copies from buffers to stencil are lost",
            "https://crbug.com/368085621, https://crbug.com/dawn/1389",
        ],
    ),
    intel_from(
        [30, 0, 101, 3413],
        GEN_12_LP_AND_HP,
        Resources::WrittenBuffers,
        Actions::CLEAR_RESULTS,
        [
            "results of queries are wrong where the same queries were written before",
            "https://crbug.com/dawn/1546, https://crbug.com/dawn/1823",
        ],
    ),
    Fault {
        vendor: NVIDIA,
        devices: &[],
        drivers: Drivers::All,
        windows_from: 0,
        resources: Resources::Textures,
        actions: Actions::COPY_SOURCE_TOO,
        fault: "transitions to what shaders read flush too little unless they name the source of copies, too",
        source: "https://crbug.com/356905061",
    },
    Fault {
        vendor: NVIDIA,
        devices: &[],
        drivers: Drivers::All,
        windows_from: 0,
        resources: Resources::D24S8,
        actions: Actions::STENCIL_EVERYWHERE,
        fault: "views of D24S8 that show stencil in the first component alone are wrong",
        source: "https://crbug.com/341254292",
    },
];
