//! What starts the daemon with the user's session: a systemd user unit, a launchd agent.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

/// The name of the unit.
pub(crate) const UNIT: &str = "quietcontext.service";

/// The label of the agent.
pub(crate) const LABEL: &str = "dev.quietcontext.daemon";

/// What is to be started.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    /// This program's own file.
    pub(crate) binary: PathBuf,
    /// Flags behind `daemon`.
    pub(crate) arguments: Vec<OsString>,
    /// Where programs are looked for: a service manager's own search path knows no toolchain.
    pub(crate) path: Option<OsString>,
}

impl Service {
    /// The systemd user unit, for `~/.config/systemd/user/quietcontext.service`.
    pub(crate) fn systemd(&self) -> String {
        let command: Vec<_> = self.command().map(|word| systemd_word(word, true)).collect();
        let path = self.path.as_ref().map_or_else(String::new, |path| {
            let mut assignment = OsString::from("PATH=");
            assignment.push(path);
            format!("Environment={}\n", systemd_word(&assignment, false))
        });
        format!(
            "\
# ~/.config/systemd/user/{UNIT}; then: systemctl --user enable --now {UNIT}
[Unit]
Description=QuietContext for many sessions, on loopback

[Service]
Type=exec
ExecStart={}
{path}Restart=on-failure
RestartSec=1
TimeoutStopSec=5

[Install]
WantedBy=default.target
",
            command.join(" ")
        )
    }

    /// The launchd agent, for `~/Library/LaunchAgents/dev.quietcontext.daemon.plist`.
    pub(crate) fn launchd(&self) -> String {
        let mut command = String::new();
        for word in self.command() {
            let word = xml(&word.to_string_lossy());
            command.push_str(&format!(
                "    <string>{word}</string>
"
            ));
        }
        let path = self.path.as_ref().map_or_else(String::new, |path| {
            let path = xml(&path.to_string_lossy());
            format!(
                "  <key>EnvironmentVariables</key>\n  <dict>\n    <key>PATH</key>\n    \
                 <string>{path}</string>\n  </dict>\n"
            )
        });
        format!(
            "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{command}  </array>
{path}  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
</dict>
</plist>
"
        )
    }

    fn command(&self) -> impl Iterator<Item = &OsStr> {
        let own = [self.binary.as_os_str(), OsStr::new("daemon")];
        own.into_iter().chain(self.arguments.iter().map(OsString::as_os_str))
    }
}

/// A word of a unit file as systemd reads it back. `$` means something in a command only.
fn systemd_word(word: &OsStr, command: bool) -> String {
    let mut text = String::from("\"");
    for character in word.to_string_lossy().chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '%' => text.push_str("%%"),
            '$' if command => text.push_str("$$"),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
    text.push('"');
    text
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        Service {
            binary: "/home/ada/.cargo/bin/quietcontext".into(),
            arguments: vec!["--data-dir".into(), "/srv/50% of $DATA & \"more\"".into()],
            path: Some("/home/ada/.cargo/bin:/usr/bin:/bin".into()),
        }
    }

    #[test]
    fn the_systemd_unit() {
        insta::assert_snapshot!(service().systemd());
    }

    #[test]
    fn the_launchd_agent() {
        insta::assert_snapshot!(service().launchd());
    }
}
