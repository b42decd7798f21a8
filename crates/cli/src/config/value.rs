//! A configured value as it was written, and what it can be read as.

use std::path::{Path, PathBuf};

/// A value from the file, a variable or a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// A text; in a variable everything is one.
    Text(String),
    /// A whole number.
    Number(i64),
    /// Several texts.
    List(Vec<String>),
}

impl Value {
    /// A leaf of the file.
    pub(super) fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let text = |value: &toml::Value| value.as_str().map(str::to_owned);
        match value {
            toml::Value::String(text) => Ok(Self::Text(text.clone())),
            toml::Value::Integer(number) => Ok(Self::Number(*number)),
            toml::Value::Array(items) => items
                .iter()
                .map(text)
                .collect::<Option<_>>()
                .map(Self::List)
                .ok_or_else(|| "must be a list of strings".to_owned()),
            other => Err(format!("must not be a {}", other.type_str())),
        }
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, String> {
        let found = match self {
            Self::Text(text) => words.iter().find(|(word, _)| word == text),
            Self::Number(_) | Self::List(_) => None,
        };
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            format!("must be one of {}", words.join(", "))
        })
    }

    /// A whole number of at least 1.
    pub(super) fn count(&self) -> Result<u64, String> {
        let number = match self {
            Self::Number(number) => u64::try_from(*number).ok(),
            Self::Text(text) => text.trim().parse().ok(),
            Self::List(_) => None,
        };
        number
            .filter(|number| *number > 0)
            .ok_or_else(|| "must be a whole number above 0".to_owned())
    }

    /// A port of TCP; 0 for any that is free.
    pub(super) fn port(&self) -> Result<u16, String> {
        let number = match self {
            Self::Number(number) => u16::try_from(*number).ok(),
            Self::Text(text) => text.trim().parse().ok(),
            Self::List(_) => None,
        };
        number.ok_or_else(|| "must be a port: 1 to 65535, or 0 for any that is free".to_owned())
    }

    /// An amount of bytes: a number, or one with `KiB`, `MiB` or `GiB` behind it.
    pub(super) fn bytes(&self) -> Result<u64, String> {
        const UNITS: [(&str, u32); 3] = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
        let Self::Text(text) = self else { return self.count() };
        let amount = UNITS
            .iter()
            .find_map(|(unit, shift)| Some((text.trim().strip_suffix(unit)?, shift)))
            .map_or_else(
                || self.count().ok(),
                |(number, shift)| {
                    let number = Self::Text(number.to_owned()).count().ok()?;
                    number.checked_mul(1 << shift)
                },
            );
        amount.ok_or_else(|| "must be an amount such as 1048576, 512 MiB or 2 GiB".to_owned())
    }

    /// Several texts; in one text they are separated by commas.
    pub(super) fn list(&self) -> Result<Vec<String>, String> {
        match self {
            Self::List(items) => Ok(items.clone()),
            Self::Text(text) => Ok(text
                .split(',')
                .map(|item| item.trim().to_owned())
                .filter(|item| !item.is_empty())
                .collect()),
            Self::Number(_) => Err("must be a list of strings".to_owned()),
        }
    }

    /// An absolute path, or one below the home directory as `~/…`.
    pub(super) fn path(&self, home: Option<&Path>) -> Result<PathBuf, String> {
        match self {
            Self::Text(text) => path(text, home),
            Self::Number(_) | Self::List(_) => Err(NO_PATH.to_owned()),
        }
    }

    /// Several paths.
    pub(super) fn paths(&self, home: Option<&Path>) -> Result<Vec<PathBuf>, String> {
        self.list()?.iter().map(|text| path(text, home)).collect()
    }
}

const NO_PATH: &str = "must be an absolute path or begin with ~/";

fn path(text: &str, home: Option<&Path>) -> Result<PathBuf, String> {
    let path = match text.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)),
        None => Some(PathBuf::from(text)),
    };
    path.filter(|path| path.is_absolute()).ok_or_else(|| NO_PATH.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_bytes() {
        for (text, wanted) in [
            ("1", Some(1)),
            ("1048576", Some(1 << 20)),
            ("512 MiB", Some(512 << 20)),
            ("2GiB", Some(2 << 30)),
            ("0", None),
            ("-1", None),
            ("1.5 GiB", None),
            ("MiB", None),
            ("99999999999 GiB", None),
            ("", None),
        ] {
            assert_eq!(Value::Text(text.to_owned()).bytes().ok(), wanted, "{text}");
        }
        assert_eq!(Value::Number(7).bytes(), Ok(7));
        assert!(Value::Number(-7).bytes().is_err());
    }

    #[test]
    fn paths_are_absolute_or_below_the_home() {
        let home = Path::new("/home/ada");
        for (text, wanted) in [
            ("/d", Some("/d")),
            ("~/d e", Some("/home/ada/d e")),
            ("d", None),
            ("", None),
            ("~d", None),
        ] {
            let found = Value::Text(text.to_owned()).path(Some(home)).ok();
            assert_eq!(found, wanted.map(PathBuf::from), "{text}");
        }
        assert!(Value::Text("~/d".to_owned()).path(None).is_err());
    }
}
