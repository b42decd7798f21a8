//! What people must still be able to do inside.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::{Lab, both, skip};

const IDENTITY: &str = "git config user.email lab@example.org; git config user.name Lab";

/// Runs shell text as the lab's user outside and expects success.
fn outside(lab: &Lab, text: &str) {
    let output = lab.command("/bin/bash").args(["-ec", text]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A copy of the Rust toolchain that every user can read: hard links where that works.
fn toolchain(lab: &Lab) -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let from = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()).canonicalize().ok()?;
    let to = lab.path("outside/toolchain");
    for part in ["bin", "lib", "libexec"] {
        copy(&from.join(part), &to.join(part));
    }
    Some(to)
}

fn copy(from: &Path, to: &Path) {
    let Ok(entries) = std::fs::read_dir(from) else { return };
    std::fs::create_dir_all(to).unwrap();
    for entry in entries.flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target);
        } else if std::fs::hard_link(&path, &target).is_err() {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

fn has(program: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|p| p.join(program).is_file())
}

both! {
    /// git: status, add, commit, log, branch, stash.
    fn git_works(lab) {
        outside(lab, &format!("git init -q; {IDENTITY}; echo 1 > a; git add a; git commit -qm one"));
        let text = "set -e; git status --short; echo 2 >> a; echo n > b; git add .; git commit -qm two; \
            git checkout -qb side; echo 3 >> a; git stash -q; git stash pop -q; git commit -qam three; \
            git checkout -q -; git merge -q side; git gc -q; git fsck >/dev/null 2>&1; git log --format=%s";
        let outcome = lab.shell(text);
        assert_eq!(outcome.good(), "three\ntwo\none", "{outcome:?}");
        outside(lab, "test -z \"$(git status --porcelain)\" && git fsck");
    }

    /// A workspace below the home, below `/tmp`, or below the top of a repository.
    fn a_workspace_may_lie_anywhere(lab) {
        let in_tmp = tempfile::Builder::new().prefix("box-lab-root-").tempdir_in("/tmp").unwrap();
        let in_home = lab.path("home/a/b/project");
        std::fs::create_dir_all(&in_home).unwrap();
        lab.give_away();
        lab.give_to_user(in_tmp.path());
        for root in [in_home.as_path(), in_tmp.path()] {
            let root = root.to_str().unwrap();
            let outcome = lab.run(&["--root", root], &["/bin/bash", "-c", "pwd; echo x > made; ls ..; ls -A ~"]);
            assert!(outcome.good().starts_with(&format!("{root}\n")), "{outcome:?}");
            assert_eq!(std::fs::read_to_string(format!("{root}/made")).unwrap(), "x\n");
        }
        outside(lab, &format!("git init -q; {IDENTITY}; mkdir sub; echo 1 > sub/a; git add .; git commit -qm one"));
        let text = "git log --format=%s; git status --short; echo 2 >> a; git status --short; git diff --stat | tail -1";
        let outcome = lab.run(&["--root", &lab.at("workspace/sub")], &["/bin/bash", "-c", text]);
        assert_eq!(outcome.good(), "one\n M a\n 1 file changed, 1 insertion(+)", "{outcome:?}");
    }

    /// A linked worktree: its repository lies outside of the workspace.
    fn git_works_in_a_linked_worktree(lab) {
        outside(lab, &format!("cd ..; git init -q main; cd main; {IDENTITY}; git commit -qm one \
            --allow-empty; rmdir ../workspace; git worktree add -q ../workspace"));
        let text = "set -e; echo 2 > a; git add a; git commit -qm two; git log --format=%s; git status --short";
        assert_eq!(lab.shell(text).good(), "two\none");
        for name in ["main/.git/hooks/new", "main/.git/config", "main/file",
            "main/.git/worktrees/workspace/commondir", "workspace/.git"] {
            let answer = lab.attempt(&["append", &lab.at(name)]);
            assert!(answer.starts_with("refused"), "{name}: {answer}");
        }
        assert_eq!(lab.run(&["--read-only"], &["/usr/bin/env", "git", "log", "--format=%s"]).good(), "two\none");
        outside(lab, "test -z \"$(git status --porcelain)\"; git -C ../main fsck");
    }

    /// Whoever can write a `.git` file does not get what it names.
    fn a_forged_worktree_gets_nothing(lab) {
        let victim = lab.path("outside/victim");
        std::fs::create_dir_all(victim.join("worktrees/w")).unwrap();
        let link = format!("gitdir: {}\n", victim.join("worktrees/w").display());
        std::fs::write(lab.path("workspace/.git"), link).unwrap();
        lab.give_away();
        let file = lab.at("outside/victim/new");
        assert_eq!(lab.attempt(&["append", &file]), "refused 30");
        assert_eq!(lab.control(&["append", &file]), "done");
    }

    /// cargo: build, run and test a crate.
    fn cargo_works(lab) {
        let Some(toolchain) = toolchain(lab) else { return skip("there is no Rust toolchain") };
        let root = lab.path("workspace");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("Cargo.toml"),
            "[package]\nname = \"lab\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n").unwrap();
        std::fs::write(root.join("src/main.rs"),
            "fn main() { println!(\"built\"); }\n#[test]\nfn holds() { assert_eq!(1 + 1, 2); }\n").unwrap();
        lab.give_away_workspace();
        let path = format!("PATH={}:/usr/bin:/bin", toolchain.join("bin").display());
        let text = "cargo run -q --offline && cargo test -q --offline 2>&1 | grep -c 'test result: ok'";
        let outcome = lab.run(&["--env", &path], &["/bin/bash", "-c", text]);
        assert_eq!(outcome.good(), "built\n1", "{outcome:?}");
    }

    /// go: build and test a module; what was compiled once is not compiled again.
    fn go_works(lab) {
        if !has("go") {
            return skip("there is no go");
        }
        let write = |name: &str, text: &str| std::fs::write(lab.path(name), text).unwrap();
        write("workspace/go.mod", "module lab\n\ngo 1.19\n");
        write("workspace/lab.go", "package lab\n\nfunc Sum(a, b int) int { return a + b }\n");
        write("workspace/lab_test.go", "package lab\n\nimport \"testing\"\n\n\
            func TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n");
        std::fs::create_dir(lab.path("outside/caches")).unwrap();
        lab.give_away();
        let flags = ["--caches", &lab.at("outside/caches")];
        for round in ["first", "second"] {
            let text = "PATH=$PATH:/usr/local/go/bin; go vet ./... && go test ./...";
            let outcome = lab.run(&flags, &["/bin/bash", "-c", text]);
            assert!(outcome.good().starts_with("ok"), "{round}: {outcome:?}");
            assert_eq!(outcome.stdout.contains("(cached)"), round == "second", "{outcome:?}");
        }
    }

    /// npm: a test script.
    fn npm_works(lab) {
        if !has("npm") {
            return skip("there is no npm");
        }
        std::fs::write(lab.path("workspace/package.json"),
            "{\"name\":\"lab\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node test.js\"}}").unwrap();
        std::fs::write(lab.path("workspace/test.js"),
            "require('fs').writeFileSync('out', 'x'); const s = require('http').createServer((q, r) => r.end('served'));\
             s.listen(0, () => require('http').get({port: s.address().port}, (r) => { r.on('data', (d) => \
             console.log(String(d))); r.on('end', () => s.close()); }));").unwrap();
        lab.give_away();
        let outcome = lab.shell("npm test 2>&1");
        assert!(outcome.good().ends_with("served"), "{outcome:?}");
    }

    /// Python: pools of processes, asyncio with a child and a server, shared memory, temporary files.
    fn python_works(lab) {
        let text = r"
import asyncio, multiprocessing as m, multiprocessing.shared_memory as s, tempfile, threading, os, pty
async def main():
    server = await asyncio.start_server(lambda r, w: (w.write(b'x'), w.close()), '127.0.0.1', 0)
    reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b'x'
    child = await asyncio.create_subprocess_exec('/bin/echo', 'child', stdout=-1)
    assert (await child.communicate())[0] == b'child\n'
if __name__ == '__main__':
    for method in ('fork', 'spawn', 'forkserver'):
        with m.get_context(method).Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
    block = s.SharedMemory(create=True, size=4096); block.close(); block.unlink()
    with tempfile.TemporaryDirectory() as d: assert d.startswith('/tmp/')
    assert m.Lock().acquire() and m.Queue().empty()
    threading.Thread(target=print, args=('thread',)).start()
    asyncio.run(main())
    a, b = pty.openpty(); os.write(b, b'hi\n'); assert os.read(a, 9) == b'hi\r\n'
    print('all')
";
        std::fs::write(lab.path("workspace/all.py"), text).unwrap();
        lab.give_away();
        let outcome = lab.run(&[], &["/usr/bin/python3", "all.py"]);
        assert_eq!(outcome.good(), "thread\nall", "{outcome:?}");
    }

    /// pytest, with its own temporary directories.
    fn pytest_works(lab) {
        let there = lab.command("/usr/bin/python3").args(["-c", "import pytest"]).output().unwrap();
        if !there.status.success() {
            return skip("there is no pytest");
        }
        std::fs::write(lab.path("workspace/test_lab.py"),
            "def test_it(tmp_path):\n    (tmp_path / 'f').write_text('x')\n    assert 1 + 1 == 2\n").unwrap();
        lab.give_away();
        let outcome = lab.run(&[], &["/usr/bin/python3", "-m", "pytest", "-q"]);
        assert!(outcome.good().contains("1 passed"), "{outcome:?}");
        assert!(lab.path("workspace/.pytest_cache").exists());
    }

    /// Processes of one's own: listed, signalled, waited for.
    fn own_processes_are_seen(lab) {
        let text = "sleep 50 & until ps -o comm= -p $! | grep -x sleep; do :; done; kill $!; wait $!; echo $?; ps -e | grep -c sleep";
        let outcome = lab.shell(&format!("{text}; exit 0"));
        assert_eq!(outcome.good(), "sleep\n143\n0");
    }
}
