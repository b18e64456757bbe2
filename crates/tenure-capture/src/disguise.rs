//! The memory of another device: its heaps, memory types and alignments in all answers of the driver.
//!
//! The table comes as text from the program that starts the layer. Each of its memory types stands for one of the driver's,
//! and an allocation goes to that one. Types of the driver that none stands for follow those of the table, for resources that
//! only they hold.

use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;
use ash::vk::MemoryPropertyFlags as Flags;

/// Bits that only programs with an extension may use: not offered, whatever the table says.
const SPECIAL: Flags = Flags::from_raw(Flags::PROTECTED.as_raw() | 0xc0);
/// The properties that an access of the CPU depends on.
const ACCESS: Flags = Flags::from_raw(Flags::HOST_VISIBLE.as_raw() | Flags::HOST_COHERENT.as_raw());

/// The memory of the device that programs see. Sizes and alignments are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// Size, and whether the heap is the device's own.
    heaps: Vec<(u64, bool)>,
    /// Properties and heap.
    types: Vec<(Flags, u32)>,
    buffer_alignment: u64,
    /// The alignment of images up to 64 KiB.
    image_alignment: u64,
    /// The alignment of larger images.
    large_image_alignment: u64,
    /// A bit for each type that holds optimal images.
    image_types: u32,
    granularity: u64,
    non_coherent_atom: u64,
    most_allocations: u32,
    largest_allocation: u64,
}

/// Images up to this size have the smaller alignment.
const SMALL_IMAGE: u64 = 64 << 10;

impl Table {
    /// Reads a table of words `key=value`: see the documentation of the crate. `None` if a part is missing or wrong.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| text.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        let number = |key: &str| value(key)?.parse::<u64>().ok();
        let alignment = |key: &str| number(key).filter(|bytes| bytes.is_power_of_two());
        let pair = |pair: &str| {
            let (a, b) = pair.split_once(':')?;
            Some((a.parse::<u64>().ok()?, b.parse::<u32>().ok()?))
        };
        let pairs = |key: &str| value(key)?.split(',').map(pair).collect::<Option<Vec<_>>>();
        let heaps: Vec<_> = pairs("heaps")?.into_iter().map(|(size, local)| (size, local != 0)).collect();
        let types = pairs("types")?.into_iter().map(|(flags, heap)| {
            Some((Flags::from_raw(flags.try_into().ok()?), heap)).filter(|_| (heap as usize) < heaps.len())
        });
        let types = types.collect::<Option<Vec<_>>>()?;
        let is_possible = heaps.len() <= vk::MAX_MEMORY_HEAPS && types.len() <= vk::MAX_MEMORY_TYPES;
        let table = Self {
            name: value("name")?.to_owned(),
            heaps,
            types,
            buffer_alignment: alignment("buffer")?,
            image_alignment: alignment("image")?,
            large_image_alignment: alignment("large-image")?,
            image_types: number("image-types")?.try_into().ok()?,
            granularity: alignment("granularity")?,
            non_coherent_atom: alignment("atom")?,
            most_allocations: number("allocations")?.try_into().ok()?,
            largest_allocation: number("largest")?,
        };
        is_possible.then_some(table)
    }

    /// Replaces the limits that concern memory.
    pub(crate) fn limits(&self, limits: &mut vk::PhysicalDeviceLimits) {
        limits.buffer_image_granularity = limits.buffer_image_granularity.max(self.granularity);
        limits.non_coherent_atom_size = limits.non_coherent_atom_size.max(self.non_coherent_atom);
        limits.max_memory_allocation_count = limits.max_memory_allocation_count.min(self.most_allocations);
    }

    /// The largest allocation, by the driver's own limit.
    pub(crate) fn largest(&self, real: u64) -> u64 {
        real.min(self.largest_allocation)
    }

    /// Replaces heaps and types.
    pub(crate) fn memory_properties(&self, out: &mut vk::PhysicalDeviceMemoryProperties) {
        let types = self.types_on(out);
        *out = vk::PhysicalDeviceMemoryProperties::default();
        for (place, Type { flags, heap, .. }) in out.memory_types.iter_mut().zip(types) {
            *place = vk::MemoryType { property_flags: flags, heap_index: heap };
            out.memory_type_count += 1;
        }
        for (place, &(size, is_local)) in out.memory_heaps.iter_mut().zip(&self.heaps) {
            let flags =
                if is_local { vk::MemoryHeapFlags::DEVICE_LOCAL } else { vk::MemoryHeapFlags::empty() };
            *place = vk::MemoryHeap { size, flags };
            out.memory_heap_count += 1;
        }
    }

    /// Replaces budgets and usages: seven eighths of each heap, and the allocations of this instance.
    pub(crate) fn budget(&self, used: &Used, out: &mut vk::PhysicalDeviceMemoryBudgetPropertiesEXT<'_>) {
        (out.heap_budget, out.heap_usage) = Default::default();
        for (heap, &(size, _)) in self.heaps.iter().enumerate() {
            if let (Some(budget), Some(usage)) = (out.heap_budget.get_mut(heap), out.heap_usage.get_mut(heap))
            {
                *budget = size - size / 8;
                *usage = used.of_heap(heap);
            }
        }
    }

    /// The types on a driver. The one that stands for a type of the table is reached by the CPU in the same way, with the fewest
    /// other differences.
    fn types_on(&self, real: &vk::PhysicalDeviceMemoryProperties) -> Vec<Type> {
        let real_types = real.memory_types_as_slice();
        let closest = |flags: Flags| {
            let candidates = real_types.iter().zip(0_u32..).filter(|(real, _)| {
                !real.property_flags.intersects(SPECIAL | Flags::LAZILY_ALLOCATED)
                    && real.property_flags.contains(flags & ACCESS)
            });
            candidates.min_by_key(|(real, _)| (real.property_flags ^ flags).as_raw().count_ones())
        };
        let own = self.types.iter().map(|&(flags, heap)| {
            let real = closest(flags).map_or(0, |(_, index)| index);
            Type { flags, heap, real }
        });
        let mut types: Vec<_> = own.collect();
        for (found, real) in real_types.iter().zip(0..) {
            let flags = found.property_flags;
            let is_known = flags.intersects(SPECIAL) || types.iter().any(|it| it.real == real);
            if !is_known && types.len() < vk::MAX_MEMORY_TYPES {
                let is_local = flags.contains(Flags::DEVICE_LOCAL);
                let same = self.heaps.iter().zip(0..).find(|((_, local), _)| *local == is_local);
                types.push(Type { flags, heap: same.map_or(0, |(_, heap)| heap), real });
            }
        }
        types
    }
}

