//! Real tools through the proxy, against stand-ins of their registries: by TLS tunnel to a name that
//! only the proxy resolves, and plainly from inside the real box.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::IpAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use quietcontext_fetch::{
    HostPort, Resolve, Resolving,
    proxy::{Permit, Permits, Proxy},
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use crate::{
    harness::{PATIENCE, World, wait_until},
    network::no_box,
};

/// The name under which the stand-in is reached where the test resolves names.
const NAME: &str = "registry.example";

/// What every tool finds at its registry.
const WORD: &str = "from the registry";

/// Each tool, what it needs, and what it does at `$BASE`; it prints [`WORD`] when all went well.
const TOOLS: &[(&str, &str)] = &[
    ("curl", "curl -fsS $BASE/hello"),
    ("wget", "wget -q -O - ${CA:+--ca-certificate=$CA} $BASE/hello"),
    (
        "git",
        "git clone -q $BASE/git/sampled.git cloned && cat cloned/file && cd cloned && echo more > more && git add more \
         && git -c user.name=A -c user.email=a@b commit -qm more && git push -q origin HEAD:pushed \
         && git fetch -q origin pushed && git diff --quiet FETCH_HEAD",
    ),
    (
        // It has to have a token, passed on purpose.
        "gh",
        "GH_HOST=${BASE#https://} GH_ENTERPRISE_TOKEN='of mine' GH_CONFIG_DIR=$PWD/config gh api hello",
    ),
    (
        "npm",
        "echo '{}' > package.json && npm install --loglevel=error ${CA:+--cafile=$CA} --registry $BASE/npm/ --cache ./cache sampled \
         && node -p 'require(\"sampled\")'",
    ),
    (
        "python3",
        "$PYTHON -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' $BASE/hello",
    ),
    (
        "pip",
        "$PYTHON -m pip install -q --no-cache-dir --no-deps --target t --trusted-host 127.0.0.2 \
         --index-url $BASE/simple/ sampled && PYTHONPATH=t $PYTHON -c 'import sampled; print(sampled.WORD)'",
    ),
    (
        "cargo",
        "mkdir -p src .cargo && touch src/lib.rs && printf '[registries.standin]\\nindex = \"sparse+%s/cargo/\"\\n' \
         $BASE > .cargo/config.toml && printf '[workspace]\\n[package]\\nname = \"user\"\\n[dependencies]\\n\
         sampled = { version = \"1\", registry = \"standin\" }\\n' > Cargo.toml \
         && CARGO_HOME=$PWD/home cargo fetch -q && cat home/registry/src/*/sampled-1.0.0/src/lib.rs",
    ),
    (
        "go",
        "printf 'module user\\n\\nrequire example.com/sampled v1.0.0\\n' > go.mod \
         && export GOPROXY=$BASE/go GONOSUMDB='*' GOSUMDB=off GOPATH=$PWD/path GOCACHE=$PWD/cache GOFLAGS=-modcacherw \
         && go mod download && cat $(go env GOMODCACHE)/example.com/sampled@v1.0.0/sampled.go",
    ),
];

/// What keeps tools from trying again and from looking elsewhere.
const ONCE: &str = "export CARGO_NET_RETRY=0 PIP_RETRIES=0 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    npm_config_fetch_retries=0 npm_config_update_notifier=false GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1";

/// Variables by which tools are told of an authority.
const AUTHORITY: &[&str] = &[
    "CA",
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
];

/// A running stand-in.
struct Registry {
    folder: TempDir,
    child: Child,
    base: String,
    port: u16,
}

impl Registry {
    /// Serves at `address`, known as `name`; with a certificate of the authority at [`Self::ca`].
    fn start(address: &str, name: &str, secure: bool) -> Self {
        let folder = Self::files(name);
        let mut command = Self::command(&folder, address, name, secure);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        let scheme = if secure { "https" } else { "http" };
        Self { folder, child, base: format!("{scheme}://{name}:{port}"), port }
    }

