//! Converts the log of a device to a recording: finds the ends of frames, the resources that share bytes, and the
//! time at which memory becomes free.

mod ranges;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use tenure::sim;
use tenure_trace::{Details, Event, Header, HeapKind, Kind, Layout, MemoryKind};

use super::log::{Line, Values, lines};
use ranges::Ranges;

/// A recording of one device.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    application: String,
    pub(super) device: String,
    driver: String,
    /// PCI vendor id.
    vendor: u32,
    /// The profile that the layer imitates.
    card: Option<String>,
    /// Properties and heap of each memory type.
    types: Vec<(u32, u32)>,
    pub(super) frames: u64,
    pub(super) events: Vec<(Event, Details)>,
    /// The device's limit on live memory allocations.
    most_allocations: Option<u64>,
    /// Allocations that the driver refused.
    refused: u64,
    /// Reserved (sparse) resources; they are not replayed, because no memory is bound to the whole resource.
    sparse: u64,
    /// Whether the program destroyed the device.
    pub(super) is_complete: bool,
}

const DEVICE_LOCAL: u32 = 1;
const HOST_VISIBLE: u32 = 2;
const HOST_CACHED: u32 = 8;
/// `VK_BUFFER_USAGE_TRANSFER_DST_BIT`
const COPIED_TO: u64 = 2;
/// The longest value of a header in characters, so that a line has room for four bytes each.
const HEADER_CHARACTERS: usize = 128;

impl Recording {
    /// The simulated device similar to the recorded one.
    pub(super) fn profile(&self) -> sim::Profile {
        if let Some(profile) = self.card.as_deref().and_then(sim::Profile::by_name) {
            return profile;
        }
        crate::devices::vulkan_profile(self.vendor, self.types.len())
    }

    /// The program's own name, or `other` if it has none.
    pub(super) fn program<'a>(&'a self, other: &'a str) -> &'a str {
        if self.application.is_empty() { other } else { &self.application }
    }

    /// The header; `program` is the name if the program does not state its own.
    pub(super) fn header(&self, program: &str) -> Header {
        let mut header = Header::default();
        for (key, value) in [
            ("api", "vulkan"),
            ("device", &self.device),
            ("driver", &self.driver),
            ("program", self.program(program)),
            ("profile", self.profile().name()),
        ] {
            // The writer refuses longer values.
            header.set(key, value.chars().take(HEADER_CHARACTERS).collect::<String>());
        }
        for (index, (flags, heap)) in self.types.iter().enumerate() {
            header.set(format!("type.{index}"), format!("{flags},{heap}"));
        }
        let is_counted = |count: &u64| *count > 0;
        for (key, number) in [
            ("allocations.most", self.most_allocations),
            ("allocations.refused", Some(self.refused).filter(is_counted)),
            ("sparse", Some(self.sparse).filter(is_counted)),
        ] {
            if let Some(number) = number {
                header.set(key, number.to_string());
            }
        }
        if !self.is_complete {
            header.set("complete", "no");
        }
        header
    }

    fn flags(&self, index: u32) -> u32 {
        self.types.get(index as usize).map_or(0, |it| it.0)
    }

    fn kind(&self, index: u32, created: &Created) -> Kind {
        let flags = self.flags(index);
        let is_readback = match self.types.len() {
            // With a single memory type only the usage indicates the kind.
            0 | 1 => created.image.is_none() && created.usage & !COPIED_TO == 0,
            _ => flags & HOST_CACHED != 0 && flags & DEVICE_LOCAL == 0,
        };
        let is_gpu_only = flags & HOST_VISIBLE == 0 || (self.types.len() == 1 && !created.is_linear());
        let memory = match (is_gpu_only, is_readback) {
            (true, _) => MemoryKind::GpuOnly,
            (false, true) => MemoryKind::GpuToCpu,
            (false, false) => MemoryKind::CpuToGpu,
        };
        Kind::new(memory, if created.is_linear() { Layout::Linear } else { Layout::Optimal })
    }
}

