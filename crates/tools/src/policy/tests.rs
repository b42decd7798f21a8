//! Rules from files to verdicts.

use std::ffi::OsString;
use std::os::unix::fs::symlink;

use quietcontext_exec::{ExecConfig, Executor};

use super::*;

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
        let mut policy = Policy::new(&self.at("w"), Some(&self.at("home")), &[]);
        policy.managed = self.at("managed");
        policy
    }

    fn gate(&self) -> Gate {
        Gate::new(Arc::new(Executor::new(ExecConfig {
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

    fn hidden(&self) -> Vec<String> {
        let hidden = self.policy().hidden(&self.gate()).unwrap();
        let base = self.at("");
        hidden
            .iter()
            .map(|path| path.strip_prefix(&base).unwrap_or(path).to_string_lossy().into_owned())
            .collect()
    }
}

const USER: &str = "home/.claude/settings.json";
const PROJECT: &str = "w/.claude/settings.json";

/// F-052 and further spellings of one denied program.
#[test]
fn no_spelling_of_a_denied_command_passes() {
    let place = Place::new();
    place.deny(USER, &["Bash(curl:*)", "Bash(rm -rf *)"]);
    symlink("/usr/bin/env", place.at("w/harmless")).unwrap();
    place.write("path/curl", "");
    symlink(place.at("path/curl"), place.at("w/k")).unwrap();
    for text in [
        "curl x",
        "/usr/bin/curl x",
        "./curl x",
        "../../bin/curl x",
        "./k x",
        "cat <(curl x)",
        "env curl x",
        "env -i A=b curl x",
        "env -u HOME -C / curl x",
        "command curl x",
        "command -p curl x",
        "builtin command curl x",
        "exec curl x",
        "exec -a name curl x",
        "nohup curl x &",
        "time curl x",
        "\\time -f %e curl x",
        "sudo -u root -E curl x",
        "doas curl x",
        "nice -n 5 curl x",
        "nice -10 curl x",
        "timeout 5 curl x",
        "timeout -k 1 --signal=KILL 5s curl x",
        "stdbuf -oL curl x",
        "stdbuf -o L curl x",
        "setsid -f curl x",
        "ionice -c 3 curl x",
        "xargs curl <<< x",
        "xargs -n 1 -P4 curl",
        "xargs -I{} curl {}",
        "xargs env curl",
        "find . -exec curl {} +",
        "find . -name x -exec true \\; -exec curl {} \\;",
        "find . -execdir curl {} \\;",
        "find . -exec sh -c 'curl x' \\;",
        "fd -x curl",
        "busybox curl x",
        "/lib64/ld-linux-x86-64.so.2 curl x",
        "c''url x",
        "'curl' x",
        "\"cu\"rl x",
        "c\\url x",
        "$'curl' x",
        "bash -c 'curl x'",
        "bash -lc 'curl x'",
        "bash -euo pipefail -c 'curl x'",
        "bash --norc -c 'curl x'",
        "sh -c 'curl x'",
        "sh -c \"bash -c 'curl x'\"",
        "dash -c 'true; curl x'",
        "sh -c '[[ a || curl x ]]'",
        "bash <<E\ncurl x\nE",
        "bash -s a <<'E'\ncurl x\nE",
        "bash <<< 'curl x'",
        "env bash -c 'curl x'",
        "xargs -0 bash -c 'curl x'",
        "trap 'curl x' EXIT",
        "A=1 curl x",
        "f() { curl \"$@\"; }; f x",
        "echo $(curl x)",
        "echo x | curl -",
        "rm -rf x",
        "rm  -rf   x",
        "/bin/rm -rf x",
        "cd / && rm -rf x",
    ] {
        let verdict = place.shell(text);
        assert!(verdict.contains("is denied by the rule Bash("), "{text:?}: {verdict:?}");
        assert!(verdict.ends_with(") in ~/.claude/settings.json"), "{text:?}: {verdict:?}");
    }
}

/// While there is any `Bash` rule.
#[test]
fn a_command_that_is_not_literal_is_refused() {
    let place = Place::new();
    place.deny(USER, &["Bash(curl:*)"]);
    let texts = [
        "$X x",
        "\"$X\" x",
        "${X} x",
        "$(echo curl) x",
        "`echo curl` x",
        "cur* x",
        "/usr/bin/cur? x",
        "c[u]rl x",
        "{curl,x}",
        "~ x",
        "eval cu'rl' x",
        "eval \"$X\"",
        ". ./file",
        "source file",
        "alias k=curl",
        "env $X curl",
        "env -S 'curl x'",
        "env BASH_ENV=f bash -c true",
        "env 'BASH_FUNC_k%%=() { curl x; }' bash -c k",
        "BASH_ENV=f bash -c true",
        "export BASH_ENV=f",
        "PS4='$(curl x)'; set -x",
        "sudo -s",
        "sudo -i curl x",
        "sudo --unknown curl x",
        "timeout \"$T\" curl x",
        "timeout $T curl x",
        "timeout -k $T 1 x",
        "xargs $X",
        "xargs -I{} {}",
        "xargs -I X sh -c X",
        "xargs sh",
        "xargs sh -c",
        "xargs env",
        "find . -exec {} \\;",
        "find . -exec sh -c {} \\;",
        "fd -xcurl",
        "fd --exec=curl",
        "bash -c \"$X\"",
        "bash -c \"curl $X\"",
        "bash $X",
        "bash",
        "bash -s",
        "bash < file",
        "bash <(echo curl x)",
        "echo curl x | bash",
        "echo curl x | sh -s",
        "bash /dev/stdin",
        "bash //dev/fd/0",
        "bash ../../dev/stdin",
        "cd /dev && bash stdin",
        "bash <<E\n$X\nE",
        "bash -c '$0 x' curl",
        "bash -c 'exec \"$@\"' _ curl x",
        "zsh -c 'curl x'",
        "fish -c 'curl x'",
        "zsh",
        "su -c 'curl x'",
        "watch curl x",
        "parallel curl ::: x",
        "script -c 'curl x'",
        "hash -p /usr/bin/curl k",
        "enable -f x.so k",
        "mapfile -C 'curl x' -c 1 a",
        "compgen -C 'curl x'",
        "complete -C 'curl x' y",
        "trap \"$X\" EXIT",
        "chroot /",
        "unshare",
        "flock f -c 'curl x'",
        "echo 'a",
        "if true",
        "strace -Z curl x",
    ];
    for text in texts {
        let verdict = place.shell(text);
        assert!(
            verdict.contains(" cannot be held against the deny rules"),
            "{text:?}: {verdict:?}"
        );
        assert!(verdict.len() <= 500 && !verdict.contains('\n'), "{verdict}");
    }
    // The control: without a rule none of them is looked at.
    place.deny(USER, &["Read(x)", "WebFetch(domain:example.com)"]);
    for text in texts {
        assert_eq!(place.shell(text), "", "{text:?}");
    }
}

#[test]
fn other_commands_pass() {
    let place = Place::new();
    place.deny(USER, &["Bash(curl:*)", "Bash(rm -rf *)", "Bash(git push *)"]);
    for text in [
        "echo curl x",
        "curly x",
        "git log | head",
        "git pull; git pushed",
        "rm x",
        "rm -r x",
        "rmdir -rf x",
        "command -v curl",
        "which curl",
        "grep -r curl . | xargs -r wc -l",
        "xargs grep curl",
        "sudo apt-get install curl",
        "timeout 60 cargo test -- --nocapture",
        "env RUST_LOG=debug cargo run",
        "find . -name '*.rs' -exec grep -l x {} +",
        "find . -type f | while read -r f; do wc -l \"$f\"; done",
        "bash scripts/build.sh --fast",
        "bash -n script.sh",
        "bash --version",
        "sh ./configure",
        "for f in *.c; do cc -c \"$f\" -o \"${f%.c}.o\" || exit 1; done",
        "cd sub && npm test 2>&1 | tail -n 20",
        "export PATH=$PATH:/x; make -j$(nproc)",
        "[ -f x ] && echo y",
        "[[ $x =~ ^[a-z]+$ ]] || exit 1",
        "cat > f <<'E'\ncurl x\nE",
        "python3 - <<'E'\nimport os\nE",
        "x=$(git rev-parse HEAD); echo \"$x\"",
        "echo a{b,c}d *.txt ~/x",
        "set -euo pipefail; trap 'rm -f t' EXIT",
        "trap - EXIT",
        "read -r a b <<< \"1 2\"",
        "((i++)); echo $((i * 2))",
        "a=(1 2 3); echo \"${a[@]}\"",
        "printf '%s\\n' a b",
        "nohup ./server > log 2>&1 &",
        "awk '{ print $1 }' f | sort | uniq -c",
        "",
    ] {
        assert_eq!(place.shell(text), "", "{text:?}");
    }
}

#[test]
fn patterns_of_text_and_of_pipelines_count_too() {
    let place = Place::new();
    place.deny(PROJECT, &["Bash(wget * | sh)", "Bash(* > /etc/*)", "Bash(FOO=1 make)"]);
    for text in
        ["wget -q x | sh", "echo x > /etc/hosts", "cat x>y; echo x > /etc/hosts", "FOO=1 make"]
    {
        let verdict = place.shell(text);
        assert!(verdict.contains("in .claude/settings.json"), "{text}: {verdict}");
    }
    assert_eq!(place.shell("wget -q x; FOO=2 make > etc"), "");
}

#[test]
fn bash_alone_denies_all_shell() {
    for rule in ["Bash", "Bash(*)", "Bash()", "Bash(:*)", "*"] {
        let place = Place::new();
        place.deny(PROJECT, &[rule]);
        assert!(place.shell("true").contains("is denied by the rule"), "{rule}");
    }
}

#[test]
fn rules_come_from_every_file_and_only_those_that_deny() {
    for file in [
        USER,
        "home/.claude/settings.local.json",
        PROJECT,
        "w/.claude/settings.local.json",
        "managed/managed-settings.json",
        "managed/managed-settings.d/10-company.json",
    ] {
        let place = Place::new();
        assert_eq!(place.shell("curl x"), "", "nothing is denied yet");
        place.deny(file, &["Bash(curl:*)"]);
        assert!(place.shell("curl x").contains("is denied by the rule Bash(curl:*) in "), "{file}");
    }
    let place = Place::new();
    place.write(
        PROJECT,
        r#"{"permissions": {"allow": ["Bash(curl:*)"], "ask": ["Bash(wget:*)"]}, "other": 1}"#,
    );
    place.deny(USER, &["Bash(curl:*)", "Edit(x)", "mcp__x", "Bash (ls)"]);
    assert!(place.shell("curl x").contains("is denied"), "a repository cannot allow");
    assert_eq!(place.shell("wget x"), "", "what the client asks about is the client's business");
}

#[test]
fn a_rule_file_that_cannot_be_used_is_a_refusal() {
    let broken: &[(&str, &str)] = &[
        ("{", "no valid JSON, line 1"),
        ("{\n // comment\n}", "no valid JSON, line 2"),
        ("[]", "it is no JSON object"),
        (r#"{"permissions": []}"#, "permissions is no object"),
        (r#"{"permissions": {"deny": "Bash"}}"#, "permissions.deny is no list of texts"),
        (r#"{"permissions": {"deny": [1]}}"#, "permissions.deny is no list of texts"),
        (
            r#"{"permissions": {"deny": ["Bash(rm"]}}"#,
            "its rule \"Bash(rm\" has no closing parenthesis",
        ),
        (
            r#"{"permissions": {"deny": ["Read(a[z-a])"]}}"#,
            "its rule \"Read(a[z-a])\" is no pattern",
        ),
    ];
    for (text, why) in broken {
        for file in [USER, PROJECT, "managed/managed-settings.json"] {
            let place = Place::new();
            place.write(file, text);
            let line = place.policy().rules().unwrap_err().to_string();
            assert!(line.contains(why) && line.contains("settings.json"), "{text}: {line}");
            assert!(!line.contains(place.at("home").to_str().unwrap()), "{line}");
        }
    }
    for text in ["", " \n", "{}", "\u{feff}{}", r#"{"permissions": {}}"#] {
        let place = Place::new();
        place.write(USER, text);
        assert!(place.policy().rules().is_ok(), "{text:?}");
    }
    // What is no regular file: a directory, a pipe, a link in a circle.
    let place = Place::new();
    std::fs::create_dir_all(place.at(PROJECT)).unwrap();
    assert!(place.policy().rules().is_err());
    let place = Place::new();
    std::fs::create_dir_all(place.at("w/.claude")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, place.at(PROJECT), mode).unwrap();
    assert!(place.policy().rules().is_err());
    let place = Place::new();
    std::fs::create_dir_all(place.at("w/.claude")).unwrap();
    symlink("settings.json", place.at(PROJECT)).unwrap();
    assert!(place.policy().rules().is_err());
}

#[test]
fn rules_are_read_again_when_a_file_changes_and_not_before() {
    let place = Place::new();
    let policy = place.policy();
    let first = policy.rules().unwrap();
    assert!(Arc::ptr_eq(&first, &policy.rules().unwrap()), "nothing changed");
    place.deny(PROJECT, &["Bash(curl:*)"]);
    let second = policy.rules().unwrap();
    assert!(second.check_shell("curl x", Dialect::Bash, &place.at("w")).is_err());
    assert!(Arc::ptr_eq(&second, &policy.rules().unwrap()));
    place.write(PROJECT, "{");
    assert!(policy.rules().is_err());
    std::fs::remove_file(place.at(PROJECT)).unwrap();
    assert!(policy.rules().unwrap().check_shell("curl x", Dialect::Bash, Path::new("/")).is_ok());
}

/// F-052: the four forms, and more; in the order: rule, what it hides.
#[test]
fn what_may_not_be_read_is_hidden() {
    let place = Place::new();
    for file in [
        "w/secret/a",
        "w/sub/secret/b",
        "w/.env",
        "w/sub/.env",
        "w/sub/.env.local",
        "w/k.pem",
        "w/node_modules/p/k.PEM",
        "w/src/a.ts",
        "home/secret/c",
        "home/x/k.pem",
        "abs/secret/d",
        "abs/secret/deep/e",
        "abs/other",
        "w/.claude/x",
        "w/deep/1/2/3/f.key",
        "outside/t",
    ] {
        place.write(file, "");
    }
    symlink(place.at("outside/t"), place.at("w/link.pem")).unwrap();
    symlink(place.at("abs"), place.at("alias")).unwrap();
    let absolute = |rule: &str| rule.replace("ABS", place.at("abs").to_str().unwrap());
    let aliased = |rule: &str| rule.replace("ALIAS", place.at("alias").to_str().unwrap());
    for (rule, want) in [
        ("Read(/ABS/secret/**)", &["abs/secret"][..]),
        ("Read(/ABS/secret/*)", &["abs/secret"]),
        ("Read(/ABS/*ther)", &["abs/other"]),
        ("Read(/ABS/**/e)", &["abs/secret/deep/e"]),
        ("Read(/ALIAS/secret/**)", &["abs/secret"]),
        ("Read(~/secret/**)", &["home/secret"]),
        ("Read(~/secret)", &["home/secret"]),
        ("Read(**/secret/**)", &["w/secret/a", "w/sub/secret/b"]),
        ("Read(**/secret)", &["w/secret", "w/sub/secret"]),
        ("Read(./secret/**)", &["w/secret"]),
        ("Read(/secret/**)", &["w/secret"]),
        ("Read(secret/**)", &["w/secret"]),
        ("Read(secret)", &["w/secret", "w/sub/secret"]),
        ("Read(secret/)", &["w/secret", "w/sub/secret"]),
        ("Read(./.env)", &["w/.env", "w/sub/.env"]),
        ("Read(.env*)", &["w/.env", "w/sub/.env", "w/sub/.env.local"]),
        ("Read(/.env)", &["w/.env"]),
        ("Read(*.pem)", &["outside/t", "w/k.pem", "w/node_modules/p/k.PEM"]),
        ("Read(src/**/*.ts)", &["w/src/a.ts"]),
        ("Read(deep/*/2/**/*.key)", &["w/deep/1/2/3/f.key"]),
        ("Read(missing/**)", &[]),
        ("Read(!.env)", &[]),
        ("Read(../abs/other)", &[]),
        ("Edit(.env)", &[]),
    ] {
        place.deny(USER, &[&aliased(&absolute(rule))]);
        assert_eq!(place.hidden(), want, "{rule}");
    }
    // A pattern for the whole disk is looked for in the workspace, one for the home as well.
    for rule in ["Read(//**/*.pem)", "Read(~/../**/*.pem)", "Read(//**/k.pem)"] {
        place.deny(USER, &[rule]);
        let hidden = place.hidden();
        assert!(rule.contains("..") || hidden.contains(&"w/k.pem".to_owned()), "{rule} {hidden:?}");
    }
    for rule in ["Read", "Read()", "Read(//**)", "*"] {
        place.deny(USER, &[rule]);
        let line = place.policy().hidden(&place.gate()).unwrap_err().to_string();
        assert!(line.contains("denies the whole workspace"), "{rule}: {line}");
    }
}

#[test]
fn the_search_is_renewed_where_a_directory_changed() {
    let place = Place::new();
    place.write("w/a/b/x", "");
    place.deny(USER, &["Read(**/*.pem)"]);
    let (policy, gate) = (place.policy(), place.gate());
    for round in 0..20 {
        let path = format!("w/a/b/{round}.pem");
        place.write(&path, "");
        let hidden = policy.hidden(&gate).unwrap();
        assert!(hidden.contains(&place.at(&path)), "{round}");
        assert_eq!(hidden.len(), 1);
        std::fs::rename(place.at(&path), place.at("w/a/plain")).unwrap();
        assert_eq!(policy.hidden(&gate).unwrap(), Vec::<PathBuf>::new(), "{round}");
    }
}

#[test]
fn more_than_can_be_hidden_is_a_refusal() {
    let place = Place::new();
    for number in 0..1_100 {
        place.write(&format!("w/k/{number}.pem"), "");
    }
    place.deny(USER, &["Read(**/*.pem)"]);
    let line = place.policy().hidden(&place.gate()).unwrap_err().to_string();
    assert!(line.contains("mean 1100 paths here, at most 1024"), "{line}");
    place.deny(USER, &["Read(./k/**)"]);
    assert_eq!(place.hidden(), ["w/k"], "the control");
}

#[test]
fn a_program_that_is_denied_whatever_it_is_given_is_hidden() {
    let place = Place::new();
    for file in ["path/tool", "path/tool-1.2", "w/.venv/bin/tool", "path/busybox", "other/tool"] {
        place.write(file, "");
    }
    std::fs::remove_file(place.at("path/tool")).unwrap();
    symlink("tool-1.2", place.at("path/tool")).unwrap();
    symlink("busybox", place.at("path/applet")).unwrap();
    let other = format!("Bash({}:*)", place.at("other/tool").display());
    for (rule, want) in [
        ("Bash(tool:*)", &["path/tool-1.2", "w/.venv/bin/tool"][..]),
        ("Bash(tool *)", &["path/tool-1.2", "w/.venv/bin/tool"]),
        (&other, &["other/tool"]),
        ("Bash(tool --force *)", &[]),
        ("Bash(tool)", &[]),
        // Without it every other applet would be gone as well.
        ("Bash(applet:*)", &[]),
    ] {
        place.deny(USER, &[rule]);
        assert_eq!(place.hidden(), want, "{rule}");
    }
}