    /// What a stand-in of this name serves, and the certificate with which it may.
    fn files(name: &str) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("git")).unwrap();
        let script = "git init -q -b main seed && cd seed && echo 'from the registry' > file && git add file \
             && git -c user.name=A -c user.email=a@b commit -qm one && git clone -q --bare . ../git/sampled.git \
             && git -C ../git/sampled.git config http.receivepack true";
        let mut seed = Command::new("sh");
        seed.args(["-c", script]).current_dir(folder.path()).env("HOME", folder.path());
        assert!(seed.status().unwrap().success());
        certificate(name, &at("ca"), &at("certificate"), &at("key"));
        folder
    }

    fn command(folder: &TempDir, address: &str, name: &str, secure: bool) -> Command {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/registry.py");
        let mut command = Command::new(python());
        command.arg(source).args([address, name]).arg(folder.path());
        if secure {
            command.args(["certificate", "key"].map(|file| folder.path().join(file)));
        }
        command
    }

    fn ca(&self) -> PathBuf {
        self.folder.path().join("ca")
    }

    /// Requests so far.
    fn requests(&self) -> usize {
        fs::read_to_string(self.folder.path().join("log")).map_or(0, |log| log.lines().count())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// An authority, and a certificate of it for a name or an address.
fn certificate(name: &str, ca: &Path, certificate: &Path, key: &Path) {
    let own = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    // With one name for both a certificate looks like its own issuer.
    params.distinguished_name.push(DnType::CommonName, "Authority of a test");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    fs::write(ca, pem("CERTIFICATE", params.self_signed(&own).unwrap().der())).unwrap();
    let issuer = Issuer::new(params, own);
    let leaf = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let signed = params.signed_by(&leaf, &issuer).unwrap();
    fs::write(certificate, pem("CERTIFICATE", signed.der())).unwrap();
    fs::write(key, pem("PRIVATE KEY", &leaf.serialize_der())).unwrap();
}

/// The text form of a certificate or key.
fn pem(label: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut body = String::new();
    for (at, three) in der.chunks(3).enumerate() {
        if at % 16 == 0 {
            body.push('\n');
        }
        let bits = three.iter().fold(0, |bits, &byte| bits << 8 | usize::from(byte))
            << (8 * (3 - three.len()));
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            body.push(if digit > three.len() { '=' } else { char::from(DIGITS[value]) });
        }
    }
    format!("-----BEGIN {label}-----{body}\n-----END {label}-----\n")
}

/// Knows one name, and that leads to this machine.
struct OneName;

impl Resolve for OneName {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        let found = if host == NAME {
            Ok(vec![IpAddr::from([127, 0, 0, 1])])
        } else {
            Err(std::io::ErrorKind::NotFound.into())
        };
        Box::pin(std::future::ready(found))
    }
}

/// Allows one host while the switch is on.
struct Switch(HostPort, AtomicBool);

impl Permits for Switch {
    fn permit(&self, target: &HostPort) -> Permit {
        if self.0 == *target && self.1.load(Ordering::SeqCst) { Permit::Named } else { Permit::No }
    }
}

/// Whether the tool is there; a test that needs it fails where everything is required.
fn present(tool: &str) -> bool {
    let script =
        format!("command -v {tool} && {{ [ {tool} != pip ] || {} -m pip --version; }}", python());
    let found = Command::new("sh").args(["-c", &script]).output().unwrap().status.success();
    let required = std::env::var("QUIETCONTEXT_TEST_REQUIRE").is_ok_and(|value| value == "all");
    // wget is no tool that anybody builds with.
    assert!(found || !required || tool == "wget", "required, but {tool} is missing");
    if !found {
        eprintln!("skipped: {tool} is missing");
    }
    found
}

