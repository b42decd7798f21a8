//! Where each tool says which hosts it uses: one row a tool.
//!
//! No host is named here. A row says which of the user's files and variables hold addresses, which
//! folders are named after hosts, and how the tool itself is asked where those say nothing.

use super::parse::Form;

/// One tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// Variables that hold addresses; `*` stands for any middle.
    pub(super) variables: &'static [&'static str],
    pub(super) files: &'static [(Place, Form)],
    /// Folders whose members are named after hosts.
    pub(super) caches: &'static [(Place, Naming)],
    pub(super) ask: Option<Ask>,
    /// Where an index names the host that its files are loaded from.
    pub(super) learn: Option<Learn>,
}

/// Where a file or folder lies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// Below the home directory.
    Home(&'static str),
    /// Below what the variable names, else below that folder of the home directory.
    Moved(&'static str, &'static str, &'static str),
    /// The same for every user.
    System(&'static str),
}

/// How a folder's members are named after hosts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Naming {
    /// `HOST-<hash>`.
    HostAndHash,
    /// `HOST%PORT`.
    HostPercentPort,
    /// `https---HOST`.
    Dashes,
    /// `HOST`.
    Host,
}

/// How a tool is asked: it is run where it reaches nothing and finds nothing.
pub(super) struct Ask {
    pub(super) arguments: &'static [&'static str],
    pub(super) variables: &'static [(&'static str, &'static str)],
    pub(super) answer: Answer,
}

/// What tells the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// What it asks the proxy for, which refuses.
    Tried,
    /// The addresses and bare names that it prints.
    Printed,
}

/// How an index names other hosts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Learn {
    /// `config.json` at its root: the address in `dl`.
    CargoIndex,
    /// The page of a project that every index of the kind has: the hosts of its links.
    SimplePage,
}

/// What a tool that is asked must not do.
const ONCE: &[(&str, &str)] = &[
    ("CARGO_NET_RETRY", "0"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_NO_CACHE_DIR", "1"),
    ("PIP_RETRIES", "0"),
    ("UV_PYTHON_DOWNLOADS", "never"),
    ("npm_config_fetch_retries", "0"),
    ("npm_config_update_notifier", "false"),
];

const fn tried(arguments: &'static [&'static str]) -> Ask {
    Ask { arguments, variables: ONCE, answer: Answer::Tried }
}

const fn printed(arguments: &'static [&'static str]) -> Ask {
    Ask { arguments, variables: ONCE, answer: Answer::Printed }
}

/// A package that no index needs to have.
const ANY: &str = "x";

