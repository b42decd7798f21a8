//! What stands below each command's help: examples that can be typed as they are, and exit codes.

macro_rules! with_codes {
    ($text:literal) => {
        concat!(
            $text,
            "\n\nExit codes: 0 done, 1 the call answered with an error, 2 wrong arguments or \
             configuration, 130 interrupted."
        )
    };
    () => {
        "Exit codes: 0 done, 1 the call answered with an error, 2 wrong arguments or configuration, \
         130 interrupted."
    };
}

/// Commands without examples of their own.
pub(crate) const EXIT_CODES: &str = with_codes!();

pub(crate) const MAIN: &str = with_codes!(
    "\
Examples:
  quietcontext index docs && quietcontext search how are tokens renewed
  quietcontext cat r:20101-20960 | less
  quietcontext call execute '{\"language\":\"python\",\"code\":\"print(6*7)\"}'
  quietcontext stats --days 30

quietcontext COMMAND --help has examples for each. Colours follow NO_COLOR and CLICOLOR_FORCE; what may be
piped has --json."
);

pub(crate) const CALL: &str = with_codes!(
    "\
Examples:
  quietcontext call execute '{\"language\":\"shell\",\"code\":\"seq 1 100000\"}'
  quietcontext call batch '{\"commands\":[\"cargo test\",\"cargo clippy\"],\"concurrency\":2}'
  quietcontext call fetch-index '{\"url\":\"https://example.org/\"}'
  jq -n '{queries:[\"tokens\"],preview:true}' | quietcontext call search -

A program's own failure is its output, not an error of the call: the exit code is 0 then as well."
);

pub(crate) const DAEMON: &str = with_codes!(
    "\
Examples:
  quietcontext roots add ~/projects            where sessions may work, and all below
  quietcontext daemon start                    in the background; without start: here, until Ctrl-C
  quietcontext daemon status --json            its port, its token's file, its roots
  quietcontext daemon unit > ~/.config/systemd/user/quietcontext.service

Clients send POST requests to http://127.0.0.1:8167/mcp with the headers Authorization: Bearer TOKEN and
X-QuietContext-Root: DIRECTORY."
);

pub(crate) const ROOTS: &str = with_codes!(
    "\
Examples:
  quietcontext roots add .                     this directory and all below
  quietcontext roots list
  quietcontext roots remove ~/projects/old     the daemon follows at once"
);

pub(crate) const INDEX: &str = with_codes!(
    "\
Examples:
  quietcontext index docs                      files of a directory, as git's rules let them be seen
  quietcontext index build.log --source build  one file under a name of its own
  curl -s https://example.org | quietcontext index - --source example"
);

pub(crate) const SEARCH: &str = with_codes!(
    "\
Examples:
  quietcontext search how are tokens renewed
  quietcontext search --source 'docs/*' --limit 10 renewal
  quietcontext search --kind code --brief fn main
  quietcontext search -- --error-on-warnings

In a terminal each result begins with its file and lines; in a pipe the text is the one an agent gets."
);

pub(crate) const CAT: &str = with_codes!(
    "\
Examples:
  quietcontext cat r:20101-20960 | less        a document, by the reference an answer gave
  quietcontext cat docs/guide.md               by its label
  quietcontext cat execute:17 --raw > out.bin  the bytes as they were captured"
);

pub(crate) const SOURCES: &str = with_codes!(
    "\
Examples:
  quietcontext sources | head
  quietcontext sources --json | jq '.[] | select(.bytes > 1000000).label'"
);

pub(crate) const PURGE: &str = with_codes!(
    "\
Examples:
  quietcontext purge execute:17
  quietcontext purge 'docs/*' --yes
  quietcontext purge --all                     with the journal of calls"
);

pub(crate) const JOBS: &str = with_codes!(
    "\
Examples:
  quietcontext jobs
  quietcontext cat execute:17 | tail           what it has printed so far
  quietcontext jobs stop execute:17

A job ends with the server that started it. An agent stops it with execute and {\"stop\":\"execute:17\"}."
);

pub(crate) const VIEW: &str = with_codes!(
    "\
Examples:
  quietcontext view
  quietcontext view --port 8080 --no-open      for a tunnel: ssh -L 8080:127.0.0.1:8080 HOST

The page is for looking only, holds no programs and loads nothing from elsewhere. Its address has a secret
and is good until Ctrl-C. A browser is opened where standard output is a terminal of a desktop."
);

pub(crate) const STATS: &str = with_codes!(
    "\
Examples:
  quietcontext stats
  quietcontext stats --days 60
  quietcontext stats --json | jq .total

Produced is what programs printed, what was fetched and what was indexed; answered is what agents got. Both
are measured. Days are those of the local time zone."
);

pub(crate) const ALLOW: &str = with_codes!(
    "\
Examples:
  quietcontext allow api.example.com           port 443
  quietcontext allow localhost:3000 '*.internal.example'
  quietcontext disallow api.example.com"
);

pub(crate) const ALLOWED: &str = with_codes!(
    "\
Examples:
  quietcontext allowed
  quietcontext allowed api.example.com && echo yes"
);

pub(crate) const CONFIG: &str = with_codes!(
    "\
Examples:
  quietcontext config                          what is in force, and where it comes from
  quietcontext config --json | jq '.[\"sandbox.mode\"]'
  quietcontext config init                     a file with every setting, commented out
  quietcontext config --example                the same, printed"
);

pub(crate) const COMPLETIONS: &str = with_codes!(
    "\
Where they go:
  quietcontext completions bash > ~/.local/share/bash-completion/completions/quietcontext
  quietcontext completions zsh > ~/.zfunc/_quietcontext      with fpath+=~/.zfunc before compinit
  quietcontext completions fish > ~/.config/fish/completions/quietcontext.fish"
);

pub(crate) const MAN: &str = with_codes!(
    "\
Examples:
  quietcontext man | man -l -
  quietcontext man search | man -l -
  quietcontext man --dir /usr/local/share/man/man1"
);
