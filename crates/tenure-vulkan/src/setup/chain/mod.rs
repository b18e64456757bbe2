//! Chains of feature structures: the program's, with tenure's features added.

mod known_structures;
#[cfg(test)]
mod tests;
mod version_structures;

use core::ffi::c_void;
use core::ptr;
use std::ffi::CString;

use ash::vk;

use self::known_structures::{HEAD, Structure, known};
use self::version_structures::{IMPLIED, since, whole_of};
use crate::error::CreateError;
use crate::features::ApiVersion;

/// The number of features of Vulkan 1.0, the largest of all structures; even, so that the size has no padding.
const MOST: usize = 56;

/// Maximum length of a chain. Vulkan has fewer feature structures, so a longer one is an error.
const LONGEST: usize = 1024;

/// A copy of a feature structure, with space for any of them.
#[repr(C)]
#[derive(Clone, Copy)]
struct FeatureCopy {
    kind: vk::StructureType,
    next: *mut c_void,
    flags: [vk::Bool32; MOST],
}

/// Bytes before the flags in each structure of features.
const FLAGS: usize = core::mem::offset_of!(FeatureCopy, flags);

/// A copy of a structure of a chain, with its description.
#[derive(Clone, Copy)]
struct Linked {
    structure: &'static Structure,
    copy: FeatureCopy,
}

/// A copy of a chain. The first is always Vulkan 1.0's features.
pub(super) struct Chain {
    links: Vec<Linked>,
    /// The end of the program's chain, of structures that are not known, and so not copied.
    rest: *mut c_void,
}

impl Linked {
    fn empty(structure: &'static Structure) -> Self {
        let copy = FeatureCopy { kind: structure.kind, next: ptr::null_mut(), flags: [vk::FALSE; MOST] };
        Self { structure, copy }
    }

    /// # Safety
    /// `at` points to a structure of the kind that `structure` describes.
    unsafe fn copied(structure: &'static Structure, at: *const vk::BaseInStructure<'_>) -> Self {
        let mut link = Self::empty(structure);
        let from = at.cast::<u8>().wrapping_add(FLAGS).cast::<vk::Bool32>();
        // SAFETY: by the table, the structure has this number of flags at `from`. A copy has space for the flags of any
        // structure.
        unsafe { ptr::copy_nonoverlapping(from, link.copy.flags.as_mut_ptr(), structure.features.len()) };
        link
    }

    /// The enabled features.
    fn on(&self) -> impl Iterator<Item = &'static str> + '_ {
        let features = self.structure.features.iter().zip(&self.copy.flags);
        features.filter(|(_, flag)| **flag != vk::FALSE).map(|(feature, _)| *feature)
    }

    fn switch_on(&mut self, feature: &str) {
        let features = self.structure.features.iter().zip(&mut self.copy.flags);
        features.filter(|(name, _)| **name == feature).for_each(|(_, flag)| *flag = vk::TRUE);
    }
}

impl Chain {
    /// Copies a chain. Unknown structures at its end are not copied.
    ///
    /// # Safety
    /// The pointers of the chain are valid, and its end stays valid while the copy is in use.
    pub(super) unsafe fn copied(features: &vk::PhysicalDeviceFeatures2<'_>) -> Result<Self, CreateError> {
        // SAFETY: `HEAD` describes `VkPhysicalDeviceFeatures2`, the type of the structure.
        let head = unsafe { Linked::copied(&HEAD, ptr::from_ref(features).cast()) };
        let mut chain = Self { links: vec![head], rest: ptr::null_mut() };
        let mut next: *const vk::BaseInStructure<'_> = features.p_next.cast::<vk::BaseInStructure<'_>>();
        let mut seen = 0;
        while !next.is_null() {
            seen = counted(seen)?;
            // SAFETY: the caller promises that each structure in the chain is valid, and begins like this.
            let (kind, after) = unsafe { ((*next).s_type, (*next).p_next) };
            match known(kind) {
                Some(structure) => {
                    // SAFETY: the type identifies the structure.
                    chain.push(unsafe { Linked::copied(structure, next) })?;
                }
                None if chain.rest.is_null() => chain.rest = next.cast_mut().cast(),
                None => {}
            }
            next = after;
        }
        chain.check_wholes()?;
        Ok(chain)
    }

