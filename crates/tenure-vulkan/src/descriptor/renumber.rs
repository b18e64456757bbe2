//! Replacement of the bindings of a shader's variables.

use std::collections::HashSet;

use tenure_core::device::{Allowed, DeviceError};

// The numbers of SPIR-V that are parsed, from its specification.
const MAGIC: u32 = 0x0723_0203;
const HEADER: usize = 5;
const OP_FUNCTION: u32 = 54;
const OP_DECORATE: u32 = 71;
const OP_GROUP_DECORATE: u32 = 74;
const BINDING: u32 = 33;
const DESCRIPTOR_SET: u32 = 34;

/// Replaces the binding of each variable of a descriptor set by the result of `replace`; `None` is an error:
/// the binding does not exist. On error nothing is changed.
pub(super) fn renumber(
    spirv: &mut [u32],
    set: u32,
    replace: impl Fn(u32) -> Option<u32>,
) -> Result<(), DeviceError> {
    if spirv.first() != Some(&MAGIC) || spirv.len() < HEADER {
        return Err(invalid(0, "SPIR-V in this machine's byte order"));
    }
    let decorations = decorations(spirv)?;
    let of_set = |found: &&Decoration| found.decoration == DESCRIPTOR_SET && found.value == set;
    let variables: HashSet<u32> = decorations.iter().filter(of_set).map(|found| found.id).collect();
    let is_changed = |found: &&Decoration| found.decoration == BINDING && variables.contains(&found.id);
    let mut changes = Vec::new();
    for found in decorations.iter().filter(is_changed) {
        let binding = replace(found.value).ok_or(DeviceError::invalid_desc(
            "binding",
            found.value,
            Allowed::Rule("a binding of the heap"),
        ))?;
        changes.push((found.at, binding));
    }
    for (at, binding) in changes {
        spirv.get_mut(at).into_iter().for_each(|word| *word = binding);
    }
    Ok(())
}

/// A decoration with a number.
struct Decoration {
    id: u32,
    decoration: u32,
    value: u32,
    /// The word that holds the number.
    at: usize,
}

/// Bindings and sets of variables: all are before the first function.
fn decorations(spirv: &[u32]) -> Result<Vec<Decoration>, DeviceError> {
    let mut found = Vec::new();
    let mut at = HEADER;
    while let Some(first) = spirv.get(at) {
        let (code, length) = (first & 0xffff, (first >> 16) as usize);
        let words = spirv.get(at..at.saturating_add(length)).unwrap_or_default();
        match (code, words) {
            (_, []) => return Err(invalid(at, "whole instructions")),
            (OP_FUNCTION, _) => break,
            (OP_GROUP_DECORATE, _) => return Err(invalid(at, "no decoration groups")),
            (OP_DECORATE, [_, id, decoration @ (BINDING | DESCRIPTOR_SET), value, ..]) => {
                found.push(Decoration { id: *id, decoration: *decoration, value: *value, at: at + 3 });
            }
            _ => {}
        }
        at += length;
    }
    Ok(found)
}

/// An error with the invalid word.
fn invalid(at: usize, rule: &'static str) -> DeviceError {
    DeviceError::invalid_desc("spirv", at as u64, Allowed::Rule(rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decorate(id: u32, decoration: u32, value: u32) -> [u32; 4] {
        [4 << 16 | OP_DECORATE, id, decoration, value]
    }

    /// A header, variables of sets with bindings, a function, and words behind it that look like a decoration.
    fn shader(variables: &[[u32; 3]]) -> Vec<u32> {
        let mut words = vec![MAGIC, 0x0001_0300, 0, 100, 0];
        for [id, set, binding] in variables {
            words.extend(decorate(*id, BINDING, *binding));
            words.extend(decorate(*id, DESCRIPTOR_SET, *set));
        }
        words.extend([5 << 16 | OP_FUNCTION, 1, 2, 0, 3]);
        words.extend(decorate(1, BINDING, 1));
        words
    }

    fn heap(binding: u32) -> Option<u32> {
        [0, 0, 2, 0, 0, 0].get(binding as usize).copied()
    }

    #[test]
    fn variables_of_the_set_get_other_bindings() {
        let mut words = shader(&[[1, 0, 5], [2, 1, 5], [3, 0, 2], [4, 0, 0]]);
        renumber(&mut words, 0, heap).unwrap();
        let expected = shader(&[[1, 0, 0], [2, 1, 5], [3, 0, 2], [4, 0, 0]]);
        assert_eq!(words, expected);
        renumber(&mut words, 0, heap).unwrap();
        assert_eq!(words, expected, "which stay when it is done again");
        renumber(&mut words, 7, |_| None).unwrap();
        assert_eq!(words, expected, "a set that it does not use");
    }

    /// Errors leave any words unchanged.
    #[test]
    fn invalid_shaders_are_refused() {
        let good = shader(&[[1, 0, 5], [2, 0, 6]]);
        let mut words = good.clone();
        let refused = renumber(&mut words, 0, heap);
        assert!(matches!(refused, Err(DeviceError::InvalidDesc { field: "binding", .. })), "{refused:?}");
        assert_eq!(words, good);
        let group = [2 << 16 | OP_GROUP_DECORATE, 9];
        let with = |more: &[u32]| [&good[..HEADER + 8], more].concat();
        let bad =
            [vec![], vec![MAGIC], vec![MAGIC.swap_bytes(); 9], with(&group), with(&[0]), with(&[9 << 16])];
        for mut words in bad {
            let refused = renumber(&mut words, 0, heap);
            assert!(matches!(refused, Err(DeviceError::InvalidDesc { field: "spirv", .. })), "{refused:?}");
        }
    }
}
