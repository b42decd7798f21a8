//! The configuration as a whole: precedence, and every kind of mistake.

use std::fs;

use tempfile::TempDir;

use super::*;

struct Fixture {
    home: TempDir,
    variables: Vec<(OsString, OsString)>,
}

impl Fixture {
    fn new(file: Option<&str>, variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        if let Some(text) = file {
            let folder = home.path().join(".config/quietcontext");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("config.toml"), text).unwrap();
        }
        let variables = variables.iter().map(|(n, v)| (n.into(), v.into())).collect();
        Self { home, variables }
    }

    fn load(&self, flags: &Flags) -> Result<Loaded> {
        let home = Some(self.home.path().to_owned());
        load(flags, &Surroundings { home, variables: self.variables.clone() })
    }

    fn error(&self) -> String {
        format!("{:#}", self.load(&Flags::default()).unwrap_err())
    }
}

#[test]
fn rows_are_sorted_unique_and_told() {
    let keys: Vec<_> = SETTINGS.iter().map(|row| row.key).collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(keys, sorted);
    for row in SETTINGS {
        assert!(row.help.contains("default"), "{}", row.key);
    }
}

#[test]
fn every_row_can_be_set_from_the_file_and_from_its_variable() {
    for row in SETTINGS {
        let text = match row.key {
            "data_dir" | "root" | "index.roots" | "sandbox.readable" | "sandbox.writable" => {
                "/somewhere"
            }
            "sandbox.mode" => "read-only",
            "fetch.allow" => "localhost:3000",
            "fetch.mode" | "network.mode" | "stats.journal" => "off",
            "fetch.proxy" => "http://proxy.example:3128",
            "log" => "debug",
            _ => "7",
        };
        let variable = row.variable();
        let fixture = Fixture::new(None, &[(&variable, text)]);
        let loaded = fixture.load(&Flags::default()).unwrap();
        // A variable may come from a project's tools and does not loosen the sandbox.
        let read = row.place != Place::FileOnly;
        assert_eq!(loaded.warnings.is_empty(), read, "{variable}");
        let before = (row.show)(&Fixture::new(None, &[]).load(&Flags::default()).unwrap().settings);
        assert_eq!(
            (row.show)(&loaded.settings) != before || row.key == "data_dir",
            read,
            "{variable}"
        );
        let file = match row.key {
            "index.roots" | "fetch.allow" => format!("{} = [\"{text}\"]", row.key),
            _ => format!("{} = \"{text}\"", row.key),
        };
        let outcome = Fixture::new(Some(&file), &[]).load(&Flags::default());
        assert_eq!(outcome.is_ok(), row.place.in_file(), "{}", row.key);
    }
}

#[test]
fn flags_go_before_variables_before_the_file_before_defaults() {
    let file = "data_dir = \"/file\"\n[store]\nmax_bytes = \"1 GiB\"\nmax_age_days = 7\n";
    let variables = [("QUIETCONTEXT_DATA_DIR", "/variable"), ("QUIETCONTEXT_STORE_MAX_BYTES", "9")];
    let loaded = Fixture::new(Some(file), &variables)
        .load(&Flags { data_dir: Some("/flag".into()), ..Flags::default() })
        .unwrap();
    assert_eq!(loaded.settings.data_dir, Some("/flag".into()));
    assert_eq!(loaded.settings.retention.max_bytes, 9);
    assert_eq!(loaded.settings.retention.max_age.as_secs(), 7 * 86_400);
    assert_eq!(loaded.settings.output_bytes, 512 << 20);
    let loaded = Fixture::new(Some(file), &variables).load(&Flags::default()).unwrap();
    assert_eq!(loaded.settings.data_dir, Some("/variable".into()));
    let loaded = Fixture::new(Some(file), &[]).load(&Flags::default()).unwrap();
    assert_eq!(loaded.settings.data_dir, Some("/file".into()));
}

#[test]
fn the_folders_do_not_follow_xdg_variables() {
    let variables = [("XDG_DATA_HOME", "/x"), ("XDG_CONFIG_HOME", "/y")];
    let fixture = Fixture::new(Some("log = \"info\""), &variables);
    let settings = fixture.load(&Flags::default()).unwrap().settings;
    assert_eq!(settings.data_dir, Some(fixture.home.path().join(".local/share/quietcontext")));
    assert_eq!(settings.log, tracing::level_filters::LevelFilter::INFO);
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (file, wanted) in [
        ("fetch.alow = []", "unknown setting fetch.alow (did you mean fetch.allow?)"),
        ("sandbox = 1", "sandbox: must be one of workspace-write, read-only, off"),
        ("sandbox.mod = \"off\"", "unknown setting sandbox.mod (did you mean sandbox.mode?)"),
        ("root = \"/w\"", "unknown setting root"),
        ("fetch = \"of\"", "fetch: must be one of public, allowlist, off"),
        ("fetch.allow = [1]", "fetch.allow: must be a list of strings"),
        ("fetch.allow = [\"a/b\"]", "fetch.allow: a/b must be HOST or HOST:PORT"),
        ("data_dir = \"relative\"", "data_dir: must be an absolute path or begin with ~/"),
        ("run.output_bytes = 0", "run.output_bytes: must be a whole number above 0"),
        ("log = true", "log: must not be a boolean"),
        ("log = ", "TOML parse error at line 1"),
    ] {
        let error = Fixture::new(Some(file), &[]).error();
        let found = error.strip_prefix("~/.config/quietcontext/config.toml: ").unwrap_or_default();
        assert!(found.starts_with(wanted), "{file}: {error}");
    }
    let error = Fixture::new(None, &[("QUIETCONTEXT_FETCH_MODE", "x")]).error();
    assert_eq!(error, "QUIETCONTEXT_FETCH_MODE: must be one of public, allowlist, off");
}

#[test]
fn a_variable_that_only_looks_like_ours_is_told_and_passed_over() {
    let variables = [
        ("QUIETCONTEXT_DATADIR", "/x"),
        ("QUIETCONTEXT_TEST_REQUIRE", "all"),
        ("QUIETCONTEXT_LOG", ""),
        ("CLAUDE_PROJECT_DIR", "/other"),
    ];
    let loaded = Fixture::new(None, &variables).load(&Flags::default()).unwrap();
    let wanted = "unknown variable QUIETCONTEXT_DATADIR (did you mean QUIETCONTEXT_DATA_DIR?)";
    assert_eq!(loaded.warnings, [wanted]);
}

#[test]
fn a_file_that_was_named_has_to_be_there() {
    let missing = [("QUIETCONTEXT_CONFIG", "/nowhere/config.toml")];
    let error = Fixture::new(Some("log = \"info\""), &missing).error();
    assert!(error.starts_with("/nowhere/config.toml: "), "{error}");
}
