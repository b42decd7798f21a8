//! The clients that can be set up, one row each.
//!
//! A row says where the client's file is, how an entry is written in it, and what lets the client
//! run the tools unasked. docs/clients.md says which rows were tried with the real client.

use std::path::{Path, PathBuf};

use quietcontext_tools::Tool;
use serde_json::{Value, json};

use super::edit::{Change, Format, Keys, at};
use crate::config::Surroundings;

/// The name of the entry in every client.
pub(crate) const NAME: &str = "quietcontext";

/// What a client starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The full path of the binary.
    pub(crate) command: String,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// The daemon that it connects to instead of starting anything.
    pub(crate) daemon: Option<Daemon>,
}

/// A daemon, as clients reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Daemon {
    /// Where it answers.
    pub(crate) url: String,
    /// The file that holds its token.
    pub(crate) token_file: String,
}

/// The header in which a request names its project.
const ROOT: &str = "X-QuietContext-Root";

/// The variable of the token, for clients that cannot read a file. It is none of the settings'.
pub(crate) const TOKEN: &str = "QUIETCONTEXTD_TOKEN";

impl Daemon {
    /// A shell command that prints the header of authorization.
    fn helper(&self) -> String {
        let file = self.token_file.replace('\'', r"'\''");
        format!(r#"printf '{{"Authorization":"Bearer %s"}}' "$(cat '{file}')""#)
    }
}

/// How an entry for a daemon is written.
pub(crate) enum Remote {
    /// The client reads the token from its file.
    File(fn(&Daemon) -> Value),
    /// The client reads it from the variable [`TOKEN`].
    Variable(fn(&Daemon) -> Value),
    /// The client cannot say in which project it is.
    None,
}

/// Where a file is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// A variable that moves it, and where it is below that folder.
    moved: Option<(&'static str, &'static str)>,
    /// Below the home directory on Linux; the first that is there, else the first.
    linux: &'static [&'static str],
    /// As `linux`, on macOS.
    macos: &'static [&'static str],
}

impl Place {
    const fn same(
        moved: Option<(&'static str, &'static str)>,
        below: &'static [&'static str],
    ) -> Self {
        Self { moved, linux: below, macos: below }
    }

    /// The file of this user.
    pub(crate) fn file(&self, surroundings: &Surroundings) -> Option<PathBuf> {
        let below = if cfg!(target_os = "macos") { self.macos } else { self.linux };
        let mut candidates: Vec<PathBuf> = Vec::new();
        if let Some((variable, name)) = self.moved
            && let Some(folder) = surroundings.variable(variable).map(Path::new)
            && folder.is_absolute()
        {
            candidates.push(folder.join(name));
        } else {
            let home = surroundings.home.as_ref()?;
            candidates.extend(below.iter().map(|path| home.join(path)));
        }
        let there = candidates.iter().find(|path| path.symlink_metadata().is_ok()).cloned();
        there.or_else(|| candidates.into_iter().next())
    }
}

/// What lets a client run the tools without asking.
pub(crate) enum Approval {
    /// Members of the entry.
    Entry(fn() -> Value),
    /// Changes to a file.
    Beside(Place, fn() -> Vec<Change>),
    /// Nothing: it does so anyway.
    Given,
    /// Only the client's own windows; the text says where.
    ByHand(&'static str),
}

/// One client.
pub(crate) struct Client {
    /// What is typed.
    pub(crate) name: &'static str,
    /// What it is called.
    pub(crate) title: &'static str,
    /// How its file is written.
    pub(crate) format: Format,
    /// Its file.
    pub(crate) place: Place,
    /// What holds the entries, outermost first.
    section: &'static [&'static str],
    /// Where newer files of this client hold them; counts where it is there.
    newer_section: &'static [&'static str],
    /// The entry.
    stdio: fn(&Launch) -> Value,
    /// The entry for a daemon.
    pub(crate) remote: Remote,
    /// What lets it run the tools unasked.
    pub(crate) approval: Approval,
    /// What it does otherwise.
    pub(crate) otherwise: &'static str,
    /// Programs by which it is found.
    programs: &'static [&'static str],
    /// Folders of the home by which it is found.
    folders: &'static [&'static str],
}

