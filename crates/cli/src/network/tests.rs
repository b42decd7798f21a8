//! The policy as a whole, without any tool being run.

use std::fs;

use tempfile::TempDir;

use super::*;

struct Fixture {
    folder: TempDir,
    allowed: Arc<Allowed>,
}

impl Fixture {
    fn new(reach: Reach) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "root/.git"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let list = ListFile::new(folder.path().join("home/.config/quietcontext/allowed"));
        let user = User { home: folder.path().join("home"), variables: Vec::new() };
        let allowed = Allowed::new(reach, list, user, folder.path().join("data"), Vec::new());
        Self { folder, allowed }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn permits(&self) -> Arc<dyn Permits> {
        self.allowed.for_root(&self.folder.path().join("root"))
    }
}

fn permit(permits: &Arc<dyn Permits>, target: &str) -> Permit {
    permits.permit(&HostPort::parse(target).unwrap())
}

#[test]
fn the_list_the_tools_and_the_remotes_allow_and_a_refusal_goes_first() {
    let fixture = Fixture::new(Reach::Allowlist);
    fixture.write("home/.config/quietcontext/allowed", "mine.example\n!no.example\n");
    fixture.write("home/.npmrc", "registry=https://n.example/\n@x:registry=https://no.example/\n");
    fixture.write("root/.git/config", "[remote \"o\"]\nurl = git@g.example:o/r\n");
    // The workspace's own files say nothing.
    fixture.write("root/.npmrc", "registry=https://evil.example/\n");
    fixture.write("root/.cargo/config.toml", "[registries.x]\nindex = \"https://evil.example/\"\n");
    let permits = fixture.permits();
    for (target, wanted) in [
        ("mine.example", Permit::Named),
        ("n.example", Permit::Private),
        ("g.example", Permit::Public),
        ("no.example", Permit::No),
        ("evil.example", Permit::No),
        ("n.example:80", Permit::No),
        ("127.0.0.1:443", Permit::No),
    ] {
        assert_eq!(permit(&permits, target), wanted, "{target}");
    }
}

#[test]
fn a_change_of_the_list_holds_at_once() {
    let fixture = Fixture::new(Reach::Allowlist);
    let permits = fixture.permits();
    assert_eq!(permit(&permits, "a.example"), Permit::No);
    fixture.write("home/.config/quietcontext/allowed", "a.example\n");
    assert_eq!(permit(&permits, "a.example"), Permit::Named);
    fixture.write("home/.config/quietcontext/allowed", "");
    assert_eq!(permit(&permits, "a.example"), Permit::No);
}

#[test]
fn a_list_that_cannot_be_read_allows_nothing() {
    for reach in [Reach::Allowlist, Reach::On] {
        let fixture = Fixture::new(reach);
        fixture.write("home/.npmrc", "registry=https://n.example/\n");
        assert_ne!(permit(&fixture.permits(), "n.example"), Permit::No, "the control");
        fixture.write("home/.config/quietcontext/allowed", "a.example\n!n.exa mple\n");
        for target in ["a.example", "n.example"] {
            assert_eq!(permit(&fixture.permits(), target), Permit::No, "{reach:?} {target}");
        }
    }
}

#[test]
fn on_is_everything_but_this_machine_and_off_is_nothing() {
    let on = Fixture::new(Reach::On);
    on.write("home/.config/quietcontext/allowed", "localhost:3000\n!no.example\n*.wide.example\n");
    for (target, wanted) in [
        ("any.example:22", Permit::Private),
        ("localhost:3000", Permit::Named),
        ("no.example", Permit::No),
    ] {
        assert_eq!(permit(&on.permits(), target), wanted, "{target}");
    }
    let off = Fixture::new(Reach::Off);
    off.write("home/.config/quietcontext/allowed", "a.example\n");
    assert_eq!(permit(&off.permits(), "a.example"), Permit::No);
}

#[test]
fn roots_do_not_share_their_remotes() {
    let fixture = Fixture::new(Reach::Allowlist);
    fixture.write("other/.git/config", "[remote \"o\"]\nurl = https://other.example/r\n");
    let other = fixture.allowed.for_root(&fixture.folder.path().join("other"));
    assert_eq!(permit(&other, "other.example"), Permit::Public);
    assert_eq!(permit(&fixture.permits(), "other.example"), Permit::No);
}
