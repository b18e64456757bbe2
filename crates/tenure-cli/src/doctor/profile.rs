//! `tenure profile`: the table of a simulated device similar to an examined one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::device::{Device, Features, MAX_QUEUES, MemoryFlags, MemoryHeap, MemoryType};
use tenure::memory::heap_pools::HeapProperties;
use tenure::sim;

use super::placement::{self, Placement};
use crate::devices::Found;
use crate::examined::{InvalidExamination, VERSION};

/// The parts of an [`Examination`](super::Examination) that a profile uses.
#[derive(Deserialize)]
struct File {
    profile: String,
    device: Step<Option<Described>>,
    placement: Step<Option<Placement>>,
    timestamps: Step<Clocks>,
}

#[derive(Deserialize)]
struct Step<T> {
    error: Option<String>,
    result: T,
}

impl<T> Step<Option<T>> {
    fn done(self, step: &'static str) -> Result<T, InvalidExamination> {
        let error = self.error.unwrap_or_else(|| "it has no result".to_owned());
        self.result.ok_or(InvalidExamination::Missing { step, error })
    }
}

#[derive(Deserialize, Serialize)]
struct Described {
    device: Backend,
    version: String,
    name: String,
    vendor_id: u32,
    device_id: u32,
    heaps: Vec<Heap>,
    memory_types: Vec<Type>,
    uma: bool,
    queues: Vec<Queue>,
    state_model: States,
    heap_categories: Vec<String>,
    features: BTreeMap<String, bool>,
    alignments: Alignments,
    limits: Limits,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Backend {
    Vulkan,
    D3d12,
    Sim,
}

#[derive(Deserialize, Serialize)]
struct Heap {
    size: u64,
    device_local: bool,
}

#[derive(Deserialize, Serialize)]
struct Type {
    heap: u8,
    flags: Vec<String>,
}

#[derive(Deserialize, Serialize)]
struct Queue {
    kind: Kind,
    family: u32,
}

/// The variants of [`QueueKind`](tenure::device::QueueKind).
#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Graphics,
    Compute,
    Copy,
}

#[derive(Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum States {
    Promotion,
    Explicit,
}

#[derive(Deserialize, Serialize)]
struct Alignments {
    acceleration_structure: u64,
    constant: u64,
    copy_offset: u64,
    copy_pitch: u64,
    heap: u64,
    msaa_heap: u64,
    non_coherent_atom: u64,
    storage: u64,
    tile: u64,
}

#[derive(Deserialize, Serialize)]
struct Limits {
    allocations: u64,
    buffer_bytes: u64,
    heap_bytes: u64,
    texture_2d: u32,
    texture_3d: u32,
    texture_layers: u32,
}

#[derive(Deserialize)]
struct Clocks {
    clocks: Vec<Clock>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize)]
struct Clock {
    bits: u32,
    femtoseconds: u64,
}

/// The facts about a device that a profile contains.
#[derive(Serialize)]
struct Facts {
    device: Described,
    placement: Placement,
    timestamps: Clock,
}

/// Differences between an examined device and the most similar simulated device: one line each, without names and
/// the sizes of heaps. Empty if the profile describes the device.
///
/// # Errors
/// [`InvalidExamination`]
pub fn differences(text: &str) -> Result<Vec<String>, InvalidExamination> {
    let (profile, facts) = Facts::read(text)?;
    facts.differences(profile)
}

/// The table of a profile in Rust, as in the sources of `tenure-sim`, preceded by the [`differences`].
///
/// # Errors
/// [`InvalidExamination`]
pub fn profile_code(text: &str) -> Result<String, InvalidExamination> {
    let (profile, facts) = Facts::read(text)?;
    let mut lines = facts.differences(profile)?;
    if lines.is_empty() {
        lines.push("none".to_owned());
    }
    let lines: String = lines.iter().map(|line| format!("// - {}\n", printable(line))).collect();
    let name = profile.name();
    Ok(format!("// From a result of `tenure doctor`. Differences from {name}:\n{lines}{}", facts.table()))
}

/// A line of a comment, without characters that change the direction of text: some compilers refuse them.
fn printable(line: &str) -> String {
    line.chars().map(|letter| if letter == ' ' || letter.is_ascii_graphic() { letter } else { '?' }).collect()
}

