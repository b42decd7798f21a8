//! What tools and indexes answered, kept in the data folder until something they depend on changes.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use quietcontext_fetch::HostPort;
use serde_json::{Map, Value, json};

use super::{discover::User, files, list::write_whole, tools::Tool};

/// How long an index's answer is believed.
const LEARNED: Duration = Duration::from_hours(7 * 24);

/// The version of the file; another one is not read.
const VERSION: u64 = 1;

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    /// What it depends on.
    stamp: String,
    hosts: Vec<HostPort>,
}

/// All answers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    path: PathBuf,
    answers: BTreeMap<String, Answer>,
}

impl Memory {
    /// Reads what there is; a file that cannot be read is an empty one.
    pub(super) fn open(path: PathBuf) -> Self {
        let text = files::read(&path).unwrap_or_default();
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let known = value.get("version").and_then(Value::as_u64) == Some(VERSION);
        let members = value.get("answers").and_then(Value::as_object).filter(|_| known);
        let answers = members.into_iter().flatten().filter_map(|(key, value)| {
            let stamp = value.get("stamp")?.as_str()?.to_owned();
            let hosts = value.get("hosts")?.as_array()?.iter();
            let hosts = hosts.map(|host| HostPort::parse(host.as_str()?)).collect::<Option<_>>()?;
            Some((key.clone(), Answer { stamp, hosts }))
        });
        Self { path, answers: answers.collect() }
    }

    /// The answer under this key, if it was given for the same stamp.
    pub(super) fn get(&self, key: &str, stamp: &str) -> Option<&[HostPort]> {
        let answer = self.answers.get(key).filter(|answer| answer.stamp == stamp)?;
        Some(&answer.hosts)
    }

    /// Keeps an answer.
    pub(super) fn put(&mut self, key: &str, stamp: String, hosts: Vec<HostPort>) {
        self.answers.insert(key.to_owned(), Answer { stamp, hosts });
    }

    /// Writes the file. Where that fails the next process asks again.
    pub(super) fn save(&self) -> std::io::Result<()> {
        let entry = |(key, answer): (&String, &Answer)| {
            let hosts: Vec<_> = answer.hosts.iter().map(ToString::to_string).collect();
            (key.clone(), json!({ "stamp": answer.stamp, "hosts": hosts }))
        };
        let answers: Map<_, _> = self.answers.iter().map(entry).collect();
        let text = json!({ "version": VERSION, "answers": answers }).to_string();
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        write_whole(&self.path, text.as_bytes())
    }
}

/// What a tool's answer depends on: the program, its files and its variables.
pub(super) fn stamp(user: &User, tool: &Tool, program: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), program, files::stamp(program)).hash(&mut hasher);
    for (place, _) in tool.files {
        files::stamp(&user.path(*place)).hash(&mut hasher);
    }
    for (name, value) in user.set_variables(tool) {
        (name, value).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

/// The stamp of an index's answer: it changes once a week.
pub(super) fn week() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("week {}", since.as_secs() / LEARNED.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_for_their_stamp_and_damage_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/network.json");
        let hosts = vec![HostPort::parse("a.example:8443").unwrap()];
        let mut memory = Memory::open(path.clone());
        memory.put("npm", "1".to_owned(), hosts.clone());
        memory.put("pip", "1".to_owned(), Vec::new());
        memory.save().unwrap();
        let memory = Memory::open(path.clone());
        assert_eq!(memory.get("npm", "1"), Some(hosts.as_slice()));
        assert_eq!(memory.get("pip", "1"), Some(&[][..]), "none is an answer too");
        assert_eq!((memory.get("npm", "2"), memory.get("go", "1")), (None, None));
        for damage in [
            "",
            "{",
            "[]",
            r#"{"version":9,"answers":{"npm":{"stamp":"1","hosts":[]}}}"#,
            r#"{"version":1,"answers":{"npm":{"stamp":"1","hosts":["a/b"]}}}"#,
        ] {
            std::fs::write(&path, damage).unwrap();
            assert_eq!(Memory::open(path.clone()).get("npm", "1"), None, "{damage}");
        }
    }
}