    /// Copies the structures that a device was created with. Unknown structures are skipped.
    ///
    /// # Errors
    /// [`CreateError::InvalidFeatures`] for a chain without an end.
    ///
    /// # Safety
    /// `info` and its chain are valid.
    pub(super) unsafe fn of_device(info: &vk::DeviceCreateInfo<'_>) -> Result<Self, CreateError> {
        let mut chain = Self { links: Vec::new(), rest: ptr::null_mut() };
        // SAFETY: the caller promises that the pointer is valid or null.
        if let Some(features) = unsafe { info.p_enabled_features.as_ref() } {
            let head = vk::PhysicalDeviceFeatures2::default().features(*features);
            // SAFETY: `HEAD` describes `VkPhysicalDeviceFeatures2`, the type of the structure.
            chain.links.push(unsafe { Linked::copied(&HEAD, ptr::from_ref(&head).cast()) });
        }
        let mut next = info.p_next.cast::<vk::BaseInStructure<'_>>();
        let mut seen = 0;
        while !next.is_null() {
            seen = counted(seen)?;
            // SAFETY: the caller promises that each structure in the chain is valid, and begins like this.
            let (kind, after) = unsafe { ((*next).s_type, (*next).p_next) };
            // SAFETY: `s_type` identifies the structure.
            chain.links.extend(known(kind).map(|structure| unsafe { Linked::copied(structure, next) }));
            next = after;
        }
        Ok(chain)
    }

    /// Enables the features of this chain in another chain of known structures, also in the structures of whole
    /// Vulkan versions.
    ///
    /// # Safety
    /// The chain at `head` is valid and may be written.
    pub(super) unsafe fn copy_to(&self, head: *mut vk::BaseOutStructure<'_>) {
        let mut next = head;
        while !next.is_null() {
            // SAFETY: the caller promises that each structure in the chain is valid, and begins like this.
            let (kind, after) = unsafe { ((*next).s_type, (*next).p_next) };
            let flags = next.cast::<u8>().wrapping_add(FLAGS).cast::<vk::Bool32>();
            let features = known(kind).into_iter().flat_map(|structure| structure.features).enumerate();
            for (index, _) in features.filter(|(_, feature)| self.is_on(kind, feature)) {
                // SAFETY: by the table, the structure has a flag at this index.
                unsafe { flags.wrapping_add(index).write(vk::TRUE) };
            }
            next = after;
        }
    }

    fn is_on(&self, kind: vk::StructureType, feature: &str) -> bool {
        let is_there = |link: &&Linked| {
            let has = link.structure.kind;
            has == kind || Some(has) == whole_of(kind)
        };
        self.links.iter().filter(is_there).any(|link| link.on().any(|on| on == feature))
    }

    fn push(&mut self, link: Linked) -> Result<(), CreateError> {
        let name = || link.structure.name.to_owned();
        if !self.rest.is_null() {
            return refused("structures that tenure does not know are at the end, behind all others", name());
        }
        if self.find(link.structure.kind).is_some() {
            return refused("each structure is there once", name());
        }
        self.links.push(link);
        Ok(())
    }

    fn find(&self, kind: vk::StructureType) -> Option<usize> {
        self.links.iter().position(|link| link.structure.kind == kind)
    }

