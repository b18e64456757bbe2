//! `tenure profile`: the table of a simulated device that is like an examined one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use tenure::device::Features;
use tenure::sim;

use super::placement::{Placement, examine_device};
use crate::devices::Found;
use crate::examined::{InvalidExamination, VERSION};

/// The parts of an [`Examination`](super::Examination) that a profile has.
#[derive(Debug, Deserialize)]
struct File {
    profile: String,
    device: Step<Option<Described>>,
    placement: Step<Placed>,
    timestamps: Step<Clocks>,
}

#[derive(Debug, Deserialize)]
struct Step<T> {
    error: Option<String>,
    result: T,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Described {
    device: String,
    version: String,
    name: String,
    vendor_id: u32,
    device_id: u32,
    heaps: Vec<Heap>,
    memory_types: Vec<Type>,
    uma: bool,
    queues: Vec<Queue>,
    state_model: String,
    heap_categories: Vec<String>,
    features: BTreeMap<String, bool>,
    alignments: BTreeMap<String, u64>,
    limits: BTreeMap<String, u64>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Heap {
    size: u64,
    device_local: bool,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Type {
    heap: u8,
    flags: Vec<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Queue {
    kind: String,
    family: u32,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Placed {
    buffer_alignment: u64,
    image_alignment: u64,
    large_image_alignment: u64,
    image_types: u32,
    split: bool,
    dedicated_targets_from: Option<u64>,
    compression: Vec<String>,
    d24s8: bool,
    unaligned_blocks: bool,
    descriptors: BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Clocks {
    clocks: Vec<Clock>,
}

#[derive(Clone, Debug, Deserialize)]
struct Clock {
    bits: u32,
    femtoseconds: u64,
}

struct Read {
    profile: sim::Profile,
    device: Described,
    placement: Placed,
    clock: Clock,
}

fn read(text: &str) -> Result<Read, InvalidExamination> {
    #[derive(Deserialize)]
    struct Versioned {
        doctor: u32,
    }
    let Versioned { doctor } = serde_json::from_str(text)?;
    if doctor != VERSION {
        return Err(InvalidExamination::Version { found: doctor });
    }
    let file: File = serde_json::from_str(text)?;
    let profile = sim::Profile::by_name(&file.profile);
    let profile = profile.ok_or_else(|| InvalidExamination::Profile { name: file.profile.clone() })?;
    let missing = |step, error: Option<String>| {
        let error = error.unwrap_or_else(|| "it has no result".to_owned());
        InvalidExamination::Missing { step, error }
    };
    let device = file.device.result.ok_or_else(|| missing("device", file.device.error))?;
    if file.placement.error.is_some() {
        return Err(missing("placement", file.placement.error));
    }
    let none = Clock { bits: 0, femtoseconds: 0 };
    let clock = file.timestamps.result.clocks.first().cloned().unwrap_or(none);
    Ok(Read { profile, device, placement: file.placement.result, clock })
}

/// Differences between an examined device and the simulated device that is like it: one line each, without the sizes of
/// heaps. Empty: the profile describes the device.
///
/// # Errors
/// [`InvalidExamination`]
pub fn differences(text: &str) -> Result<Vec<String>, InvalidExamination> {
    read(text).map(|read| read.differences())
}

/// The table of a profile in Rust, as in the sources of `tenure-sim`, with the [`differences`] in front.
///
/// # Errors
/// [`InvalidExamination`]
pub fn profile_code(text: &str) -> Result<String, InvalidExamination> {
    read(text).map(|read| read.code())
}

/// The simulated device, as an examination has it.
fn simulated(profile: sim::Profile) -> Option<(Described, Placed)> {
    let device = sim::Device::new(profile);
    let about = crate::devices::about_simulated(&device);
    let found = Found::new(profile.name().to_owned(), about, &device).ok()?;
    let mut placement = Placement::default();
    examine_device(&device, &mut placement).ok()?;
    let found = serde_json::from_value(serde_json::to_value(found).ok()?).ok()?;
    Some((found, serde_json::from_value(serde_json::to_value(placement).ok()?).ok()?))
}

impl Read {
    fn differences(&self) -> Vec<String> {
        let Some((ours, placed)) = simulated(self.profile) else { return Vec::new() };
        let (theirs, placement) = (&self.device, &self.placement);
        let mut lines = Vec::new();
        let mut note = |what: &str, ours: String, theirs: String| {
            if ours != theirs {
                lines.push(format!("{what}: {theirs}, simulated {ours}"));
            }
        };
        let places =
            |heaps: &[Heap]| format!("{:?}", heaps.iter().map(|heap| heap.device_local).collect::<Vec<_>>());
        note("heaps, device-local", places(&ours.heaps), places(&theirs.heaps));
        let types = |types: &[Type]| {
            let types = types.iter().map(|found| format!("{} {}", found.heap, found.flags.join(" ")));
            types.collect::<Vec<_>>().join("; ")
        };
        note("memory types", types(&ours.memory_types), types(&theirs.memory_types));
        note("unified memory", ours.uma.to_string(), theirs.uma.to_string());
        let kinds =
            |queues: &[Queue]| queues.iter().map(|queue| queue.kind.clone()).collect::<Vec<_>>().join(" ");
        note("queues", kinds(&ours.queues), kinds(&theirs.queues));
        note("states", ours.state_model.clone(), theirs.state_model.clone());
        note("heap categories", ours.heap_categories.join(" "), theirs.heap_categories.join(" "));
        let value = |values: &BTreeMap<String, u64>, key| values.get(key).copied().unwrap_or(0).to_string();
        for (key, found) in &theirs.alignments {
            note(&format!("alignment {key}"), value(&ours.alignments, key), found.to_string());
        }
        for (key, found) in &theirs.limits {
            note(&format!("limit {key}"), value(&ours.limits, key), found.to_string());
        }
        let has =
            |features: &BTreeMap<String, bool>, key| features.get(key).copied().unwrap_or(false).to_string();
        for (key, found) in &theirs.features {
            note(&format!("feature {key}"), has(&ours.features, key), found.to_string());
        }
        let rows = [
            ("buffer alignment", placed.buffer_alignment, placement.buffer_alignment),
            ("image alignment", placed.image_alignment, placement.image_alignment),
            ("alignment of large images", placed.large_image_alignment, placement.large_image_alignment),
            ("memory types of images", placed.image_types.into(), placement.image_types.into()),
        ];
        for (what, ours, theirs) in rows {
            note(what, ours.to_string(), theirs.to_string());
        }
        note("buffers and textures apart", placed.split.to_string(), placement.split.to_string());
        let from = |placed: &Placed| format!("{:?}", placed.dedicated_targets_from);
        note("dedicated targets from", from(&placed), from(placement));
        note("compression", placed.compression.join(" "), placement.compression.join(" "));
        note("depth of 24 bits with stencil", placed.d24s8.to_string(), placement.d24s8.to_string());
        note("partial blocks", placed.unaligned_blocks.to_string(), placement.unaligned_blocks.to_string());
        for (key, found) in &placement.descriptors {
            let ours = placed.descriptors.get(key).map_or_else(String::new, ToString::to_string);
            note(&format!("descriptors, {key}"), ours, found.to_string());
        }
        lines
    }

    /// Also for a simulated device.
    fn is_d3d12(&self) -> bool {
        self.device.device == "d3d12" || self.device.version.contains("Direct3D 12")
    }

    /// The name of the profile.
    fn name(&self) -> String {
        format!("{}-{:04x}-{:04x}", self.device.device, self.device.vendor_id, self.device.device_id)
    }

    fn code(&self) -> String {
        let mut code = String::new();
        // Writing to a string does not fail.
        let _never = self.write(&mut code);
        code
    }

    fn rules(&self) -> String {
        let Placed { buffer_alignment, image_alignment, large_image_alignment, image_types, split, .. } =
            &self.placement;
        if self.is_d3d12() {
            let tier1 = *split;
            let enhanced = self.device.state_model == "explicit";
            return format!("Rules::D3d12 {{ tier1: {tier1}, enhanced: {enhanced} }}");
        }
        let from =
            self.placement.dedicated_targets_from.map_or("u64::MAX".to_owned(), |bytes| bytes.to_string());
        format!(
            "Rules::Vulkan {{ buffer_alignment: {buffer_alignment}, image_alignment: {image_alignment}, \
             large_image_alignment: {large_image_alignment}, image_types: {image_types:#b}, split: {split}, \
             dedicated_targets_from: {from} }}"
        )
    }

    fn write(&self, code: &mut String) -> std::fmt::Result {
        let Described { heaps, memory_types, queues, alignments, limits, features, uma, .. } = &self.device;
        writeln!(code, "// From a result of `tenure doctor`. Differences from {}:", self.profile.name())?;
        let differences = self.differences();
        for line in &differences {
            writeln!(code, "// - {}", printable(line))?;
        }
        if differences.is_empty() {
            writeln!(code, "// none")?;
        }
        writeln!(
            code,
            "pub(super) const {}: Table = Table {{",
            self.name().to_uppercase().replace('-', "_")
        )?;
        writeln!(code, "    name: {:?},", self.name())?;
        writeln!(code, "    adapter: {:?},", format!("Simulated {}", printable(&self.device.name)))?;
        writeln!(code, "    rules: {},", self.rules())?;
        let flags = |names: &[String], of: &str| {
            let known = names.iter().filter(|name| is_word(name));
            let named = known.map(|name| format!(".union({of}::{})", name.to_uppercase()));
            format!("{of}::empty(){}", named.collect::<String>())
        };
        let types = memory_types
            .iter()
            .map(|found| format!("({}, {})", flags(&found.flags, "MemoryFlags"), found.heap));
        writeln!(code, "    types: &[{}],", types.collect::<Vec<_>>().join(", "))?;
        let heaps = heaps.iter().map(|heap| format!("({}, {})", heap.size, heap.device_local));
        writeln!(code, "    heaps: &[{}],", heaps.collect::<Vec<_>>().join(", "))?;
        let kind = |queue: &Queue| match queue.kind.as_str() {
            "graphics" => "Graphics",
            "compute" => "Compute",
            _ => "Copy",
        };
        let queues = queues.iter().map(|queue| format!("(QueueKind::{}, {})", kind(queue), queue.family));
        writeln!(code, "    queues: &[{}],", queues.collect::<Vec<_>>().join(", "))?;
        let known = Features::all();
        let named = known.iter_names().map(|(name, _)| name.to_lowercase());
        let offered = named.filter(|name| features.get(name).copied().unwrap_or(false)).collect::<Vec<_>>();
        writeln!(code, "    features: {},", flags(&offered, "Features"))?;
        writeln!(code, "    uma: {uma},")?;
        writeln!(code, "    zeroed: {},", self.is_d3d12())?;
        let value = |values: &BTreeMap<String, u64>, key| values.get(key).copied().unwrap_or(1);
        for (field, key) in [
            ("constant_alignment", "constant"),
            ("storage_alignment", "storage"),
            ("heap_alignment", "heap"),
            ("msaa_heap_alignment", "msaa_heap"),
            ("copy_pitch_alignment", "copy_pitch"),
            ("copy_offset_alignment", "copy_offset"),
            ("non_coherent_atom", "non_coherent_atom"),
        ] {
            writeln!(code, "    {field}: {},", value(alignments, key))?;
        }
        for (field, key) in [
            ("max_allocations", "allocations"),
            ("max_heap_size", "heap_bytes"),
            ("max_buffer_size", "buffer_bytes"),
            ("max_texture_2d", "texture_2d"),
            ("max_texture_3d", "texture_3d"),
            ("max_layers", "texture_layers"),
        ] {
            writeln!(code, "    {field}: {},", value(limits, key))?;
        }
        let descriptors =
            self.placement.descriptors.iter().filter(|(key, value)| is_word(key) && is_plain(value));
        let descriptors = descriptors.map(|(key, value)| format!("{key}: {value}"));
        writeln!(
            code,
            "    descriptors: DescriptorLimits {{ {} }},",
            descriptors.collect::<Vec<_>>().join(", ")
        )?;
        let Clock { bits, femtoseconds } = self.clock;
        writeln!(code, "    timestamps: TimestampClock {{ bits: {bits}, femtoseconds: {femtoseconds} }},")?;
        let families = self.placement.compression.iter().filter_map(|name| match name.as_str() {
            "bc" => Some("Compression::Bc"),
            "etc2" => Some("Compression::Etc2"),
            "astc" => Some("Compression::Astc"),
            _ => None,
        });
        let families = families.collect::<Vec<_>>().join(", ");
        let Placed { d24s8, unaligned_blocks, .. } = self.placement;
        writeln!(
            code,
            "    formats: Formats {{ compression: &[{families}], d24s8: {d24s8}, unaligned_blocks: {unaligned_blocks} }},"
        )?;
        writeln!(code, "    copy_steps: [1; 3],")?;
        writeln!(code, "}};")
    }
}

/// Text of a file for one line of a comment or a string.
fn printable(text: &str) -> String {
    crate::output::printable(text).replace(['\u{2028}', '\u{2029}'], "\u{fffd}")
}

/// Files are of strangers: only words become names in the code.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn is_plain(value: &serde_json::Value) -> bool {
    value.is_u64() || value.is_boolean()
}