/// A memory type that programs see.
#[derive(Clone, Copy, Debug)]
struct Type {
    flags: Flags,
    heap: u32,
    /// The driver's type for its allocations.
    real: u32,
}

/// The bytes in use of each heap of the table, over all devices of an instance.
#[derive(Debug, Default)]
pub(crate) struct Used([AtomicU64; vk::MAX_MEMORY_HEAPS]);

impl Used {
    fn of_heap(&self, heap: usize) -> u64 {
        self.0.get(heap).map_or(0, |bytes| bytes.load(Ordering::Relaxed))
    }
}

/// The properties of a resource on which its requirements depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// An image with optimal tiling, not a buffer or a linear image.
    pub(crate) is_optimal: bool,
    /// A target that never leaves a render pass, which lazily allocated memory is for.
    pub(crate) is_transient: bool,
}

impl Shape {
    pub(crate) const BUFFER: Self = Self { is_optimal: false, is_transient: false };

    pub(crate) fn of_image(info: &vk::ImageCreateInfo<'_>) -> Self {
        Self {
            is_optimal: info.tiling == vk::ImageTiling::OPTIMAL,
            is_transient: info.usage.contains(vk::ImageUsageFlags::TRANSIENT_ATTACHMENT),
        }
    }
}

/// The table on a device.
#[derive(Debug)]
pub(crate) struct Disguise {
    table: Table,
    /// Those of the table first.
    types: Vec<Type>,
}

impl Disguise {
    pub(crate) fn new(table: &Table, real: &vk::PhysicalDeviceMemoryProperties) -> Self {
        Self { table: table.clone(), types: table.types_on(real) }
    }

    /// The driver's type for an allocation of this type.
    pub(crate) fn real_type(&self, index: u32) -> u32 {
        self.types.get(index as usize).map_or(0, |it| it.real)
    }

    /// Replaces the types of a resource, and raises its alignment.
    pub(crate) fn requirements(&self, shape: Shape, out: &mut vk::MemoryRequirements) {
        let table = &self.table;
        let alignment = match shape.is_optimal {
            false => table.buffer_alignment,
            true if out.size <= SMALL_IMAGE => table.image_alignment,
            true => table.large_image_alignment,
        };
        out.alignment = out.alignment.max(alignment);
        out.memory_type_bits = self.types_of(shape, out.memory_type_bits);
    }

