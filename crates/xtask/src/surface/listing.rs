//! The public items, from rustdoc.

use std::fmt::Display;
use std::fs;

use serde_json::Value;

use super::Release;
use super::project::Project;
use crate::command::run;
use crate::outcome::Trouble;

/// Auto traits that are the compiler's own: no program can name them.
const UNNAMED: [&str; 2] = ["core::marker::Freeze", "core::marker::UnsafeUnpin"];

/// The public items of one of the project's crates, with their signatures and the traits that types have;
/// traits that all types have are left out.
pub(super) fn listing(
    release: &Release,
    project: &Project<'_>,
    package: &str,
    triple: &str,
) -> Result<Vec<String>, Trouble> {
    let mut command = project.command("rustdoc");
    command.args(["--quiet", "--package", package, "--target", triple]);
    command.args(["--", "-Z", "unstable-options", "--output-format", "json"]);
    // The format is not stable, which is why the release is a particular one: see `RELEASE`.
    run(command.env("RUSTC_BOOTSTRAP", "1"))?;
    let file = project.target().join(triple).join("doc/gpu_allocator.json");
    let unread = |error: &dyn Display| Trouble::Failed(format!("{}, by {release}: {error}", file.display()));
    let found = public_api::Builder::from_rustdoc_json(&file).omit_blanket_impls(true).build();
    let found = found.map_err(|error| unread(&error))?;
    let text = fs::read_to_string(&file).map_err(|error| unread(&error))?;
    let documented: Value = serde_json::from_str(&text).map_err(|error| unread(&error))?;
    let mut items: Vec<_> = found.items().map(ToString::to_string).filter(|item| is_named(item)).collect();
    items.extend(private_fields(&documented, &items));
    Ok(items)
}

/// Structures that programs can neither make nor take apart without `..`, which is not among the items.
fn private_fields(documented: &Value, items: &[String]) -> Vec<String> {
    let all = documented["index"].as_object().into_iter().flatten();
    let mut found: Vec<_> = all
        .filter(|(_, item)| item["inner"]["struct"]["kind"]["plain"]["has_stripped_fields"] == true)
        .filter_map(|(id, _)| documented["paths"][id]["path"].as_array())
        .map(|path| format!("private fields in {}", public_path(path, items)))
        .collect();
    found.sort();
    found
}

/// The path without its private modules.
fn public_path(path: &[Value], items: &[String]) -> String {
    let mut public = String::new();
    let mut segments = path.iter().filter_map(Value::as_str).peekable();
    while let Some(segment) = segments.next() {
        let longer = if public.is_empty() { segment.to_owned() } else { format!("{public}::{segment}") };
        if segments.peek().is_none() || items.contains(&format!("pub mod {longer}")) {
            public = longer;
        }
    }
    public
}

fn is_named(item: &str) -> bool {
    let of = item.trim_start_matches("impl ").trim_start_matches('!').split_whitespace().next();
    !of.is_some_and(|of| UNNAMED.contains(&of))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_named, private_fields};

    #[test]
    fn auto_traits_of_the_compiler_are_left_out() {
        assert!(!is_named("impl core::marker::Freeze for a::B"));
        assert!(!is_named("impl !core::marker::UnsafeUnpin for a::B<'a>"));
        assert!(is_named("impl !core::marker::Send for a::B") && is_named("pub struct a::B"));
    }

    #[test]
    fn private_fields_are_listed_by_public_path() {
        let plain = |hidden| json!({ "inner": { "struct": { "kind": { "plain": { "has_stripped_fields": hidden } } } } });
        let documented = json!({
            "index": { "1": plain(true), "2": plain(false), "3": { "inner": { "enum": {} } } },
            "paths": { "1": { "path": ["a", "b", "hidden", "C"] }, "2": { "path": ["a", "D"] } },
        });
        let items = ["pub mod a", "pub mod a::b"].map(str::to_owned);
        assert_eq!(private_fields(&documented, &items), ["private fields in a::b::C"]);
    }
}