/// Adds the members of `ours` that `theirs` lacks or gives another value.
fn compare(place: &str, ours: &Value, theirs: &Value, lines: &mut Vec<String>) {
    const NAMES: [&str; 6] = ["device", "version", "name", "vendor_id", "device_id", "size"];
    match (ours, theirs) {
        (Value::Object(members), Value::Object(_)) => {
            for (name, ours) in members {
                if !ours.is_object() && NAMES.contains(&name.as_str()) {
                    continue;
                }
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                compare(&place, ours, theirs.get(name).unwrap_or(&Value::Null), lines);
            }
        }
        (Value::Array(some), Value::Array(others)) if some.len() == others.len() => {
            for (number, (ours, theirs)) in some.iter().zip(others).enumerate() {
                compare(&format!("{place}[{number}]"), ours, theirs, lines);
            }
        }
        _ if ours == theirs => {}
        _ => lines.push(format!("{place}: {theirs}, simulated {ours}")),
    }
}

impl Facts {
    fn read(text: &str) -> Result<(sim::Profile, Self), InvalidExamination> {
        #[derive(Deserialize)]
        struct Versioned {
            doctor: u32,
        }
        let Versioned { doctor } = serde_json::from_str(text)?;
        if doctor != VERSION {
            return Err(InvalidExamination::Version { found: doctor });
        }
        let file: File = serde_json::from_str(text)?;
        let profile =
            sim::Profile::by_name(&file.profile).ok_or(InvalidExamination::Profile { name: file.profile })?;
        let device = file.device.done("device")?;
        let placement = file.placement.done("placement")?;
        let timestamps = file.timestamps.result.clocks.first().copied().unwrap_or_default();
        let facts = Self { device, placement, timestamps };
        facts.check().map_err(|reason| InvalidExamination::Device { reason })?;
        Ok((profile, facts))
    }

    fn of(profile: sim::Profile) -> Result<Self, InvalidExamination> {
        let device = sim::Device::new(profile);
        let failed = |reason: String| InvalidExamination::Device { reason };
        let about = crate::devices::about_simulated(&device);
        let found = Found::new(profile.name().to_owned(), about, &device);
        let found = found.map_err(|error| failed(error.to_string()))?;
        let placement = placement::examine(&device).map_err(|error| failed(error.to_string()))?;
        let clock = device.properties().queries.timestamps.first().copied().unwrap_or_default();
        Ok(Self {
            device: serde_json::from_value(serde_json::to_value(found)?)?,
            placement,
            timestamps: Clock { bits: clock.bits, femtoseconds: clock.femtoseconds },
        })
    }

    /// Checks the values that the simulated device relies on, because the file may be wrong.
    fn check(&self) -> Result<(), String> {
        let Described { heaps, memory_types, queues, alignments, limits, .. } = &self.device;
        let types = memory_types.iter().map(|found| {
            let flags = found.flags.iter().map(|name| MemoryFlags::from_name(&name.to_uppercase()));
            Ok(MemoryType {
                flags: flags.collect::<Option<_>>().ok_or("unknown flags of a memory type")?,
                heap: found.heap,
            })
        });
        let properties = HeapProperties {
            memory_types: types.collect::<Result<_, &str>>()?,
            memory_heaps: heaps
                .iter()
                .map(|heap| MemoryHeap { size: heap.size, device_local: heap.device_local })
                .collect(),
            heap_alignment: alignments.heap,
            msaa_heap_alignment: alignments.msaa_heap,
            non_coherent_atom: alignments.non_coherent_atom,
            max_allocations: limits.allocations,
            max_heap_size: limits.heap_bytes,
        };
        properties.check().map_err(|error| error.to_string())?;
        let placement = &self.placement;
        let types = u64::from(placement.image_types);
        for (alignment, of) in [
            (alignments.constant, "constants"),
            (alignments.storage, "storage views"),
            (alignments.copy_offset, "copies"),
            (alignments.copy_pitch, "rows of texels"),
            (placement.buffer_alignment, "buffers"),
            (placement.image_alignment, "textures"),
            (placement.large_image_alignment, "large textures"),
            (placement.descriptors.typed_alignment, "typed views"),
        ] {
            if !alignment.is_power_of_two() {
                return Err(format!("an alignment of {alignment} B for {of}: must be a power of two"));
            }
        }
        let missing = [
            (heaps.iter().any(|heap| heap.size == 0), "a heap of no bytes"),
            (limits.allocations == 0 || limits.heap_bytes == 0, "no allocations"),
            (limits.buffer_bytes == 0, "no buffers"),
            (limits.texture_2d == 0 || limits.texture_3d == 0 || limits.texture_layers == 0, "no textures"),
            (queues.first().is_none_or(|queue| queue.kind != Kind::Graphics), "no graphics queue in front"),
            (queues.len() > MAX_QUEUES, "more than 8 queues"),
            (types == 0 || types >> memory_types.len() > 0, "textures in memory types that do not exist"),
            (self.timestamps.bits > 64, "timestamps of more than 64 bits"),
        ];
        missing.into_iter().find(|(is_so, _)| *is_so).map_or(Ok(()), |(_, what)| Err(what.to_owned()))
    }