/// An interpreter with pip that is itself, not a script that looks for one.
fn python() -> String {
    let script = "import sys; print(sys.executable)";
    let found = Command::new("python3").args(["-c", script]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

/// The folder of the toolchain itself: a launcher would look for it in the home.
fn toolchain() -> Option<PathBuf> {
    let found = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    Some(PathBuf::from(String::from_utf8(found.stdout).ok()?.trim()))
}

fn path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    toolchain().map_or(own.clone(), |found| format!("{}/bin:{own}", found.display()))
}

#[test]
fn real_tools_work_through_tunnels_once_their_host_is_allowed() {
    let registry = Registry::start("127.0.0.1", NAME, true);
    let host = HostPort::parse(&format!("{NAME}:{}", registry.port)).unwrap();
    let permits = Arc::new(Switch(host.clone(), AtomicBool::new(false)));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let proxy = Proxy::new(Arc::new(OneName));
    let attached = proxy.attach(listener, Arc::clone(&permits) as _, runtime.handle()).unwrap();
    for (tool, script) in TOOLS {
        if !present(tool) {
            continue;
        }
        let run = || -> Output {
            let place = tempfile::tempdir().unwrap();
            let mut command = Command::new("sh");
            command
                .args(["-c", &format!("{ONCE}\n{script}")])
                .current_dir(place.path())
                .env_clear();
            command.env("HOME", place.path()).env("LANG", "C.UTF-8").env("PATH", path());
            command.env("BASE", &registry.base).env("PYTHON", python());
            for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
                command.env(name, &address);
            }
            for name in ["no_proxy", "NO_PROXY"] {
                command.env(name, "localhost,127.0.0.1,::1");
            }
            for name in AUTHORITY {
                command.env(name, registry.ca());
            }
            command.stdin(Stdio::null()).output().unwrap()
        };
        let before = registry.requests();
        permits.1.store(false, Ordering::SeqCst);
        let refused = run();
        assert!(!String::from_utf8_lossy(&refused.stdout).contains(WORD), "{tool}: {refused:?}");
        assert!(!refused.status.success(), "{tool}: {refused:?}");
        assert_eq!(registry.requests(), before, "{tool} got there all the same");
        assert!(attached.denied().iter().any(|denial| denial.target == host), "{tool}");
        permits.1.store(true, Ordering::SeqCst);
        let passed = run();
        assert!(passed.status.success(), "{tool}: {passed:?}");
        assert!(String::from_utf8_lossy(&passed.stdout).contains(WORD), "{tool}: {passed:?}");
        assert!(registry.requests() > before, "{tool} got it elsewhere");
    }
}

