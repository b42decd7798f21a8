//! What the rules take out of a program's view.

use super::*;

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
        ("Read(../abs/other)", &["abs/other"]),
        ("Read(~/../abs/secret/**)", &["abs/secret"]),
        ("Edit(.env)", &[]),
    ] {
        place.deny(USER, &[&aliased(&absolute(rule))]);
        assert_eq!(place.hidden(), want, "{rule}");
    }
    // A pattern for the whole disk is looked for in the workspace, one for the home as well.
    for rule in ["Read(//**/*.pem)", "Read(~/../**/*.pem)", "Read(//**/k.pem)"] {
        place.deny(USER, &[rule]);
        let hidden = place.hidden();
        assert!(hidden.contains(&"w/k.pem".to_owned()), "{rule} {hidden:?}");
    }
    for rule in ["Read", "Read()", "Read(//**)", "*"] {
        place.deny(USER, &[rule]);
        let line = place.refusal();
        assert!(line.contains("denies the whole workspace"), "{rule}: {line}");
    }
}

#[test]
fn the_search_is_renewed_where_a_directory_changed() {
    let place = Place::new();
    place.write("w/a/b/x", "");
    place.deny(USER, &["Read(**/*.pem)"]);
    let policy = place.policy();
    for round in 0..20 {
        let path = format!("w/a/b/{round}.pem");
        place.write(&path, "");
        let hidden = policy.hidden(&policy.rules().unwrap()).unwrap();
        assert!(hidden.contains(&place.at(&path)), "{round}");
        assert_eq!(hidden.len(), 1);
        std::fs::rename(place.at(&path), place.at("w/a/plain")).unwrap();
        assert_eq!(
            policy.hidden(&policy.rules().unwrap()).unwrap(),
            Vec::<PathBuf>::new(),
            "{round}"
        );
    }
}

#[test]
fn more_than_can_be_hidden_is_a_refusal() {
    let place = Place::new();
    for number in 0..1_100 {
        place.write(&format!("w/k/{number}.pem"), "");
    }
    place.deny(USER, &["Read(**/*.pem)"]);
    let line = place.refusal();
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
