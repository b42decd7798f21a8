//! The clients that can be set up, one row each.
//!
//! A row says where the client's file is, how an entry is written in it, and what lets the client
//! run the tools unasked. docs/clients.md says which rows were tried with the real client.

use quietcontext_tools::Tool;
use serde_json::{Value, json};

use super::client::{Approval, Client, Daemon, Launch, NAME, Place, ROOT, Remote, TOKEN};
use super::edit::{Change, Format};

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

/// The client of this name, of a title like `VS Code`, or of a program like `claude`.
pub(crate) fn client(name: &str) -> Option<&'static Client> {
    let folded = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
    };
    let wanted = folded(name);
    let called = |client: &&Client| {
        let mut all =
            [client.name, client.title].into_iter().chain(client.programs.iter().copied());
        all.any(|one| folded(one) == wanted)
    };
    CLIENTS.iter().find(called)
}
