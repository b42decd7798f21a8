//! Rules from files to verdicts.

use std::ffi::OsString;
use std::os::unix::fs::symlink;

use quietcontext_exec::{ExecConfig, Executor};

use super::*;

mod commands;
mod hidden;
mod settings;

/// A root, a home, and a place for managed settings.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["w", "home", "managed", "path"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at(path), text).unwrap();
    }

    fn deny(&self, file: &str, rules: &[&str]) {
        self.write(file, &serde_json::json!({"permissions": {"deny": rules}}).to_string());
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::new(&self.at("w"), Some(&self.at("home")), &[], true);
        policy.managed = self.at("managed");
        policy
    }

    fn gate(&self) -> Gate {
        Gate::new(Arc::new(Executor::new(ExecConfig {
            binary: "/nonexistent".into(),
            scratch: vec![self.at("scratch")],
            path: OsString::from(self.at("path")),
            environment: Vec::new(),
            output_cap: 1 << 20,
            passed: Vec::new(),
            confinement: quietcontext_exec::Confinement::Off,
        })))
    }

    /// The verdict on shell text: empty when it may run.
    fn shell(&self, text: &str) -> String {
        let rules = self.policy().rules().unwrap();
        rules.check_shell(text, Dialect::Bash, &self.at("w")).err().unwrap_or_default()
    }

    fn refusal(&self) -> String {
        let policy = self.policy();
        policy.hidden(&policy.rules().unwrap()).unwrap_err().to_string()
    }

    fn hidden(&self) -> Vec<String> {
        let policy = self.policy();
        let rules = policy.rules().unwrap();
        let mut hidden = policy.hidden(&rules).unwrap();
        hidden.extend(policy.programs(&rules, &self.gate()).into_iter().map(|(path, _)| path));
        let base = self.at("");
        hidden
            .iter()
            .map(|path| path.strip_prefix(&base).unwrap_or(path).to_string_lossy().into_owned())
            .collect()
    }
}

const USER: &str = "home/.claude/settings.json";
const PROJECT: &str = "w/.claude/settings.json";
