//! Each row on invented adapters: ones that have the fault, and their neighbours.

use tenure_core::TextureDesc;
use tenure_core::device::{BufferInfo, Format, ResourceDesc, Usage};

use super::*;

const NEWEST: DriverVersion = DriverVersion([u16::MAX; 4]);
const NEW_WINDOWS: u32 = 26_100;

fn adapter(vendor: u32, device: u32, driver: [u16; 4], build: u32) -> Workarounds {
    let driver = Some(DriverVersion(driver));
    Workarounds::of(&AdapterId { vendor, device, driver, windows_build: Some(build) })
}

fn intel(device: u32) -> Workarounds {
    adapter(INTEL, device, NEWEST.0, NEW_WINDOWS)
}

fn texture(format: Format, usage: Usage) -> ResourceDesc {
    // Without the copies that the builder adds.
    ResourceDesc::Texture(TextureDesc::d2(64, 64, format, usage).info.usage(usage))
}

fn layered(layers: u32) -> ResourceDesc {
    ResourceDesc::Texture(TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).layers(layers).info)
}

/// A buffer, a texture that is only read, one that is uploaded to, a target, depth, and depth that is
/// uploaded to.
fn kinds() -> [ResourceDesc; 6] {
    let depth = Usage::DEPTH_STENCIL;
    [
        ResourceDesc::Buffer(BufferInfo::new(64, Usage::VERTEX | Usage::COPY_DST)),
        texture(Format::Rgba8Unorm, Usage::SHADER_READ),
        texture(Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_DST),
        texture(Format::Rgba8Unorm, Usage::RENDER_TARGET),
        texture(Format::D24UnormS8Uint, depth),
        texture(Format::D24UnormS8Uint, depth | Usage::COPY_DST),
    ]
}

fn actions(workarounds: &Workarounds) -> [Actions; 6] {
    kinds().each_ref().map(|desc| workarounds.actions(desc))
}

const NONE: Actions = Actions::empty();
const COMMIT: Actions = Actions::COMMIT;
const ZERO: Actions = Actions::ZERO;
const BOTH: Actions = COMMIT.union(ZERO);
const CLEAR: Actions = Actions::CLEAR_RESULTS;
const LAYERS: Actions = Actions::NO_LAYER_COPIES;
const STENCIL: Actions = Actions::NO_STENCIL_UPLOADS;

#[test]
fn iris_xe_commits_everything_and_its_neighbours_do_not() {
    let no_clear = Actions::NO_CLEAR_VALUE;
    for device in [0x9a40, 0x9a49, 0x46a6, 0x46a8, 0x46aa, 0xa7a0, 0xa7a1, 0x4905, 0x4908] {
        let expected = [COMMIT | CLEAR, COMMIT, COMMIT, COMMIT, COMMIT | no_clear, BOTH | no_clear | LAYERS];
        assert_eq!(actions(&intel(device)), expected, "{device:#x}");
        let other = Workarounds::of(&AdapterId { vendor: 0x1414, device, ..AdapterId::default() });
        assert_eq!(other, Workarounds::default(), "{device:#x} of another vendor");
    }
    // UHD Graphics of the same generations, Arc, Meteor Lake.
    for (devices, results, copies) in [
        (&[0x9a60, 0x9ac9, 0x4680, 0x46d0, 0xa780][..], CLEAR, LAYERS),
        (&[0x5690, 0x4f80], CLEAR, STENCIL),
        (&[0x7d55, 0xb640], NONE, STENCIL),
    ] {
        for device in devices {
            let expected = [results, NONE, NONE, NONE, no_clear, BOTH | no_clear | copies];
            assert_eq!(actions(&intel(*device)), expected, "{device:#x}");
        }
    }
    // Battlemage, Lunar Lake, Panther Lake.
    for device in [0xe20b, 0x64a0, 0xb080] {
        assert_eq!(intel(device), Workarounds::default(), "{device:#x}");
    }
}

#[test]
fn older_intel_commits_written_resources_and_zeroes_textures() {
    for (devices, copies) in [
        (&[0x5917, 0x3e92, 0x9bc4, 0x3185, 0x5a85, 0x87c0][..], LAYERS),
        (&[0x8a52, 0x4571, 0x4e61, 0x9840], NONE),
    ] {
        for device in devices {
            let expected = [NONE, ZERO, BOTH, BOTH, BOTH, BOTH | copies];
            assert_eq!(actions(&intel(*device)), expected, "{device:#x}");
        }
    }
    // Skylake places written resources, except depth that is uploaded to.
    assert_eq!(actions(&intel(0x1912)), [NONE, ZERO, ZERO, ZERO, ZERO, BOTH | LAYERS]);
    assert_eq!(actions(&intel(0x1616)), [NONE; 6], "Broadwell");
    let volume = TextureDesc::d3(8, 8, 8, Format::Rgba8Unorm, Usage::COPY_DST).info;
    assert_eq!(intel(0x8a52).actions(&ResourceDesc::Texture(volume)), ZERO, "2D textures alone");
}

#[test]
fn older_amd_drivers_commit_written_resources() {
    let at = |driver| actions(&adapter(AMD, 0x73bf, driver, NEW_WINDOWS));
    let expected = [NONE, NONE, COMMIT, COMMIT, COMMIT, COMMIT];
    for driver in [[31, 0, 24_002, 92], [32, 0, 13_031, 8020], [32, 0, 12_033, 9000]] {
        assert_eq!(at(driver), expected, "{driver:?}");
    }
    for driver in [[32, 0, 13_031, 8021], [32, 0, 21_001, 1], [33, 0, 0, 0]] {
        assert_eq!(at(driver), [NONE; 6], "{driver:?}");
    }
}