    /// Replaces the types of a resource.
    pub(crate) fn types_of(&self, shape: Shape, real: u32) -> u32 {
        let types = self.standing_for(real, |index, flags| {
            let is_lazy = flags.contains(Flags::LAZILY_ALLOCATED);
            (!shape.is_optimal || self.table.image_types & 1 << index != 0)
                && (!is_lazy || shape.is_transient)
        });
        // Of a resource that only special memory of the driver holds, the table knows nothing.
        if types == 0 { self.standing_for(real, |_, _| true) } else { types }
    }

    /// Replaces the types of imported memory; that of the CPU is in types that it reaches.
    pub(crate) fn imported(&self, real: u32, is_of_cpu: bool) -> u32 {
        self.standing_for(real, |_, flags| {
            !flags.contains(Flags::LAZILY_ALLOCATED) && (!is_of_cpu || flags.contains(Flags::HOST_VISIBLE))
        })
    }

    fn standing_for(&self, real: u32, is_wanted: impl Fn(usize, Flags) -> bool) -> u32 {
        let wanted = self.types.iter().enumerate().filter(|&(index, it)| {
            real & 1 << it.real != 0 && !it.flags.intersects(SPECIAL) && is_wanted(index, it.flags)
        });
        let all = wanted.fold(0, |bits, (index, _)| bits | 1 << index);
        let of_table = all & ((1_u64 << self.table.types.len()) - 1) as u32;
        if of_table == 0 { all } else { of_table }
    }

    /// Counts an allocation of a type; false if its heap is smaller.
    pub(crate) fn take(&self, used: &Used, index: u32, size: u64) -> bool {
        let Some((heap, most)) = self.heap(index) else { return true };
        let Some(used) = used.0.get(heap) else { return true };
        let more = |bytes: u64| bytes.checked_add(size).filter(|bytes| *bytes <= most);
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Counts the end of an allocation.
    pub(crate) fn give_back(&self, used: &Used, index: u32, size: u64) {
        if let Some(used) = self.heap(index).and_then(|(heap, _)| used.0.get(heap)) {
            used.fetch_sub(size, Ordering::Relaxed);
        }
    }

    /// The heap of a type, and its size.
    fn heap(&self, index: u32) -> Option<(usize, u64)> {
        let heap = self.types.get(index as usize)?.heap as usize;
        Some((heap, self.table.heaps.get(heap)?.0))
    }
}

#[cfg(test)]
mod tests {
    use ash::vk;
    use ash::vk::MemoryPropertyFlags as Flags;

    use super::{Disguise, Shape, Table, Used};

    /// Types: host, device, host for the device, lazily allocated.
    const TEXT: &str = "name=card heaps=1000:1,4000:0 types=6:1,1:0,7:0,17:0 buffer=16 image=1024 large-image=65536 \
                        image-types=10 granularity=1024 atom=64 allocations=4096 largest=500";
    const OPTIMAL: Shape = Shape { is_optimal: true, is_transient: false };

    fn real(types: &[u32]) -> vk::PhysicalDeviceMemoryProperties {
        let mut real = vk::PhysicalDeviceMemoryProperties::default();
        for (place, &flags) in real.memory_types.iter_mut().zip(types) {
            place.property_flags = Flags::from_raw(flags);
            real.memory_type_count += 1;
        }
        real
    }

    fn disguise(types: &[u32]) -> Disguise {
        Disguise::new(&Table::parse(TEXT).unwrap(), &real(types))
    }

    #[test]
    fn a_table_is_read_whole_or_not_at_all() {
        assert_eq!(Table::parse(TEXT).unwrap().name, "card");
        for (from, to) in [
            ("name=card ", ""),
            ("buffer=16", "buffer=17"),
            ("image=1024", "image=0"),
            ("6:1", "6:2"),
            ("6:1", "6"),
            ("7:0", "x:0"),
            ("1000:1", "18446744073709551616:1"),
            ("largest=500", "largest="),
            ("types=6:1", &format!("types=6:1{}", ",6:1".repeat(29))),
        ] {
            assert_eq!(Table::parse(&TEXT.replacen(from, to, 1)), None, "{to}");
        }
    }

