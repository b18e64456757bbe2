//! Choosing one of several adapters.

use crate::args::Pick;

impl Pick {
    /// The index of the chosen adapter, by these names; 0 without a choice.
    ///
    /// # Errors
    /// A message with the names of the adapters.
    pub(crate) fn index(pick: Option<&Self>, names: &[String]) -> Result<usize, String> {
        let found: Vec<usize> = match pick {
            None => (0..names.len()).take(1).collect(),
            Some(Self::Number(number)) => (0..names.len()).filter(|index| index == number).collect(),
            Some(Self::Name(part)) => {
                let part = part.to_lowercase();
                let is_meant = |index: &usize| names[*index].to_lowercase().contains(&part);
                (0..names.len()).filter(is_meant).collect()
            }
        };
        match found[..] {
            [index] => Ok(index),
            [] if names.is_empty() => Err("there is no device".to_owned()),
            [] => Err(format!("no such device; there are {}", listed(names, 0..names.len()))),
            _ => Err(format!("several devices match: {}", listed(names, found))),
        }
    }
}

fn listed(names: &[String], indices: impl IntoIterator<Item = usize>) -> String {
    let of = |index: usize| names.get(index).map(|name| format!("{index} ({name})"));
    indices.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::Pick;

    fn index(pick: Option<&str>, names: &[&str]) -> Result<usize, String> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        Pick::index(pick.map(|text| text.parse().unwrap()).as_ref(), &names)
    }

    #[test]
    fn adapters_are_chosen_by_number_or_part_of_the_name() {
        let names = ["GeForce 4090", "llvmpipe (LLVM 19)", "GeForce 3060"];
        assert_eq!(index(None, &names), Ok(0));
        assert_eq!(index(Some("2"), &names), Ok(2));
        assert_eq!(index(Some("LLVM"), &names), Ok(1));
        assert_eq!(index(Some("force 3"), &names), Ok(2));
    }

    #[test]
    fn a_wrong_choice_lists_the_adapters() {
        let names = ["GeForce 4090", "GeForce 3060"];
        let nothing = "no such device; there are 0 (GeForce 4090), 1 (GeForce 3060)".to_owned();
        assert_eq!(index(Some("2"), &names), Err(nothing.clone()));
        assert_eq!(index(Some("-1"), &names), Err(nothing));
        let both = "several devices match: 0 (GeForce 4090), 1 (GeForce 3060)".to_owned();
        assert_eq!(index(Some("geforce"), &names), Err(both));
        assert_eq!(index(None, &[]), Err("there is no device".to_owned()));
    }
}
