//! The user's configuration: a file, overridden by variables, overridden by flags.
//!
//! Everything that can be set is a row of [`SETTINGS`]. The file lies in the home directory
//! whatever any XDG variable says: clients pass those variables or not, and one user must not get
//! two configurations. A repository's files are never read.

mod nearest;
mod setting;
mod settings;
mod value;

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow, bail};

pub(crate) use self::nearest::nearest;
pub(crate) use self::setting::{Place, Sandbox, Setting, Settings};
pub(crate) use self::settings::SETTINGS;
use self::value::Value;

/// What our own variables begin with.
const PREFIX: &str = "QUIETCONTEXT_";

/// Names the configuration file; the one variable that is no setting.
const FILE_VARIABLE: &str = "QUIETCONTEXT_CONFIG";

/// Variables of the test suite.
const TEST_PREFIX: &str = "QUIETCONTEXT_TEST_";

/// The flags that every mode takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// `--root`.
    pub(crate) root: Option<PathBuf>,
    /// `--data-dir`.
    pub(crate) data_dir: Option<PathBuf>,
    /// `--log`.
    pub(crate) log: Option<String>,
    /// `--sandbox`.
    pub(crate) sandbox: Option<String>,
    /// `--port`, of the daemon.
    pub(crate) port: Option<String>,
}

impl Flags {
    /// As arguments of a process that shall be configured alike; the root is not one of them.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let data_dir = self.data_dir.as_ref().and_then(|path| std::path::absolute(path).ok());
        let named = [
            ("--data-dir", data_dir.map(PathBuf::into_os_string)),
            ("--log", self.log.as_ref().map(OsString::from)),
            ("--sandbox", self.sandbox.as_ref().map(OsString::from)),
            ("--port", self.port.as_ref().map(OsString::from)),
        ];
        let given = named.into_iter().filter_map(|(name, value)| Some([name.into(), value?]));
        given.flatten().collect()
    }

    /// Takes `--name value`; `None` when there is no such flag.
    pub(crate) fn set(&mut self, name: &str, value: &OsStr) -> Option<()> {
        match name {
            "root" => self.root = Some(value.into()),
            "data-dir" => self.data_dir = Some(value.into()),
            "log" => self.log = Some(value.to_str()?.to_owned()),
            "sandbox" => self.sandbox = Some(value.to_str()?.to_owned()),
            _ => return None,
        }
        Some(())
    }
}

/// What the process was started with, read once.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// The user's home directory.
    pub(crate) home: Option<PathBuf>,
    /// The environment.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        let variables: Vec<_> = std::env::vars_os().collect();
        let home =
            variables.iter().find(|(name, _)| name == "HOME").map(|(_, value)| value.clone());
        Self { home: crate::place::home(home), variables }
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }
}

/// The folder of the user's configuration. It does not follow the variable that names another file:
/// what is read again while programs run must not lie where one of them may write.
pub(crate) fn folder(surroundings: &Surroundings) -> Option<PathBuf> {
    Some(surroundings.home.as_ref()?.join(".config/quietcontext"))
}

/// The settings, and what in the surroundings looks like one but is none.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The settings.
    pub(crate) settings: Settings,
    /// One line for each variable that begins like ours and is unknown.
    pub(crate) warnings: Vec<String>,
    /// Where each setting comes from that is not at its default, by key.
    pub(crate) origins: Origins,
}

/// The place a setting was last set at: the file, a variable, a flag.
pub(crate) type Origins = BTreeMap<&'static str, String>;

/// Reads the configuration.
///
/// # Errors
///
/// Anything unknown or out of range, named with its place: a setting that was meant to restrict
/// must not be passed over in silence.
pub(crate) fn load(flags: &Flags, surroundings: &Surroundings) -> Result<Loaded> {
    let home = surroundings.home.as_deref();
    let mut settings = Settings::default();
    if let Some(home) = home {
        settings.data_dir = Some(home.join(".local/share/quietcontext"));
    }
    let mut origins = Origins::new();
    if let Some((file, shown)) = file(surroundings) {
        let keys = read_file(&mut settings, &file, surroundings).with_context(|| shown.clone())?;
        origins.extend(keys.into_iter().map(|key| (key, shown.clone())));
    }
    let warnings = read_variables(&mut settings, &mut origins, surroundings)?;
    if let Some(data_dir) = &flags.data_dir {
        let path = std::path::absolute(data_dir).context("--data-dir")?;
        settings.data_dir = Some(path);
        origins.insert("data_dir", "--data-dir".to_owned());
    }
    if let Some(root) = &flags.root {
        settings.root = Some(root.clone());
        origins.insert("root", "--root".to_owned());
    }
    let named = [
        ("--log", "log", &flags.log),
        ("--sandbox", "sandbox.mode", &flags.sandbox),
        ("--port", "daemon.port", &flags.port),
    ];
    for (flag, key, value) in named {
        if let Some(value) = value {
            let key = set(&mut settings, key, Value::Text(value.clone()), surroundings)
                .map_err(|why| anyhow!("{flag}: {why}"))?;
            origins.insert(key, flag.to_owned());
        }
    }
    Ok(Loaded { settings, warnings, origins })
}