    #[test]
    fn one_memory_type_stands_for_all() {
        // Lavapipe: everything at once.
        let disguise = disguise(&[0b1111]);
        assert_eq!([0, 1, 2, 3, 9].map(|index| disguise.real_type(index)), [0; 5]);
        assert_eq!(disguise.types_of(Shape::BUFFER, 1), 0b0111);
        assert_eq!(disguise.types_of(OPTIMAL, 1), 0b0010, "by the mask of images");
        assert_eq!(disguise.types_of(Shape { is_transient: true, ..OPTIMAL }, 1), 0b1010);
        assert_eq!(disguise.types_of(Shape::BUFFER, 0b10), 0, "no type of the driver, no type of the table");
        assert_eq!((disguise.imported(1, false), disguise.imported(1, true)), (0b0111, 0b0101));
    }

    #[test]
    fn a_card_stands_for_another_type_by_type() {
        // Device, host, host cached, device for the host.
        let disguise = disguise(&[1, 6, 14, 7]);
        assert_eq!([0, 1, 2, 3].map(|index| disguise.real_type(index)), [1, 0, 3, 0]);
        assert_eq!(disguise.types_of(Shape::BUFFER, 0b0001), 0b0010);
        assert_eq!(disguise.types_of(OPTIMAL, 0b1000), 0b0100, "none of the mask: any type that holds it");
    }

    #[test]
    fn types_that_none_stands_for_hold_what_no_other_holds() {
        // Host, device, twice the type of system memory that the CPU does not reach, a protected one, and device again.
        let real = real(&[6, 1, 0, 0, 33, 1]);
        let table = Table::parse(TEXT).unwrap();
        let disguise = Disguise::new(&table, &real);
        let mut seen = real;
        table.memory_properties(&mut seen);
        let types = seen.memory_types_as_slice().iter().map(|it| (it.property_flags.as_raw(), it.heap_index));
        let expected = [(6, 1), (1, 0), (7, 0), (17, 0), (0, 1), (0, 1), (1, 0)];
        assert_eq!(types.collect::<Vec<_>>(), expected);
        assert_eq!([4, 5, 6].map(|index| disguise.real_type(index)), [2, 3, 5]);
        for (real, seen) in
            [(0b1000, 0b10_0000), (0b10_0000, 0b100_0000), (0b1_1100, 0b11_0000), (0b1_0000, 0)]
        {
            assert_eq!(disguise.types_of(Shape::BUFFER, real), seen, "{real:b}");
            assert_eq!(disguise.types_of(OPTIMAL, real), seen, "{real:b}");
            assert_eq!(disguise.imported(real, false), seen, "{real:b}");
        }
        assert_eq!(disguise.types_of(Shape::BUFFER, 0b10_1010), 0b10, "the table's own first");
        let used = Used::default();
        assert!(disguise.take(&used, 6, 1000) && !disguise.take(&used, 6, 1), "the heap of 1000 bytes");
    }

    #[test]
    fn alignments_only_rise() {
        let disguise = disguise(&[0b1111]);
        let align = |shape, size, alignment| {
            let mut found = vk::MemoryRequirements { size, alignment, memory_type_bits: 1 };
            disguise.requirements(shape, &mut found);
            assert_eq!(found.size, size);
            found.alignment
        };
        assert_eq!(align(Shape::BUFFER, 100, 1), 16);
        assert_eq!(align(Shape::BUFFER, 100, 64), 64);
        assert_eq!(align(OPTIMAL, 64 << 10, 64), 1024);
        assert_eq!(align(OPTIMAL, (64 << 10) + 1, 64), 64 << 10);
    }

    #[test]
    fn a_heap_has_its_size_and_its_budget() {
        let (table, used) = (Table::parse(TEXT).unwrap(), Used::default());
        let disguise = disguise(&[0b1111]);
        assert!(disguise.take(&used, 1, 600));
        assert!(!disguise.take(&used, 2, 401), "the same heap of 1000 bytes");
        assert!(!disguise.take(&used, 2, u64::MAX));
        assert!(disguise.take(&used, 2, 400) && disguise.take(&used, 0, 7));
        disguise.give_back(&used, 1, 600);
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        budget.heap_usage[5] = 99;
        table.budget(&used, &mut budget);
        assert_eq!(budget.heap_usage[..6], [400, 7, 0, 0, 0, 0]);
        assert_eq!(budget.heap_budget[..3], [875, 3500, 0]);
    }
}