/// All tools, sorted by name.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "bundle",
        variables: &["BUNDLE_MIRROR__*"],
        files: &[
            (Place::Home(".bundle/config"), Form::Lines(&["bundle_mirror*"])),
            (
                Place::Moved("XDG_CONFIG_HOME", ".config", "bundle/config"),
                Form::Lines(&["bundle_mirror*"]),
            ),
        ],
        caches: &[],
        ask: None,
        learn: None,
    },
    Tool {
        name: "cargo",
        variables: &["CARGO_REGISTRIES_*_INDEX", "CARGO_SOURCE_*_REGISTRY"],
        files: &[
            (Place::Moved("CARGO_HOME", ".cargo", "config.toml"), CARGO),
            (Place::Moved("CARGO_HOME", ".cargo", "config"), CARGO),
        ],
        caches: &[(Place::Moved("CARGO_HOME", ".cargo", "registry/index"), Naming::HostAndHash)],
        ask: Some(tried(&["search", ANY])),
        learn: Some(Learn::CargoIndex),
    },
    Tool {
        name: "composer",
        variables: &[],
        files: &[
            (Place::Moved("COMPOSER_HOME", ".config/composer", "config.json"), Form::Json("url")),
            (Place::Home(".composer/config.json"), Form::Json("url")),
        ],
        caches: &[(Place::Moved("COMPOSER_CACHE_DIR", ".cache/composer", "repo"), Naming::Dashes)],
        ask: Some(tried(&["show", "--all", "--no-interaction", "x/x"])),
        learn: None,
    },
    Tool {
        name: "gem",
        variables: &["RUBYGEMS_HOST"],
        files: &[(Place::Home(".gemrc"), Form::Lines(&["sources"]))],
        caches: &[
            (Place::Home(".gem/specs"), Naming::HostPercentPort),
            (Place::Home(".local/share/gem/specs"), Naming::HostPercentPort),
        ],
        ask: Some(tried(&["list", "--remote", ANY])),
        learn: None,
    },
    Tool {
        name: "gh",
        variables: &[],
        files: &[(Place::Moved("GH_CONFIG_DIR", ".config/gh", "hosts.yml"), Form::HostKeys)],
        caches: &[],
        ask: Some(Ask {
            arguments: &["api", "/"],
            // Without some token it asks for one and reaches nothing.
            variables: &[("GH_TOKEN", "none"), ("GH_PROMPT_DISABLED", "1")],
            answer: Answer::Tried,
        }),
        learn: None,
    },
    Tool {
        name: "go",
        variables: &["GOPROXY", "GOSUMDB"],
        files: &[(
            Place::Moved("XDG_CONFIG_HOME", ".config", "go/env"),
            Form::Lines(&["goproxy", "gosumdb"]),
        )],
        caches: &[(Place::Moved("GOMODCACHE", "go/pkg/mod", "cache/download/sumdb"), Naming::Host)],
        ask: Some(printed(&["env", "GOPROXY", "GOSUMDB"])),
        learn: None,
    },
    Tool {
        name: "mix",
        variables: &["HEX_MIRROR", "HEX_MIRROR_URL", "HEX_API_URL"],
        files: &[],
        caches: &[],
        ask: Some(tried(&["local.hex", "--force"])),
        learn: None,
    },
    Tool {
        name: "mvn",
        variables: &[],
        files: &[
            (Place::Home(".m2/settings.xml"), Form::Xml("mirror", "url")),
            (Place::Home(".m2/settings.xml"), Form::Xml("repository", "url")),
            (Place::Home(".m2/settings.xml"), Form::Xml("pluginRepository", "url")),
        ],
        caches: &[],
        ask: None,
        learn: None,
    },
    Tool {
        name: "npm",
        variables: &["npm_config_registry", "NPM_CONFIG_REGISTRY"],
        files: &[
            (Place::Home(".npmrc"), Form::Lines(&["registry"])),
            (Place::System("/etc/npmrc"), Form::Lines(&["registry"])),
            (Place::System("/usr/etc/npmrc"), Form::Lines(&["registry"])),
        ],
        caches: &[],
        ask: Some(tried(&["view", ANY, "version"])),
        learn: None,
    },
    Tool {
        name: "pip",
        variables: &["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"],
        files: &[
            (Place::Moved("XDG_CONFIG_HOME", ".config", "pip/pip.conf"), PIP),
            (Place::Home(".pip/pip.conf"), PIP),
            (Place::System("/etc/pip.conf"), PIP),
            (Place::System("/etc/xdg/pip/pip.conf"), PIP),
        ],
        caches: &[],
        ask: Some(tried(&["download", "--no-deps", ANY])),
        learn: Some(Learn::SimplePage),
    },
    Tool {
        name: "pnpm",
        variables: &[],
        files: &[(
            Place::Moved("XDG_CONFIG_HOME", ".config", "pnpm/rc"),
            Form::Lines(&["registry"]),
        )],
        caches: &[],
        ask: Some(tried(&["view", ANY, "version"])),
        learn: None,
    },
    Tool {
        name: "uv",
        variables: &["UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"],
        files: &[
            (Place::Moved("XDG_CONFIG_HOME", ".config", "uv/uv.toml"), UV),
            (Place::System("/etc/uv/uv.toml"), UV),
        ],
        caches: &[],
        ask: Some(tried(&["tool", "run", ANY])),
        learn: Some(Learn::SimplePage),
    },
    Tool {
        name: "yarn",
        variables: &["YARN_NPM_REGISTRY_SERVER", "YARN_REGISTRY"],
        files: &[
            (Place::Home(".yarnrc"), Form::Lines(&["registry"])),
            (Place::Home(".yarnrc.yml"), Form::Lines(&["npmregistryserver"])),
        ],
        caches: &[],
        ask: Some(tried(&["info", ANY, "version"])),
        learn: None,
    },
];

const CARGO: Form = Form::Toml(&["source.*.registry", "source.*.git", "registries.*.index"]);
const PIP: Form =
    Form::Lines(&["index-url", "extra-index-url", "find-links", "index_url", "extra_index_url"]);
const UV: Form = Form::Toml(&[
    "index.*.url",
    "index-url",
    "extra-index-url.*",
    "pip.index-url",
    "pip.extra-index-url.*",
]);

/// Files with the user's `url.*.insteadOf`.
pub(super) const GIT_FILES: &[Place] =
    &[Place::Home(".gitconfig"), Place::Moved("XDG_CONFIG_HOME", ".config", "git/config")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_name_no_host() {
        let names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b));
        for tool in TOOLS {
            let asked = tool.ask.iter().flat_map(|ask| ask.arguments);
            assert!(asked.clone().all(|word| !word.contains("://")), "{}", tool.name);
        }
    }
}