/// Reads a log; `None` if it describes no device.
pub(super) fn recording(text: &str) -> Option<Recording> {
    let mut first = lines(text);
    let is_log = first.next().is_some_and(|line| (line.event, line.values) == ("capture", "1"));
    is_log.then(|| {
        let has_presents = lines(text).any(|line| line.event == "P");
        let mut reader = Reader { mark: if has_presents { "P" } else { "S" }, ..Reader::default() };
        reader.names = lines(text).filter_map(|line| name(&line)).collect();
        for line in lines(text) {
            // Malformed lines are skipped.
            let _known = reader.line(&line);
        }
        reader.recording
    })
}

/// The id and the name in a naming event.
fn name(line: &Line<'_>) -> Option<(u64, String)> {
    let (id, name) = line.values.split_once(' ')?;
    if line.event == "n" { Some((id.parse().ok()?, name.to_owned())) } else { None }
}

/// The description of an image.
#[derive(Clone, Copy)]
struct Image {
    extent: [u32; 3],
    format: u32,
    mips: u32,
    layers: u32,
    samples: u32,
    is_linear: bool,
}

/// A memory allocation of the program.
#[derive(Default)]
struct Block {
    size: u64,
    /// Details that its resources inherit.
    memory: Details,
    /// Resources in the block, by id.
    live: BTreeMap<u64, Placed>,
    /// Those that are not aliases.
    hosts: Ranges,
}

/// A resource in a block.
struct Placed {
    size: u64,
    offset: u64,
    /// Ids of the resources that alias its bytes.
    aliases: BTreeSet<u64>,
    host: Option<u64>,
    /// It was destroyed, but resources that alias its bytes are live.
    is_destroyed: bool,
}

/// A created resource, bound or not.
struct Created {
    usage: u64,
    image: Option<Image>,
    /// Block and id of each binding: a multi-planar image has several.
    bound: Vec<(u64, u64)>,
}

impl Created {
    fn is_linear(&self) -> bool {
        self.image.is_none_or(|image| image.is_linear)
    }
}

#[derive(Default)]
struct Reader {
    /// The event that ends a frame.
    mark: &'static str,
    names: HashMap<u64, String>,
    recording: Recording,
    blocks: HashMap<u64, Block>,
    created: HashMap<u64, Created>,
    /// Submissions by queue that the program has not seen complete.
    pending: HashMap<u32, VecDeque<u64>>,
    last_id: u64,
}

impl Reader {
    fn line(&mut self, line: &Line<'_>) -> Option<()> {
        let mut values = Values::of(line);
        match line.event {
            "application" => self.recording.application = line.values.to_owned(),
            "device" => self.recording.device = line.values.to_owned(),
            "as" => self.recording.card = Some(line.values.to_owned()),
            "ids" => {
                self.recording.vendor = values.hexadecimal()?.try_into().ok()?;
                self.recording.driver = values.rest().get(2)?.to_string();
            }
            "type" => {
                values.number::<u32>()?;
                self.recording.types.push((values.number()?, values.number()?));
            }
            "M" => self.allocated(line, values)?,
            "limits" => {
                values.word()?;
                self.recording.most_allocations = Some(values.number()?);
            }
            "N" => self.recording.refused += 1,
            "F" => self.freed(line, values.number()?)?,
            "m" | "u" => self.mapped(line, values.number()?)?,
            "R" => self.created(values)?,
            "B" => self.bound(line, values)?,
            "D" => self.destroyed(line, values.number()?)?,
            "S" => self.submitted(line, values)?,
            "W" => self.seen(line, values)?,
            "P" => self.frame(line),
            "end" => self.recording.is_complete = true,
            _ => {}
        }
        Some(())
    }

    fn push(&mut self, line: &Line<'_>, event: Event, details: Details) {
        let (time_us, thread) = (Some(line.time), Some(line.thread));
        self.recording.events.push((event, Details { time_us, thread, ..details }));
    }