#[test]
fn real_tools_work_in_the_box_once_their_host_is_allowed() {
    let world = World::outside_of_tmp();
    if no_box(&world) {
        return;
    }
    // An address that tools do not take for the box's own.
    let registry = Registry::start("127.0.0.2", "127.0.0.2", false);
    let host = format!("127.0.0.2:{}", registry.port);
    let shown: Vec<_> =
        [toolchain(), Path::new(&python()).parent().and_then(Path::parent).map(Path::to_owned)]
            .into_iter()
            .flatten()
            .filter(|folder| !folder.starts_with("/usr"))
            .collect();
    let config = world.path("home/.config/quietcontext/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, format!("sandbox.readable = {shown:?}\n")).unwrap();
    let mut command = world.command(&[]);
    command.env("PATH", path());
    let mut server = crate::harness::Server::start(command);
    for (tool, script) in TOOLS {
        // Go, and what is written in it, takes no proxy towards a loopback address, whatever the
        // variables say: see the next test.
        if ["gh", "go"].contains(tool) || !present(tool) {
            continue;
        }
        let script = format!(
            "export BASE={} PYTHON={}\n{ONCE}\nrm -rf {tool} && mkdir {tool} && cd {tool}\n{script}",
            registry.base,
            python(),
        );
        let before = registry.requests();
        world.run(&["disallow", &host]);
        let refused = server.shell(&script).text;
        let told = format!(
            "[blocked by sandbox: network: {host} is not on the allowlist; \
             to allow more the user runs: quietcontext allow {host}]"
        );
        assert!(refused.contains(&told) && refused.contains("[exit "), "{tool}: {refused}");
        assert_eq!(registry.requests(), before, "{tool} got there all the same");
        world.run(&["allow", &host]);
        let passed = server.shell(&script).text;
        assert!(passed.contains(WORD) && !passed.contains("[exit "), "{tool}: {passed}");
        assert!(registry.requests() > before, "{tool} got it elsewhere");
    }
}

/// Gives the network namespace it runs in a private address, then becomes the
/// program of its arguments.
const ADDRESS: &str = "10.77.7.7";
const WITH_ADDRESS: &str = "
import fcntl, os, socket, struct, sys
channel = socket.socket()
def interface(request, name, rest):
    fcntl.ioctl(channel, request, struct.pack('16s', name) + rest.ljust(24, b'\\0'))
interface(0x8914, b'lo', struct.pack('h', 1 | 64))
address = socket.inet_aton(sys.argv[1])
interface(0x8916, b'lo:1', struct.pack('HH4s', socket.AF_INET, 0, address))
os.execvp(sys.argv[2], sys.argv[2:])
";

/// The server and a stand-in in a network of their own, where the stand-in has an address that no
/// tool takes for its own machine.
#[test]
fn real_tools_work_by_tls_in_the_box_once_their_host_is_allowed() {
    let world = World::outside_of_tmp();
    if no_box(&world) || !present("unshare") || !present("setpriv") {
        return;
    }
    let folder = Registry::files(ADDRESS);
    let registry = Registry::command(&folder, ADDRESS, ADDRESS, true);
    let inner = world.command(&[]);
    let mut server = Command::new("unshare");
    server.args(["--user", "--map-root-user", "--net"]).arg(python()).args(["-c", WITH_ADDRESS]);
    // The stand-in's command line, a dash, the server's.
    let both = "port=$1; shift; n=$1; shift; i=0; line=; \
        while [ $i -lt $n ]; do line=\"$line '$1'\"; shift; i=$((i+1)); done; \
        eval \"exec setpriv --pdeathsig KILL $line\" > \"$port\" 2> /dev/null < /dev/null & exec \"$@\"";
    let port = folder.path().join("port");
    server.args([ADDRESS, "sh", "-c", both, "sh"]).arg(&port);
    let line: Vec<_> = std::iter::once(registry.get_program()).chain(registry.get_args()).collect();
    server.arg(line.len().to_string()).args(line).arg(inner.get_program()).args(inner.get_args());
    server.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    server.env("PATH", path()).current_dir(inner.get_current_dir().unwrap());
    let mut server = crate::harness::Server::start(server);
    let mut number = String::new();
    wait_until(PATIENCE, || {
        number = fs::read_to_string(&port).unwrap_or_default().trim().to_owned();
        !number.is_empty()
    })
    .unwrap();
    let host = format!("{ADDRESS}:{number}");
    fs::copy(folder.path().join("ca"), world.path("work/ca")).unwrap();
    let requests =
        || fs::read_to_string(folder.path().join("log")).map_or(0, |log| log.lines().count());
    for (tool, script) in TOOLS {
        if !["curl", "git", "gh", "go"].contains(tool) || !present(tool) {
            continue;
        }
        let authority =
            AUTHORITY.iter().fold(String::new(), |all, name| all + " " + name + "=$PWD/ca");
        let script = format!(
            "export BASE=https://{host}{authority}\n{ONCE}\nrm -rf {tool} && mkdir {tool} && cd {tool}\n{script}"
        );
        let before = requests();
        world.run(&["disallow", &host]);
        let refused = server.shell(&script).text;
        assert!(refused.contains(&format!("{host} is not on the allowlist")), "{tool}: {refused}");
        assert_eq!(requests(), before, "{tool} got there all the same");
        world.run(&["allow", &host]);
        let passed = server.shell(&script).text;
        assert!(passed.contains(WORD) && !passed.contains("[exit "), "{tool}: {passed}");
        assert!(requests() > before, "{tool} got it elsewhere");
    }
}
