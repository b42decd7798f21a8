//! The files that hold the rules: where they are, whether they changed, and what they say.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde_json::Value;

use super::pattern::Pattern;
use super::read::ReadRule;
use crate::budget::clip;
use crate::render::{one_line, short};

/// Where the system's administrator keeps settings.
pub(super) const MANAGED: &str = "/etc/claude-code";
/// Largest settings file that is read, in bytes.
const LARGEST: u64 = 4 << 20;

/// One file that may hold rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub path: PathBuf,
    /// How it is called to the caller: without the home directory.
    pub shown: String,
    /// What `/…` in a `Read` rule may be relative to: clients did not always mean the same.
    pub anchors: Vec<PathBuf>,
}

/// What tells whether a file changed; `None` when it is not there.
type Stamp = Option<(u64, u64, u64, i64, i64, i64, i64)>;

/// The stamps of all sources, in their order.
pub(super) type Stamps = Vec<(Source, Stamp)>;

/// A rule, and where it stands.
#[derive(Debug)]
pub(super) struct Rule<T> {
    pub rule: T,
    /// `Bash(rm:*) in ~/.claude/settings.json`.
    pub shown: String,
}

/// All rules.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub bash: Vec<Rule<Pattern>>,
    pub read: Vec<Rule<ReadRule>>,
}

/// Where bases of `Read` rules lie.
#[derive(Debug)]
pub(super) struct Bases<'a> {
    pub root: &'a Path,
    pub home: Option<&'a Path>,
}

/// The files for a root, looked at now.
///
/// # Errors
/// One line about a file that cannot be looked at.
pub(super) fn stamps(bases: &Bases<'_>, managed: &Path) -> Result<Stamps, String> {
    let mut sources = Vec::new();
    let mut add = |folder: &Path, file: &str, shown: String, anchors: Vec<PathBuf>| {
        sources.push(Source { path: folder.join(file), shown, anchors });
    };
    for file in ["settings.json", "settings.local.json"] {
        if let Some(home) = bases.home {
            let folder = home.join(".claude");
            let anchors = vec![folder.clone(), bases.root.to_owned()];
            add(&folder, file, format!("~/.claude/{file}"), anchors);
        }
        let folder = bases.root.join(".claude");
        let anchors = vec![bases.root.to_owned(), folder.clone()];
        add(&folder, file, format!(".claude/{file}"), anchors);
    }
    let anchors = || vec![bases.root.to_owned(), managed.to_owned()];
    let file = "managed-settings.json";
    add(managed, file, managed.join(file).to_string_lossy().into_owned(), anchors());
    let folder = managed.join("managed-settings.d");
    for name in drop_ins(&folder)? {
        add(&folder, &name, folder.join(&name).to_string_lossy().into_owned(), anchors());
    }
    sources
        .into_iter()
        .map(|source| match std::fs::metadata(&source.path) {
            Ok(found) => Ok((source, Some(stamp(&found)))),
            Err(error) if missing(&error) => Ok((source, None)),
            Err(error) => Err(unusable(&source.shown, &crate::root::reason(&error))),
        })
        .collect()
}

/// The files that an administrator's packages put beside the managed settings.
fn drop_ins(folder: &Path) -> Result<Vec<String>, String> {
    let failed =
        |error: io::Error| unusable(&folder.to_string_lossy(), &crate::root::reason(&error));
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|e| e == "json") && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn stamp(found: &Metadata) -> (u64, u64, u64, i64, i64, i64, i64) {
    let (dev, ino, size) = (found.dev(), found.ino(), found.size());
    (dev, ino, size, found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec())
}

fn missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn unusable(shown: &str, why: &str) -> String {
    format!(
        "the deny rules of {shown} cannot be used ({why}), so nothing is run or read: the user must repair or remove it"
    )
}

/// Reads all rules.
///
/// # Errors
/// One line about the first file that cannot be read or understood.
pub(super) fn load(stamps: &Stamps, bases: &Bases<'_>) -> Result<Loaded, String> {
    let mut loaded = Loaded::default();
    for (source, stamp) in stamps {
        if stamp.is_none() {
            continue;
        }
        let text = match read(&source.path) {
            Ok(text) => text,
            Err(error) if missing(&error) => continue,
            Err(error) => return Err(unusable(&source.shown, &crate::root::reason(&error))),
        };
        let rules = rules(&text).map_err(|why| unusable(&source.shown, &why))?;
        for text in rules {
            add(&mut loaded, &text, source, bases).map_err(|why| {
                unusable(&source.shown, &format!("its rule {} {why}", short(&text)))
            })?;
        }
    }
    Ok(loaded)
}

/// The bytes of a regular file; a pipe in its place does not make anybody wait.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other("it is larger than 4 MiB"));
    }
    Ok(text)
}

/// The entries of `permissions.deny`.
pub(super) fn rules(text: &[u8]) -> Result<Vec<String>, String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if text.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| format!("no valid JSON, line {}", error.line()))?;
    let settings = value.as_object().ok_or("it is no JSON object")?;
    let Some(permissions) = settings.get("permissions") else { return Ok(Vec::new()) };
    let permissions = permissions.as_object().ok_or("permissions is no object")?;
    let Some(deny) = permissions.get("deny") else { return Ok(Vec::new()) };
    let rule = |rule: &Value| rule.as_str().map(str::to_owned);
    let all = deny.as_array().and_then(|rules| rules.iter().map(rule).collect());
    all.ok_or_else(|| "permissions.deny is no list of texts".to_owned())
}

/// Takes one rule in; those of other tools are their own business.
pub(super) fn add(
    loaded: &mut Loaded,
    text: &str,
    source: &Source,
    bases: &Bases<'_>,
) -> Result<(), String> {
    let text = text.trim();
    let (tool, specifier) = match text.split_once('(') {
        Some((tool, rest)) => (tool.trim(), Some(rest.strip_suffix(')'))),
        None => (text, None),
    };
    let (bash, read) = (matches!(tool, "Bash" | "*"), matches!(tool, "Read" | "*"));
    if !bash && !read {
        return Ok(());
    }
    let specifier = match specifier {
        None => "",
        Some(Some(specifier)) => specifier,
        Some(None) => return Err("has no closing parenthesis".to_owned()),
    };
    let shown = format!("{} in {}", clip(&one_line(text), 80), source.shown);
    if bash {
        let rule = Pattern::new(&specifier.replace("\\(", "(").replace("\\)", ")"));
        loaded.bash.push(Rule { rule, shown: shown.clone() });
    }
    if read {
        let rule = ReadRule::new(specifier, source, bases)?;
        loaded.read.push(Rule { rule, shown });
    }
    Ok(())
}