impl Client {
    /// Whether it is on this machine.
    pub(crate) fn is_here(&self, surroundings: &Surroundings) -> bool {
        let on_path = surroundings.variable("PATH").is_some_and(|path| {
            std::env::split_paths(path)
                .any(|folder| self.programs.iter().any(|name| folder.join(name).is_file()))
        });
        let home = surroundings.home.as_deref();
        on_path || home.is_some_and(|home| self.folders.iter().any(|name| home.join(name).is_dir()))
    }

    /// The keys of the entry in a file that says `said`.
    pub(crate) fn keys(&self, said: &Value) -> Keys {
        let newer: Keys = self.newer_section.iter().map(|key| (*key).to_owned()).collect();
        let is_newer = !newer.is_empty() && at(said, &newer).is_some_and(Value::is_object);
        let mut keys = newer;
        if !is_newer {
            keys = self.section.iter().map(|key| (*key).to_owned()).collect();
        }
        keys.push(NAME.to_owned());
        keys
    }

    /// What makes a file that says `said` start `launch`. What the user added to the entry stays;
    /// what belongs to another transport goes.
    pub(crate) fn entry(&self, said: &Value, launch: &Launch) -> Vec<Change> {
        let keys = self.keys(said);
        let wanted = match (&launch.daemon, &self.remote) {
            (Some(daemon), Remote::File(entry) | Remote::Variable(entry)) => entry(daemon),
            _ => (self.stdio)(launch),
        };
        let old = at(said, &keys).and_then(Value::as_object);
        let (Some(old), Some(wanted)) = (old, wanted.as_object()) else {
            return vec![Change::Set(keys, wanted)];
        };
        let below = |key: &String| keys.iter().chain([key]).cloned().collect::<Keys>();
        let other = |key: &&String| {
            OF_A_TRANSPORT.contains(&key.as_str()) && !wanted.contains_key(key.as_str())
        };
        let removed = old.keys().filter(other).map(|key| Change::Remove(below(key)));
        let set = wanted.iter().map(|(key, value)| Change::Set(below(key), value.clone()));
        removed.chain(set).collect()
    }

    /// What lets it run the tools unasked, within its own file.
    pub(crate) fn approving(&self, said: &Value) -> Vec<Change> {
        let Approval::Entry(members) = &self.approval else { return Vec::new() };
        let keys = self.keys(said);
        let members = members();
        let set = |(key, value): (&String, &Value)| {
            Change::Set(keys.iter().chain([key]).cloned().collect(), value.clone())
        };
        members.as_object().into_iter().flatten().map(set).collect()
    }
}

/// Members of an entry that say how the server is reached.
const OF_A_TRANSPORT: [&str; 14] = [
    "args",
    "bearer_token_env_var",
    "cmd",
    "command",
    "env_http_headers",
    "headers",
    "headersHelper",
    "http_headers",
    "http_headers_helper",
    "httpUrl",
    "serverUrl",
    "type",
    "uri",
    "url",
];

fn plain(launch: &Launch) -> Value {
    json!({ "command": launch.command, "args": launch.arguments })
}

fn typed(launch: &Launch) -> Value {
    json!({ "type": "stdio", "command": launch.command, "args": launch.arguments })
}

fn http_url(daemon: &Daemon) -> Value {
    let token = format!("Bearer ${TOKEN}");
    json!({ "httpUrl": daemon.url, "headers": { "Authorization": token, ROOT: "$PWD" } })
}

const CONFIG: &str = "XDG_CONFIG_HOME";