    fn allocated(&mut self, line: &Line<'_>, mut values: Values<'_>) -> Option<()> {
        let (id, size, index) = (values.number()?, values.number()?, values.number()?);
        let words = values.rest();
        let priority = words.iter().find_map(|word| word.strip_prefix("priority="));
        let priority = priority.and_then(|value| value.parse::<f32>().ok());
        let memory = Details {
            memory_type: Some(index),
            is_dedicated: words.contains(&"dedicated"),
            is_import: words.iter().any(|word| word.starts_with("import")),
            has_address: words.contains(&"address"),
            // In thousandths; a conversion from a float saturates.
            priority: priority.map(|value| (value.clamp(0.0, 1.0) * 1000.0).round() as u16),
            ..Details::default()
        };
        let is_import = memory.is_import;
        // A recording has only this flag of a block.
        let is_dedicated = memory.is_dedicated;
        let of_block = Details { memory_type: Some(index), is_dedicated, is_import, ..Details::default() };
        self.blocks.insert(id, Block { size, memory, ..Block::default() });
        self.push(line, Event::Block { id, size, frame: self.recording.frames }, of_block);
        Some(())
    }

    /// A block was freed. Its remaining resources are freed with it: programs may free memory first.
    fn freed(&mut self, line: &Line<'_>, id: u64) -> Option<()> {
        let live: Vec<_> = self.blocks.get(&id)?.live.keys().copied().collect();
        for resource in live {
            self.gone(line, id, resource);
        }
        let block = self.blocks.remove(&id)?;
        let frame = self.recording.frames;
        self.push(line, Event::Unblock { id, size: block.size, frame }, Details::default());
        Some(())
    }

    fn mapped(&mut self, line: &Line<'_>, id: u64) -> Option<()> {
        self.blocks.get(&id)?;
        let frame = self.recording.frames;
        let event = if line.event == "m" { Event::Map { id, frame } } else { Event::Unmap { id, frame } };
        self.push(line, event, Details::default());
        Some(())
    }

    fn created(&mut self, mut values: Values<'_>) -> Option<()> {
        let id = values.number()?;
        let (usage, image) = match values.word()? {
            "b" => {
                values.word()?;
                (values.hexadecimal()?, None)
            }
            "i" => {
                let mut sides = values.word()?.split('x').map(str::parse);
                let extent = [sides.next()?.ok()?, sides.next()?.ok()?, sides.next()?.ok()?];
                let (format, mips) = (values.number()?, values.number()?);
                let (layers, samples) = (values.number()?, values.number()?);
                let is_linear = values.word()? == "l";
                (values.hexadecimal()?, Some(Image { extent, format, mips, layers, samples, is_linear }))
            }
            _ => (0, None),
        };
        self.recording.sparse += u64::from(values.rest().contains(&"sparse"));
        self.created.insert(id, Created { usage, image, bound: Vec::new() });
        Some(())
    }

    fn bound(&mut self, line: &Line<'_>, mut values: Values<'_>) -> Option<()> {
        let (resource, block_id) = (values.number()?, values.number()?);
        let (offset, size, align): (u64, u64, u64) = (values.number()?, values.number()?, values.number()?);
        let words = values.rest();
        let end = offset.checked_add(size)?;
        let created = self.created.get_mut(&resource)?;
        let block = self.blocks.get_mut(&block_id)?;
        if size == 0 {
            return Some(());
        }
        self.last_id += 1;
        let id = self.last_id;
        created.bound.push((block_id, id));
        let alias = block.hosts.around(offset, end).and_then(|host_id| {
            let host = block.live.get_mut(&host_id)?;
            host.aliases.insert(id);
            Some((host_id, offset - host.offset))
        });
        if alias.is_none() {
            block.hosts.insert(id, offset, end);
        }
        let (host, aliases) = (alias.map(|(host, _)| host), BTreeSet::new());
        block.live.insert(id, Placed { size, offset, aliases, host, is_destroyed: false });
        let (memory, is_in_block) = (block.memory.clone(), end <= block.size);
        let created = self.created.get(&resource)?;
        let index = memory.memory_type.unwrap_or(0);
        let kind = self.recording.kind(index, created);
        let is_local = self.recording.flags(index) & DEVICE_LOCAL != 0;
        let image = created.image;
        let details = Details {
            // A driver may let a resource exceed imported memory.
            block: is_in_block.then_some(block_id),
            of: alias.map(|(host, _)| host),
            offset: Some(alias.map_or(offset, |(_, offset)| offset)),
            heap: Some(if is_local { HeapKind::Local } else { HeapKind::Host }),
            wants_dedicated: words.contains(&"wants-dedicated"),
            needs_dedicated: words.contains(&"needs-dedicated"),
            usage: Some(created.usage),
            extent: image.map(|it| it.extent),
            format: image.map(|it| it.format),
            mips: image.map(|it| it.mips),
            layers: image.map(|it| it.layers),
            samples: image.map(|it| it.samples),
            is_linear_image: image.is_some_and(|it| it.is_linear),
            ..memory
        };
        let details = match self.names.get(&resource) {
            Some(name) => details.named(name),
            None => details,
        };
        let frame = self.recording.frames;
        let event = match alias {
            None => Event::Alloc { id, size, align, kind, frame },
            Some(_) => Event::Alias { id, size, align, kind, frame },
        };
        self.push(line, event, details);
        Some(())
    }

