//! Secrets: the home is hidden, toolchains come back, configuration comes back clean.

use crate::lab::{Lab, both};

/// Files of the lab's home that nobody in the box may have.
const STORES: &[&str] = &[
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".gnupg/private.key",
    ".netrc",
    ".git-credentials",
    ".config/gh/hosts.yml",
    ".cargo/credentials.toml",
    ".docker/config.json",
    ".bash_history",
    ".local/share/quietcontext/store.db",
];

fn furnish(lab: &Lab) {
    let home = lab.path("home");
    let write = |name: &str, text: &str| {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for store in STORES {
        write(store, "SECRET");
    }
    write(".cargo/bin/tool", "#!/bin/sh\necho tool runs\n");
    write(".cargo/config.toml", "[net]\nretry = 3\n[registries.r]\ntoken = \"SECRET\"\n");
    write(".gitconfig", "[user]\n\tname = Someone\n[credential]\n\thelper = SECRET\n");
    write(".npmrc", "registry=https://r.example/\n//r.example/:_authToken=SECRET\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(home.join(".cargo/bin/tool"), mode).unwrap();
    lab.give_away();
}

both! {
    /// Where `HOME` names another directory, the user's own home is hidden all the same, and the
    /// toolchains in it are there.
    fn every_home_of_the_user_is_hidden(lab) {
        furnish(lab);
        std::fs::create_dir(lab.path("other")).unwrap();
        std::fs::create_dir(lab.path("outside/data")).unwrap();
        std::fs::create_dir(lab.path("outside/data/run")).unwrap();
        std::fs::write(lab.path("outside/data/store"), "SECRET").unwrap();
        lab.give_away();
        let (home, data) = (lab.at("home"), lab.at("outside/data"));
        let run = format!("{data}/run");
        let flags = ["--home", &lab.at("other"), "--other-home", &home, "--emptied", &data, "--scratch", &run];
        let text = format!(
            "cat {home}/.ssh/id_ed25519 {data}/store; {home}/.cargo/bin/tool; echo $HOME; \
             echo x > /run/code/made && ls {data}; exit 0"
        );
        let outcome = lab.run(&flags, &["/bin/bash", "-c", &text]);
        assert_eq!(outcome.stdout, format!("tool runs\n{}\n", lab.at("other")), "{outcome:?}");
        assert_eq!(std::fs::read_to_string(lab.path("outside/data/run/made")).unwrap(), "x\n");
        // The run's own directory stays writable where the workspace is not.
        let flags = [&flags[..], &["--read-only"]].concat();
        let text = "echo y > /run/code/made && cat /run/code/made; touch made || echo no";
        let outcome = lab.run(&flags, &["/bin/bash", "-c", text]);
        assert_eq!(outcome.stdout, "y\nno\n", "{outcome:?}");
        assert!(lab.shell(&format!("cat {data}/store")).good().contains("SECRET"), "the control");
    }

    /// Credential stores are not there, by no name.
    fn credential_stores_are_not_there(lab) {
        furnish(lab);
        for store in STORES {
            let path = lab.at(&format!("home/{store}"));
            assert_eq!(lab.attempt(&["read", &path]), "refused 2", "{store}");
            let target = lab.at("workspace/stolen");
            for trick in ["link", "rename"] {
                let answer = lab.attempt(&[trick, &path, &target]);
                assert!(answer.starts_with("refused"), "{trick} {store}: {answer}");
            }
            // A link to it leads nowhere.
            let link = lab.at("workspace/way");
            assert_eq!(lab.attempt(&["symlink", &path, &link]), "done");
            assert_eq!(lab.attempt(&["read", &link]), "refused 2", "{store} by a link");
            assert_eq!(lab.control(&["read", &link]), "done", "the control of {store}");
            std::fs::remove_file(&link).unwrap();
        }
        let everywhere = format!("grep -rsl SECRET {} ~ /tmp; exit 0", lab.at(""));
        let grep = lab.shell(&everywhere);
        assert_eq!(grep.good(), "");
    }

    /// Toolchains are there and run, and are never written.
    fn toolchains_come_back_read_only(lab) {
        furnish(lab);
        let tool = lab.at("home/.cargo/bin/tool");
        assert_eq!(lab.run(&[], &[&tool]).good(), "tool runs");
        assert!(lab.attempt(&["append", &tool]).starts_with("refused"));
        assert!(lab.attempt(&["mkdir", &lab.at("home/.cargo/bin/new")]).starts_with("refused"));
        assert!(lab.attempt(&["chmod", &tool]).starts_with("refused"));
        // Around them the home is private and writable.
        assert_eq!(lab.attempt(&["mkdir", &lab.at("home/.cargo/new")]), "done");
        assert!(!lab.path("home/.cargo/new").exists());
        assert_eq!(lab.control(&["append", &tool]), "done");
    }

    /// What tools put into their caches lasts, for this workspace only, and the real ones are never
    /// written. A box that runs beside another has layers that end with it.
    fn caches_last_and_the_real_ones_are_never_written(lab) {
        furnish(lab);
        std::fs::create_dir_all(lab.path("home/.cargo/registry/cache")).unwrap();
        std::fs::write(lab.path("home/.cargo/registry/cache/old"), "old\n").unwrap();
        for name in ["outside/caches", "outside/others"] {
            std::fs::create_dir(lab.path(name)).unwrap();
        }
        lab.give_away();
        let caches = lab.at("outside/caches");
        let run = |caches: &str, text: &str| {
            lab.run(&["--caches", caches], &["/bin/bash", "-c", text]).good().to_owned()
        };
        let text = "cd ~/.cargo/registry/cache && cat old && echo changed > old && echo new > new && \
            rm -f gone && mkdir -p d/e && mv d/e d/f && echo kept > ~/.cache/kept && echo $GOCACHE";
        assert_eq!(run(&caches, text), format!("old\n{}/.cache/go-build", lab.at("home")));
        // An overlay cannot lie on another one: in such a container layers end with their box.
        let kind = rustix::fs::statfs(lab.path("outside")).unwrap().f_type;
        let lasting = kind != 0x794c_7630;
        assert_eq!(std::fs::read_to_string(lab.path("home/.cargo/registry/cache/old")).unwrap(), "old\n");
        assert!(!lab.path("home/.cargo/registry/cache/new").exists());
        assert!(!lab.path("home/.cache").exists());
        let look = "cd ~/.cargo/registry/cache; cat old new ~/.cache/kept; ls d";
        if lasting {
            assert_eq!(run(&caches, look), "changed\nnew\nkept\nf");
        }
        let elsewhere = run(&lab.at("outside/others"), "cat ~/.cargo/registry/cache/old; ls -A ~/.cache");
        assert_eq!(elsewhere, "old");
        // While another box has the lasting layers.
        let lock = std::fs::File::open(lab.path("outside/caches/lock")).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let beside = "cd ~/.cargo/registry/cache; cat old; echo y > beside && cat beside ~/.cache/kept";
        assert_eq!(run(&caches, beside), "old\ny\nkept");
        drop(lock);
        let after = run(&caches, "cat ~/.cargo/registry/cache/old; ls ~/.cargo/registry/cache/beside || echo no");
        assert_eq!(after, if lasting { "changed\nno" } else { "old\nno" });
    }

    /// Configuration comes back as a copy without credentials.
    fn configuration_comes_back_clean(lab) {
        furnish(lab);
        let shown = lab.shell("cat ~/.gitconfig ~/.npmrc ~/.cargo/config.toml");
        let shown = shown.good();
        for kept in ["name = Someone", "registry=https://r.example/", "retry = 3"] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
        assert!(!shown.contains("SECRET"), "{shown}");
        assert_eq!(lab.shell("git config user.name").good(), "Someone");
        lab.shell("echo changed > ~/.gitconfig").good();
        let real = std::fs::read_to_string(lab.path("home/.gitconfig")).unwrap();
        assert!(real.contains("SECRET"), "the real one is untouched");
    }

    /// A home in a place that is emptied anyway, and one that is nowhere.
    fn a_home_anywhere_is_a_home(lab) {
        let home = format!("/tmp/box-lab-home-{}-{}", std::process::id(), lab.is_root());
        let outcome = lab.run(&["--home", &home], &["/bin/sh", "-c", "echo x > ~/file; cat ~/file"]);
        assert_eq!(outcome.good(), "x", "{outcome:?}");
        assert!(!std::path::Path::new(&home).exists());
        let outcome = lab.run(&["--home", "/nonexistent/home"], &["/bin/sh", "-c", "echo $HOME"]);
        assert_eq!(outcome.good(), "/nonexistent/home", "{outcome:?}");
        // A service's user has one that is nowhere, by the list of users.
        let caches = lab.at("outside/caches");
        std::fs::create_dir(&caches).unwrap();
        lab.give_away();
        let flags = ["--caches", &caches, "--other-home", "/nonexistent"];
        let outcome = lab.run(&flags, &["/bin/sh", "-c", "echo x > ~/.cache/file; cat ~/.cache/file"]);
        assert_eq!(outcome.good(), "x", "{outcome:?}");
    }

    /// What the user hides is neither read nor run, also inside the workspace.
    fn hidden_paths_are_out_of_view(lab) {
        let (file, directory) = (lab.at("workspace/secret.txt"), lab.at("outside/private"));
        std::fs::write(&file, "x").unwrap();
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(lab.path("outside/private/key"), "x").unwrap();
        lab.give_away();
        let key = lab.at("outside/private/key");
        let flags = ["--hidden", &file, "--hidden", &directory, "--hidden", "/usr/bin/env"];
        assert!(lab.attempt_with(&flags, &["read", &file]).starts_with("refused"));
        assert!(lab.attempt_with(&flags, &["read", &key]).starts_with("refused"));
        assert!(lab.attempt_with(&flags, &["chmod", &file]).starts_with("refused"));
        assert!(lab.attempt_with(&flags, &["rename", &file, "/tmp/x"]).starts_with("refused"));
        let outcome = lab.run(&flags, &["/usr/bin/env"]);
        assert!(outcome.failure().unwrap().starts_with("execute: /usr/bin/env"), "{outcome:?}");
        for path in [&file, &key] {
            assert_eq!(lab.attempt(&["read", path]), "done", "the control of {path}");
        }
        assert!(lab.run(&[], &["/usr/bin/env"]).status().success());
    }

    /// Files that only root may read, when the server is root.
    fn secrets_of_the_system_are_out_of_view(lab) {
        for path in ["/etc/shadow", "/etc/gshadow"] {
            assert!(lab.attempt(&["read", path]).starts_with("refused"), "{path}");
            if lab.is_root() {
                assert_eq!(lab.control(&["read", path]), "done", "the control of {path}");
            }
        }
        assert!(lab.attempt(&["list", "/root"]).starts_with("refused"));
        assert_eq!(lab.attempt(&["read", "/etc/passwd"]), "done");
    }
}
