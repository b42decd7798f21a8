//! The environment of a program: an allow-list of names, then what the run itself adds.
//!
//! Clients hand their own environment to the server, keys and session tokens included, and it may
//! carry hooks that run code in every shell or interpreter (`BASH_ENV`, `PYTHONSTARTUP`,
//! `NODE_OPTIONS`, `LD_PRELOAD`, `GIT_EXTERNAL_DIFF`, …). Only what is named here gets through.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::project::ProjectTools;

/// Names that pass, sorted. `PATH`, `PWD`, `TERM` and `TMPDIR` are not here: a run sets them.
const PASSED: &[&str] = &[
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "COMPOSER_HOME",
    "CONDA_PREFIX",
    "CURL_CA_BUNDLE",
    "DENO_DIR",
    "DENO_INSTALL",
    "DOTNET_CLI_HOME",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GONOPROXY",
    "GONOSUMDB",
    "GOPATH",
    "GOPRIVATE",
    "GOROOT",
    "GOTMPDIR",
    "GOTOOLCHAIN",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "HEX_HOME",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "M2_HOME",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "MIX_HOME",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "NUGET_PACKAGES",
    "NVM_BIN",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "REQUESTS_CA_BUNDLE",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "R_LIBS_USER",
    "SDKMAN_DIR",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TZ",
    "TZDIR",
    "USER",
    "UV_CACHE_DIR",
    "VOLTA_HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Names that pass by their beginning.
const PASSED_PREFIXES: &[&str] = &["LC_"];

/// Set for every program, sorted: nothing waits for a person, nothing draws for one.
const FIXED: &[(&str, &str)] = &[
    ("AWS_PAGER", ""),
    ("BAT_PAGER", "cat"),
    ("CLICOLOR", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("DOTNET_NOLOGO", "1"),
    ("EDITOR", "true"),
    ("GCM_INTERACTIVE", "never"),
    ("GH_PAGER", "cat"),
    ("GH_PROMPT_DISABLED", "1"),
    ("GIT_ASKPASS", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("HOMEBREW_NO_AUTO_UPDATE", "1"),
    ("MANPAGER", "cat"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("PIP_NO_INPUT", "1"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("SYSTEMD_PAGER", "cat"),
    ("TERM", "dumb"),
];

/// Any of these chooses a character set; with none of them programs would print ASCII only.
const LOCALE: &[&str] = &["LANG", "LC_ALL", "LC_CTYPE"];

/// What all runs of an executor share, and the search path.
#[derive(Debug)]
pub(crate) struct Environment {
    base: Vec<(OsString, OsString)>,
    path: OsString,
}

impl Environment {
    /// Filters the snapshot; `named` are the names that the user passes through on top. Where a name comes twice, the first counts, as in the C library.
    pub(crate) fn new(
        snapshot: &[(OsString, OsString)],
        named: &[OsString],
        path: OsString,
    ) -> Self {
        let mut base: Vec<(OsString, OsString)> = Vec::new();
        for (name, value) in snapshot {
            if (passes(name) || named.contains(name))
                && !base.iter().any(|(known, _)| known == name)
            {
                base.push((name.clone(), value.clone()));
            }
        }
        for (name, value) in FIXED {
            if !base.iter().any(|(known, _)| known == name) {
                base.push((name.into(), value.into()));
            }
        }
        if !base.iter().any(|(name, _)| LOCALE.iter().any(|locale| name == locale)) {
            base.push(("LANG".into(), "C.UTF-8".into()));
        }
        Self { base, path }
    }

    /// The search path without a project's directories.
    pub(crate) fn search_path(&self) -> &OsStr {
        &self.path
    }

    /// The environment of one run.
    pub(crate) fn for_run(
        &self,
        project: &ProjectTools,
        cwd: &Path,
        temporary: &Path,
        extra: &[(OsString, OsString)],
    ) -> Vec<(OsString, OsString)> {
        let mut all = self.base.clone();
        all.push(("PATH".into(), project.path_before(&self.path)));
        all.push(("PWD".into(), cwd.into()));
        all.push(("TMPDIR".into(), temporary.into()));
        if let Some(virtual_environment) = &project.virtual_environment {
            all.push(("VIRTUAL_ENV".into(), virtual_environment.into()));
        }
        for (name, value) in extra {
            all.retain(|(known, _)| known != name);
            all.push((name.clone(), value.clone()));
        }
        all
    }
}

fn passes(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    PASSED.binary_search(&name).is_ok()
        || PASSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(names: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        names.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn the_tables_are_sorted_and_disjoint() {
        assert!(PASSED.is_sorted_by(|a, b| a < b));
        assert!(FIXED.is_sorted_by(|a, b| a.0 < b.0));
        for (name, _) in FIXED {
            assert!(!PASSED.contains(name), "{name} is passed and fixed");
        }
    }

    #[test]
    fn hooks_loaders_and_secrets_do_not_pass() {
        for name in [
            "BASH_ENV",
            "ENV",
            "PROMPT_COMMAND",
            "PYTHONSTARTUP",
            "PYTHONPATH",
            "PYTHONHOME",
            "NODE_OPTIONS",
            "NODE_PATH",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "RUBYLIB",
            "PHPRC",
            "R_PROFILE_USER",
            "ELIXIR_ERL_OPTIONS",
            "ERL_FLAGS",
            "RUSTC_WRAPPER",
            "RUSTFLAGS",
            "GIT_EXTERNAL_DIFF",
            "GIT_SSH_COMMAND",
            "BASH_FUNC_ls%%",
            "IFS",
            "SHELLOPTS",
            "BASHOPTS",
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "SSH_AUTH_SOCK",
            "DOTNET_STARTUP_HOOKS",
            "JAVA_TOOL_OPTIONS",
            "CDPATH",
            "GLOBIGNORE",
            "PATH",
            "PWD",
            "TMPDIR",
            "TERM",
        ] {
            assert!(!passes(OsStr::new(name)), "{name} passes");
        }
        for name in ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "CARGO_HOME", "SHELL"] {
            assert!(passes(OsStr::new(name)), "{name} does not pass");
        }
    }

    #[test]
    fn a_run_sees_each_name_once_and_its_own_values_last() {
        let snapshot = pairs(&[
            ("HOME", "/h"),
            ("HOME", "/other"),
            ("PAGER", "less"),
            ("X", "1"),
            ("MINE", "2"),
        ]);
        let environment = Environment::new(&snapshot, &["MINE".into()], "/usr/bin:/bin".into());
        let extra = pairs(&[("FILE_PATH", "/f"), ("GOOS", "x")]);
        let project = ProjectTools::default();
        let all = environment.for_run(&project, Path::new("/w"), Path::new("/t"), &extra);
        let get = |name: &str| {
            let mut values = all.iter().filter(|(known, _)| known == name).map(|(_, v)| v);
            let value = values.next().map(|value| value.to_str().unwrap());
            assert!(values.next().is_none(), "{name} comes twice");
            value
        };
        assert_eq!(get("HOME"), Some("/h"));
        assert_eq!(get("PAGER"), Some("cat"));
        assert_eq!(get("PATH"), Some("/usr/bin:/bin"));
        assert_eq!(get("TMPDIR"), Some("/t"));
        assert_eq!(get("FILE_PATH"), Some("/f"));
        assert_eq!(get("X"), None);
        assert_eq!(get("MINE"), Some("2"));
        assert_eq!(get("LANG"), Some("C.UTF-8"));
        assert_eq!(get("VIRTUAL_ENV"), None);
    }
}