/// All clients, in the order in which they are listed.
pub(crate) const CLIENTS: &[Client] = &[
    Client {
        name: "codex",
        title: "Codex",
        format: Format::Toml,
        place: Place::same(Some(("CODEX_HOME", "config.toml")), &[".codex/config.toml"]),
        section: &["mcp_servers"],
        newer_section: &[],
        stdio: plain,
        remote: Remote::File(|daemon| {
            json!({
                "url": daemon.url,
                "http_headers_helper": daemon.helper(),
                "env_http_headers": { ROOT: "PWD" },
            })
        }),
        approval: Approval::Entry(|| json!({ "default_tools_approval_mode": "approve" })),
        otherwise: "index and search run; the others are asked about, and refused in codex exec",
        programs: &["codex"],
        folders: &[".codex"],
    },
    Client {
        name: "claude-code",
        title: "Claude Code",
        format: Format::Json,
        place: Place::same(Some(("CLAUDE_CONFIG_DIR", ".claude.json")), &[".claude.json"]),
        section: &["mcpServers"],
        newer_section: &[],
        stdio: typed,
        remote: Remote::File(|daemon| {
            json!({
                "type": "http",
                "url": daemon.url,
                "headers": { ROOT: "${PWD}" },
                "headersHelper": daemon.helper(),
            })
        }),
        approval: Approval::Beside(
            Place::same(Some(("CLAUDE_CONFIG_DIR", "settings.json")), &[".claude/settings.json"]),
            || {
                let keys = vec!["permissions".to_owned(), "allow".to_owned()];
                vec![Change::Include(keys, format!("mcp__{NAME}"))]
            },
        ),
        otherwise: "every tool is asked about, and refused in claude -p",
        programs: &["claude"],
        folders: &[".claude"],
    },
    Client {
        name: "cursor",
        title: "Cursor",
        format: Format::Json,
        place: Place::same(None, &[".cursor/mcp.json"]),
        section: &["mcpServers"],
        newer_section: &[],
        stdio: plain,
        remote: Remote::Variable(|daemon| {
            let token = format!("Bearer ${{env:{TOKEN}}}");
            json!({ "url": daemon.url, "headers": { "Authorization": token, ROOT: "${workspaceFolder}" } })
        }),
        approval: Approval::ByHand("add quietcontext:* to the MCP allowlist of its settings"),
        otherwise: "every tool is asked about",
        programs: &["cursor", "cursor-agent"],
        folders: &[".cursor"],
    },
    Client {
        name: "vscode",
        title: "VS Code",
        format: Format::Json,
        place: Place {
            moved: None,
            linux: &[".config/Code/User/mcp.json"],
            macos: &["Library/Application Support/Code/User/mcp.json"],
        },
        section: &["servers"],
        newer_section: &[],
        stdio: typed,
        remote: Remote::Variable(|daemon| {
            let token = format!("Bearer ${{env:{TOKEN}}}");
            json!({
                "type": "http",
                "url": daemon.url,
                "headers": { "Authorization": token, ROOT: "${workspaceFolder}" },
            })
        }),
        approval: Approval::ByHand("choose Always Allow when it first asks about a tool"),
        otherwise: "every tool is asked about",
        programs: &["code"],
        folders: &[".config/Code", "Library/Application Support/Code"],
    },
    Client {
        name: "gemini-cli",
        title: "Gemini CLI",
        format: Format::Json,
        place: Place::same(None, &[".gemini/settings.json"]),
        section: &["mcpServers"],
        newer_section: &[],
        stdio: plain,
        remote: Remote::Variable(http_url),
        approval: Approval::Entry(|| json!({ "trust": true })),
        otherwise: "every tool is asked about",
        programs: &["gemini"],
        folders: &[".gemini"],
    },
    Client {
        name: "opencode",
        title: "OpenCode",
        format: Format::Json,
        place: Place::same(
            Some((CONFIG, "opencode/opencode.json")),
            &[".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"],
        ),
        section: &["mcp"],
        newer_section: &["mcp", "servers"],
        stdio: |launch| {
            let command: Vec<_> =
                std::iter::once(&launch.command).chain(&launch.arguments).collect();
            json!({ "type": "local", "command": command })
        },
        remote: Remote::File(|daemon| {
            let token = format!("Bearer {{file:{}}}", daemon.token_file);
            json!({
                "type": "remote",
                "url": daemon.url,
                "headers": { "Authorization": token, ROOT: "{env:PWD}" },
            })
        }),
        approval: Approval::Given,
        otherwise: "as it comes, it runs tools unasked",
        programs: &["opencode"],
        folders: &[".config/opencode"],
    },
    Client {
        name: "zed",
        title: "Zed",
        format: Format::Json,
        place: Place::same(Some((CONFIG, "zed/settings.json")), &[".config/zed/settings.json"]),
        section: &["context_servers"],
        newer_section: &[],
        stdio: plain,
        remote: Remote::None,
        approval: Approval::Beside(
            Place::same(Some((CONFIG, "zed/settings.json")), &[".config/zed/settings.json"]),
            || {
                let allow = |tool: &str| {
                    let tool = format!("mcp:{NAME}:{tool}");
                    let keys = ["agent", "tool_permissions", "tools", &tool, "default"];
                    Change::Set(keys.map(str::to_owned).to_vec(), json!("allow"))
                };
                Tool::ALL.iter().map(|tool| allow(tool.name())).collect()
            },
        ),
        otherwise: "every tool is asked about",
        programs: &["zed", "zeditor"],
        folders: &[".config/zed"],
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        format: Format::Json,
        place: Place::same(None, &[".codeium/windsurf/mcp_config.json"]),
        section: &["mcpServers"],
        newer_section: &[],
        stdio: plain,
        remote: Remote::None,
        approval: Approval::ByHand("allow the tools when it first asks about them"),
        otherwise: "every tool is asked about",
        programs: &["windsurf"],
        folders: &[".codeium/windsurf"],
    },
    Client {
        name: "qwen-code",
        title: "Qwen Code",
        format: Format::Json,
        place: Place::same(None, &[".qwen/settings.json"]),
        section: &["mcpServers"],
        newer_section: &[],
        stdio: plain,
        remote: Remote::Variable(http_url),
        approval: Approval::Entry(|| json!({ "trust": true })),
        otherwise: "every tool is asked about",
        programs: &["qwen"],
        folders: &[".qwen"],
    },
    Client {
        name: "kiro",
        title: "Kiro",
        format: Format::Json,
        place: Place::same(None, &[".kiro/settings/mcp.json"]),
        section: &["mcpServers"],
        newer_section: &[],
        stdio: plain,
        remote: Remote::None,
        approval: Approval::Entry(|| json!({ "autoApprove": Tool::ALL.map(Tool::name) })),
        otherwise: "every tool is asked about",
        programs: &["kiro", "kiro-cli"],
        folders: &[".kiro"],
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        format: Format::Json,
        place: Place {
            moved: None,
            linux: &[".config/Claude/claude_desktop_config.json"],
            macos: &["Library/Application Support/Claude/claude_desktop_config.json"],
        },
        section: &["mcpServers"],
        newer_section: &[],
        stdio: plain,
        remote: Remote::None,
        approval: Approval::ByHand("choose to allow always when it first asks about a tool"),
        otherwise: "every tool is asked about",
        programs: &["claude-desktop"],
        folders: &[".config/Claude", "Library/Application Support/Claude"],
    },
    Client {
        name: "goose",
        title: "Goose",
        format: Format::Yaml,
        place: Place::same(Some((CONFIG, "goose/config.yaml")), &[".config/goose/config.yaml"]),
        section: &["extensions"],
        newer_section: &[],
        stdio: |launch| {
            json!({
                "enabled": true,
                "type": "stdio",
                "name": NAME,
                "description": "Big data in small answers",
                "cmd": launch.command,
                "args": launch.arguments,
                "timeout": 300,
            })
        },
        remote: Remote::None,
        approval: Approval::Given,
        otherwise: "in its mode auto, the default, it runs tools unasked",
        programs: &["goose"],
        folders: &[".config/goose"],
    },
];

/// The client of this name.
pub(crate) fn client(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}