    fn destroyed(&mut self, line: &Line<'_>, resource: u64) -> Option<()> {
        for (block_id, id) in self.created.remove(&resource)?.bound {
            // The block may have been freed, and the resource with it.
            let Some(block) = self.blocks.get_mut(&block_id) else { continue };
            let Some(placed) = block.live.get_mut(&id) else { continue };
            placed.is_destroyed = true;
            // Its bytes remain in use while a resource that aliases them is live.
            if !placed.aliases.is_empty() {
                continue;
            }
            let host = placed.host;
            self.gone(line, block_id, id);
            let is_unused = |host: &u64| {
                let live = &self.blocks.get(&block_id)?.live;
                live.get(host).filter(|host| host.is_destroyed && host.aliases.is_empty())
            };
            if let Some(host) = host.filter(|host| is_unused(host).is_some()) {
                self.gone(line, block_id, host);
            }
        }
        Some(())
    }

    /// Frees a resource of a block.
    fn gone(&mut self, line: &Line<'_>, block_id: u64, id: u64) {
        let Some(block) = self.blocks.get_mut(&block_id) else { return };
        let Some(placed) = block.live.remove(&id) else { return };
        if let Some(host) = placed.host.and_then(|host| block.live.get_mut(&host)) {
            host.aliases.remove(&id);
        }
        if placed.host.is_none() {
            block.hosts.remove(id, placed.offset, placed.offset + placed.size);
        }
        // The program had to wait for the GPU before it destroyed the resource.
        let details = Details { is_final: true, ..Details::default() };
        self.push(line, Event::Free { id, size: placed.size, frame: self.recording.frames }, details);
    }

    fn submitted(&mut self, line: &Line<'_>, mut values: Values<'_>) -> Option<()> {
        let (number, queue) = (values.number()?, values.number()?);
        self.pending.entry(queue).or_default().push_back(number);
        self.push(line, Event::Submit { number, frame: self.recording.frames }, Details::default());
        self.frame(line);
        Some(())
    }

    /// The program saw a submission complete. A queue completes its submissions in order, so all earlier ones are
    /// complete.
    fn seen(&mut self, line: &Line<'_>, mut values: Values<'_>) -> Option<()> {
        let (number, queue) = (values.number::<u64>()?, values.number::<u32>()?);
        while let Some(first) = self.pending.get(&queue)?.front().copied().filter(|first| *first <= number) {
            self.pending.get_mut(&queue)?.pop_front();
            let event = Event::Done { number: first, frame: self.recording.frames };
            self.push(line, event, Details::default());
        }
        Some(())
    }

    fn frame(&mut self, line: &Line<'_>) {
        if line.event == self.mark {
            self.recording.frames += 1;
            self.push(line, Event::Frame { number: self.recording.frames }, Details::default());
        }
    }
}

#[cfg(test)]
mod tests;