    fn differences(&self, profile: sim::Profile) -> Result<Vec<String>, InvalidExamination> {
        let ours = serde_json::to_value(Self::of(profile)?)?;
        let mut lines = Vec::new();
        compare("", &ours, &serde_json::to_value(self)?, &mut lines);
        Ok(lines)
    }
    fn is_d3d12(&self) -> bool {
        let Described { device, version, .. } = &self.device;
        *device == Backend::D3d12 || *device == Backend::Sim && version.contains("Direct3D 12")
    }

    fn rules(&self) -> String {
        let Placement {
            buffer_alignment, image_alignment, large_image_alignment, image_types, split, ..
        } = &self.placement;
        if self.is_d3d12() {
            let enhanced = self.device.state_model == States::Explicit;
            return format!("Rules::D3d12 {{ tier1: {split}, enhanced: {enhanced} }}");
        }
        let from = self.placement.dedicated_targets_from;
        let from = from.map_or_else(|| "u64::MAX".to_owned(), |bytes| bytes.to_string());
        format!(
            "Rules::Vulkan {{
        buffer_alignment: {buffer_alignment},
        image_alignment: {image_alignment},
        large_image_alignment: {large_image_alignment},
        image_types: {image_types:#b},
        split: {split},
        dedicated_targets_from: {from},
    }}"
        )
    }

    /// The table in Rust. The file is untrusted: only its numbers, and names known here, become code.
    fn table(&self) -> String {
        let Described { heaps, memory_types, queues, features, uma, .. } = &self.device;
        let Alignments {
            constant: constants,
            copy_offset,
            copy_pitch,
            heap,
            msaa_heap,
            non_coherent_atom,
            storage,
            ..
        } = &self.device.alignments;
        let Limits { allocations, buffer_bytes, heap_bytes, texture_2d, texture_3d, texture_layers } =
            &self.device.limits;
        let Placement { compression, d24s8, unaligned_blocks, descriptors, .. } = &self.placement;
        let Described { device, name, vendor_id, device_id, .. } = &self.device;
        let Clock { bits, femtoseconds } = self.timestamps;
        let api = match device {
            Backend::Vulkan => "vulkan",
            Backend::D3d12 => "d3d12",
            Backend::Sim => "sim",
        };
        let id = format!("{api}-{vendor_id:04x}-{device_id:04x}");
        let constant = id.to_uppercase().replace('-', "_");
        let adapter = format!("Simulated {name}");
        let types = memory_types.iter().map(|found| {
            format!(
                "({}, {})",
                flags("MemoryFlags", found.flags.iter().map(|name| name.to_uppercase())),
                found.heap
            )
        });
        let known = Features::all();
        let offered = known.iter_names().map(|(name, _)| name);
        let offered =
            offered.filter(|name| features.get(&name.to_lowercase()) == Some(&true)).map(str::to_owned);
        let features = flags("Features", offered);
        let types = list(types);
        let heaps = list(heaps.iter().map(|heap| format!("({}, {})", heap.size, heap.device_local)));
        let queues =
            list(queues.iter().map(|queue| format!("(QueueKind::{:?}, {})", queue.kind, queue.family)));
        let compression = list(compression.iter().map(|family| format!("Compression::{family:?}")));
        format!(
            "pub(super) const {constant}: Table = Table {{
    name: {id:?},
    adapter: {adapter:?},
    rules: {rules},
    types: {types},
    heaps: {heaps},
    queues: {queues},
    features: {features},
    uma: {uma},
    zeroed: {zeroed},
    constant_alignment: {constants},
    storage_alignment: {storage},
    heap_alignment: {heap},
    msaa_heap_alignment: {msaa_heap},
    copy_pitch_alignment: {copy_pitch},
    copy_offset_alignment: {copy_offset},
    non_coherent_atom: {non_coherent_atom},
    max_allocations: {allocations},
    max_heap_size: {heap_bytes},
    max_buffer_size: {buffer_bytes},
    max_texture_2d: {texture_2d},
    max_texture_3d: {texture_3d},
    max_layers: {texture_layers},
    descriptors: {descriptors:?},
    timestamps: TimestampClock {{ bits: {bits}, femtoseconds: {femtoseconds} }},
    formats: Formats {{ compression: {compression}, d24s8: {d24s8}, unaligned_blocks: {unaligned_blocks} }},
    copy_steps: [1; 3],
}};
",
            rules = self.rules(),
            zeroed = self.is_d3d12(),
        )
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("&[{}]", items.collect::<Vec<_>>().join(", "))
}

fn flags(of: &str, names: impl Iterator<Item = String>) -> String {
    names.fold(format!("{of}::empty()"), |flags, name| format!("{flags}.union({of}::{name})"))
}