#[test]
fn old_intel_drivers_commit_everything_on_new_windows_alone() {
    // Broadwell, which has no other faults.
    let at = |driver, build| actions(&adapter(INTEL, 0x1616, driver, build));
    let (last, next) = ([27, 20, 100, 9664], [27, 20, 100, 9665]);
    assert_eq!(at(last, 25_957), [COMMIT; 6]);
    assert_eq!(at([20, 19, 15, 5171], 26_100), [COMMIT; 6]);
    assert_eq!(at(last, 25_956), [NONE; 6]);
    assert_eq!(at(next, 25_957), [NONE; 6]);
    // The first two parts encode the Windows version.
    assert_eq!(at([31, 0, 100, 9664], 25_957), [COMMIT; 6]);
    assert_eq!(at([26, 20, 101, 1], 25_957), [NONE; 6]);
}

#[test]
fn arrays_get_spare_layers_before_the_driver_was_repaired() {
    let at = |device, driver| adapter(INTEL, device, driver, NEW_WINDOWS).actions(&layered(4));
    // UHD Graphics of Gen 12, without other workarounds.
    assert_eq!(at(0x4680, [30, 0, 101, 1691]), Actions::SPARE_LAYERS);
    assert_eq!(at(0x4680, [30, 0, 101, 1692]), NONE);
    assert_eq!(at(0x5690, [30, 0, 101, 1691]), NONE, "Arc");
    let old = adapter(INTEL, 0x4680, [30, 0, 101, 1691], NEW_WINDOWS);
    assert_eq!(old.actions(&layered(1)), NONE);
    let depth = TextureDesc::d2(64, 64, Format::D32Float, Usage::DEPTH_STENCIL).layers(4).info;
    assert_eq!(old.actions(&ResourceDesc::Texture(depth)), Actions::NO_CLEAR_VALUE, "colour alone");
    let info =
        TextureDesc::d2(1, 1, Format::Rgba8Unorm, Usage::SHADER_READ).layers(64).info.width(1).height(1024);
    assert_eq!(created_layers(Actions::SPARE_LAYERS, &info), 2048);
    assert_eq!(created_layers(NONE, &info), 64);
}

/// The first two parts of the version encode the Windows version.
#[test]
fn some_faults_come_with_a_version() {
    let depth = texture(Format::D32Float, Usage::DEPTH_STENCIL | Usage::COPY_DST);
    let buffer = &kinds()[0];
    for (device, desc, first, action) in [
        (0x3e92, &depth, [31, 0, 101, 2121], LAYERS),
        (0x4680, &depth, [31, 0, 101, 4091], LAYERS),
        (0x4680, buffer, [30, 0, 101, 3413], CLEAR),
        (0x5690, buffer, [30, 0, 101, 3413], CLEAR),
    ] {
        let has = |driver| adapter(INTEL, device, driver, NEW_WINDOWS).actions(desc).contains(action);
        let [product, version, sub_version, build] = first;
        assert!(has(first) && has([product, version, sub_version, build + 1]), "{device:#x}");
        assert!(has([27, 20, sub_version, build]), "{device:#x}: an older Windows");
        assert!(!has([product, version, sub_version, build - 1]), "{device:#x}");
        assert!(!has([product + 1, version, sub_version - 1, build]), "{device:#x}: a newer Windows");
    }
    let read_back = texture(Format::D32Float, Usage::DEPTH_STENCIL | Usage::COPY_SRC);
    assert!(!intel(0x4680).actions(&read_back).contains(LAYERS));
}

#[test]
fn nvidia_reads_with_copies_and_shows_stencil_everywhere() {
    let read = Actions::COPY_SOURCE_TOO;
    let depth = read | Actions::STENCIL_EVERYWHERE;
    let found = adapter(NVIDIA, 0x2684, [32, 0, 15, 6094], NEW_WINDOWS);
    assert_eq!(actions(&found), [NONE, read, read, read, depth, depth]);
    assert!(found.has(read) && !found.has(COMMIT));
}

/// Properties that Windows does not report are assumed to be the worst.
#[test]
fn the_unknown_is_taken_to_be_wrong() {
    let unknown =
        |vendor, device| Workarounds::of(&AdapterId { vendor, device, driver: None, windows_build: None });
    assert_eq!(actions(&unknown(AMD, 0x73bf)), [NONE, NONE, COMMIT, COMMIT, COMMIT, COMMIT]);
    assert_eq!(unknown(INTEL, 0x1616).actions(&kinds()[0]), COMMIT);
    assert!(unknown(INTEL, 0x4680).has(Actions::SPARE_LAYERS));
    // WARP, and an adapter without any information.
    for (vendor, device) in [(0x1414, 0x8c), (0, 0)] {
        assert_eq!(unknown(vendor, device), Workarounds::default());
    }
}

/// Every row applies to some adapter, has a symptom and a source, and affects some kind of resource.
#[test]
fn every_row_is_met_and_has_a_source() {
    for fault in TABLE {
        let device = fault.devices.first().map_or(1, |range| *range.start());
        let id = AdapterId { vendor: fault.vendor, device, driver: None, windows_build: None };
        assert!(fault.is_on(&id), "{fault:?}");
        let is_done = kinds().iter().chain([&layered(2)]).any(|desc| fault.resources.has(desc));
        assert!(is_done && !fault.actions.is_empty(), "{fault:?}");
        assert!(!fault.fault.is_empty() && fault.source.starts_with("https://"), "{fault:?}");
        let repaired = AdapterId { driver: Some(NEWEST), ..id };
        let is_there_still = matches!(fault.drivers, Drivers::All | Drivers::From(_));
        assert_eq!(fault.is_on(&repaired), is_there_still, "{fault:?}");
    }
    assert_eq!(DriverVersion([31, 0, 101, 4577]).to_string(), "31.0.101.4577");
}