/// Refuses a configuration file in the workspace: whoever writes there, a program of the agent or
/// the repository itself, must not decide how it is confined.
pub(crate) fn check_place(surroundings: &Surroundings, root: &Path) -> Result<()> {
    match file(surroundings) {
        Some((path, shown)) if crate::place::real(&path).starts_with(root) => {
            bail!(
                "the configuration {shown} lies in the workspace; move it out of {}",
                root.display()
            )
        }
        _ => Ok(()),
    }
}

/// The configuration file, if there is one to read, and how it is called in messages.
/// The configuration file that is read where no variable names another one; it need not be there.
///
/// # Errors
///
/// When a variable does, or no home directory is known.
pub(crate) fn to_begin(surroundings: &Surroundings) -> Result<PathBuf> {
    if surroundings.variable(FILE_VARIABLE).is_some_and(|named| !named.is_empty()) {
        bail!(
            "{FILE_VARIABLE} names another file: quietcontext config --example prints what it may hold"
        );
    }
    let folder = folder(surroundings).ok_or_else(|| anyhow!("no home directory is known"))?;
    Ok(folder.join("config.toml"))
}

fn file(surroundings: &Surroundings) -> Option<(PathBuf, String)> {
    if let Some(named) = surroundings.variable(FILE_VARIABLE).filter(|named| !named.is_empty()) {
        let path = PathBuf::from(named);
        let shown = path.display().to_string();
        return Some((path, shown));
    }
    let relative = ".config/quietcontext/config.toml";
    let path = surroundings.home.as_ref()?.join(relative);
    // Where it cannot be told, reading it tells why.
    path.try_exists().unwrap_or(true).then(|| (path, format!("~/{relative}")))
}

/// Answers the keys that the file sets.
fn read_file(
    settings: &mut Settings,
    file: &PathBuf,
    surroundings: &Surroundings,
) -> Result<Vec<&'static str>> {
    let text = std::fs::read_to_string(file)?;
    let table: toml::Table = text.parse()?;
    let mut found = Vec::new();
    flatten("", table, &mut found);
    let mut keys = Vec::new();
    for (key, value) in found {
        if !SETTINGS.iter().any(|setting| setting.place.in_file() && setting.answers_to(&key)) {
            let known =
                SETTINGS.iter().filter(|setting| setting.place.in_file()).map(|row| row.key);
            bail!("unknown setting {key}{}", hint(nearest(&key, known)));
        }
        let value = Value::from_toml(&value).map_err(|why| anyhow!("{key}: {why}"))?;
        let set = set(settings, &key, value, surroundings);
        keys.push(set.map_err(|why| anyhow!("{key}: {why}"))?);
    }
    Ok(keys)
}

/// The leaves of a table, with dotted keys.
fn flatten(prefix: &str, table: toml::Table, found: &mut Vec<(String, toml::Value)>) {
    for (key, value) in table {
        let key = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) => flatten(&key, inner, found),
            leaf => found.push((key, leaf)),
        }
    }
}

fn read_variables(
    settings: &mut Settings,
    origins: &mut Origins,
    surroundings: &Surroundings,
) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    for (name, value) in &surroundings.variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        if name == FILE_VARIABLE || name.starts_with(TEST_PREFIX) || value.is_empty() {
            continue;
        }
        let Some(row) = SETTINGS.iter().find(|row| row.variable() == name) else {
            let known: Vec<_> = SETTINGS.iter().map(Setting::variable).collect();
            let hint = hint(nearest(name, known.iter().map(String::as_str)));
            warnings.push(format!("unknown variable {name}{hint}"));
            continue;
        };
        if row.place == Place::FileOnly {
            warnings
                .push(format!("{name} is not read: {} is set in the file or by a flag", row.key));
            continue;
        }
        let value = value.to_str().ok_or_else(|| anyhow!("{name}: must be UTF-8"))?;
        let value = Value::Text(value.to_owned());
        set(settings, row.key, value, surroundings).map_err(|why| anyhow!("{name}: {why}"))?;
        origins.insert(row.key, name.to_owned());
    }
    Ok(warnings)
}

/// Sets what `key` names; answers the row's own key.
fn set(
    settings: &mut Settings,
    key: &str,
    value: Value,
    surroundings: &Surroundings,
) -> Result<&'static str, String> {
    match SETTINGS.iter().find(|setting| setting.answers_to(key)) {
        Some(setting) => {
            (setting.set)(settings, &value, surroundings.home.as_deref()).map(|()| setting.key)
        }
        None => Err("unknown setting".to_owned()),
    }
}

/// What is added to the naming of an unknown name.
pub(crate) fn hint(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
