//! A configuration as Rust.

use std::collections::BTreeSet;
use std::fmt::Write;

use tenure::Config;

use super::settings::{Notation, changes};

/// The statement that creates a configuration, with the needed imports.
pub(super) fn rust(config: &Config) -> String {
    let default = Config::default();
    let changes: Vec<_> = changes(&default, config).collect();
    if changes.is_empty() {
        return "use tenure::Config;\n\nlet config = Config::default();\n".to_owned();
    }
    let mut types = BTreeSet::new();
    let mut parts: Vec<(&str, String)> = Vec::new();
    for (setting, _, value) in changes {
        types.insert(setting.part_type);
        match setting.notation {
            Notation::Strategy => types.insert("Strategy"),
            Notation::Suballocator => types.insert("UploadSuballocator"),
            Notation::Number | Notation::Bytes => false,
        };
        let field = format!("\n            .{}({})", setting.field, setting.written(value));
        match parts.iter_mut().find(|(part, _)| *part == setting.part) {
            Some((_, fields)) => fields.push_str(&field),
            None => {
                let begin =
                    format!("    .{}(\n        {}::default(){field}", setting.part, setting.part_type);
                parts.push((setting.part, begin));
            }
        }
    }
    let types: Vec<_> = types.into_iter().collect();
    let types = types.join(", ");
    let mut code = format!("use tenure::{{Config, config::{{{types}}}}};\n\nlet config = Config::default()");
    for (_, part) in parts {
        // Writing to a string cannot fail.
        let _ = write!(code, "\n{part},\n    )");
    }
    code.push_str(";\n");
    code
}

#[cfg(test)]
mod tests {
    use tenure::Config;

    use super::rust;

    /// The program's output, compiled.
    #[allow(clippy::let_and_return, reason = "the text is what a program pastes")]
    fn compiled() -> Config {
        include!("example.in")
    }

    #[test]
    fn the_code_makes_the_configuration() {
        let config = compiled();
        config.validate().unwrap();
        assert_ne!(config, Config::default());
        assert_eq!(format!("{{\n{}config\n}}\n", rust(&config)), include_str!("example.in"));
    }

    #[test]
    fn the_default_is_short() {
        assert!(rust(&Config::default()).ends_with("let config = Config::default();\n"));
    }
}
