//! `Bash` rules: which spellings are denied, which are refused, and what passes.

use super::*;

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
        // dash ends the comment at the first line, bash at the second.
        "sh -c 'cat <<E\n$(\ntrue #\\\ncurl x\n)\nE'",
        "cat <<E\n`true #\\\ncurl x\n`\nE",
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
    // Deeper than is followed: shells in shells, and substitutions in substitutions.
    let shells = format!("{}curl x", "env ".repeat(30));
    let nested = format!("{}curl x{}", "echo $(".repeat(60), ")".repeat(60));
    for text in [&shells, &nested] {
        let verdict = place.shell(text);
        assert!(verdict.contains("nesting too deep"), "{text:?}: {verdict:?}");
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