    /// Checks that no structure for single features is beside that of a whole version.
    fn check_wholes(&self) -> Result<(), CreateError> {
        for link in &self.links {
            let whole = whole_of(link.structure.kind).and_then(|whole| self.links.get(self.find(whole)?));
            if let Some(whole) = whole {
                let found = format!("{} and {}", whole.structure.name, link.structure.name);
                return refused("the structure of a whole version has no part of it beside it", found);
            }
        }
        Ok(())
    }

    /// An error for a feature that the physical device does not have, or not in the version that is used.
    pub(super) fn check_device(
        &self,
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
        version: ApiVersion,
    ) -> Result<(), CreateError> {
        for link in &self.links {
            if since(link.structure.kind).is_some_and(|since| version < since) {
                let found = format!("{} with Vulkan {version}", link.structure.name);
                return refused("the structure is of the version that is used, or older", found);
            }
        }
        let links = self.links.iter().map(|link| Linked::empty(link.structure)).collect();
        let mut offered = Self { links, rest: ptr::null_mut() };
        let head = offered.link().cast::<vk::PhysicalDeviceFeatures2<'_>>();
        // SAFETY: the chain consists of copies with space for all fields. A driver skips structures that it does
        // not know.
        unsafe { (instance.fp_v1_1().get_physical_device_features2)(physical, head) };
        match self.missing(&offered) {
            None => Ok(()),
            Some((structure, feature)) => {
                let feature = format!("{} ({structure})", as_specified(feature));
                Err(CreateError::NoFeature { feature })
            }
        }
    }

    /// The first feature enabled here and not in `offered`, a chain of the same structures.
    fn missing(&self, offered: &Self) -> Option<(&'static str, &'static str)> {
        let mut pairs = self.links.iter().zip(&offered.links);
        pairs.find_map(|(wanted, offered)| {
            let missing = wanted.on().find(|feature| offered.on().all(|there| there != *feature));
            Some((wanted.structure.name, missing?))
        })
    }

    /// Adds the structures of `own`, or only their enabled features if the chain already has a place for them.
    pub(super) fn add(&mut self, own: &Self) {
        for link in &own.links {
            let kind = link.structure.kind;
            let place = self.find(kind).or_else(|| self.find(whole_of(kind)?));
            match place.and_then(|place| self.links.get_mut(place)) {
                Some(there) => link.on().for_each(|feature| there.switch_on(feature)),
                None => self.links.push(*link),
            }
        }
    }

    /// Enables the features that enabled extensions imply.
    pub(super) fn add_implied(&mut self, extensions: &[CString]) {
        let enabled = |name| extensions.iter().any(|extension| extension.as_c_str() == name);
        for (_, whole, feature) in IMPLIED.into_iter().filter(|row| enabled(row.0)) {
            let links = self.links.iter_mut().filter(|link| link.structure.kind == whole);
            links.for_each(|link| link.switch_on(feature));
        }
    }

    /// Links the copies, and the end that was not copied. Valid until the chain is moved, changed or dropped.
    pub(super) fn link(&mut self) -> *mut c_void {
        let mut next = self.rest;
        for link in self.links.iter_mut().rev() {
            link.copy.next = next;
            next = ptr::from_mut(&mut link.copy).cast();
        }
        next
    }
}

/// Counts another structure of a chain; an error beyond [`LONGEST`].
fn counted(seen: usize) -> Result<usize, CreateError> {
    match seen + 1 {
        count if count > LONGEST => refused("a chain ends", format!("{count} structures")),
        count => Ok(count),
    }
}

fn refused<T>(rule: &'static str, found: String) -> Result<T, CreateError> {
    Err(CreateError::InvalidFeatures { rule, found })
}

/// The name of a feature as in the Vulkan specification.
fn as_specified(feature: &str) -> String {
    let mut name = String::new();
    for (index, word) in feature.split('_').enumerate() {
        let mut characters = word.chars();
        match characters.next() {
            Some(first) if index > 0 => name.push(first.to_ascii_uppercase()),
            first => name.extend(first),
        }
        name.push_str(characters.as_str());
    }
    name
}
