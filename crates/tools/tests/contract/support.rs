//! A toolbox over a temporary workspace, and short ways to call it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use quietcontext_exec::{ExecConfig, Executor};
use quietcontext_fetch::{FetchConfig, Fetcher, HostPort, SystemResolver};
use quietcontext_store::{Retention, Store, StoreOptions};
use quietcontext_tools::{Answer, Call, Confinement, Tool, Toolbox, ToolboxConfig};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What every answer of a run begins with until programs are confined.
pub(crate) const UNCONFINED: &str = "[unconfined]\n";

pub(crate) struct Workspace {
    folder: tempfile::TempDir,
    toolbox: Toolbox,
    runtime: tokio::runtime::Runtime,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        Self::with(&[], Retention::default())
    }

    /// A workspace whose `fetch-index` may reach these loopback addresses.
    pub(crate) fn allowing(hosts: &[String]) -> Self {
        Self::with(hosts, Retention::default())
    }

    /// A workspace whose data folder cannot be used: a regular file stands in its place.
    pub(crate) fn without_store() -> Self {
        let workspace = Self::new();
        std::fs::write(workspace.folder.path().join("data"), "in the way").unwrap();
        workspace
    }

    fn with(hosts: &[String], retention: Retention) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("w");
        std::fs::create_dir(&root).unwrap();
        let toolbox = toolbox(folder.path(), hosts, retention);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        Self { folder, toolbox, runtime }
    }

    /// The same workspace and store as a new process sees them.
    pub(crate) fn restarted(self) -> Self {
        let toolbox = toolbox(self.folder.path(), &[], Retention::default());
        Self { toolbox, ..self }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("w")
    }

    /// Bytes of the store's files.
    pub(crate) fn store_bytes(&self) -> u64 {
        let files = std::fs::read_dir(self.folder.path().join("data")).unwrap().flatten();
        files
            .map(|file| file.metadata().unwrap())
            .filter(std::fs::Metadata::is_file)
            .map(|file| file.len())
            .sum()
    }

    /// Closes what was not used for so long.
    pub(crate) fn rest(&self, idle: Duration) -> Option<Duration> {
        self.toolbox.rest(idle)
    }

    /// Files of the store that this process has open.
    pub(crate) fn open_store_files(&self) -> usize {
        let data = self.folder.path().canonicalize().unwrap().join("data");
        let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let files = links.filter_map(|link| std::fs::read_link(link.path()).ok());
        let store =
            |file: &PathBuf| file.starts_with(&data) && file.to_string_lossy().contains(".db");
        files.filter(store).count()
    }

    /// A folder beside the workspace.
    pub(crate) fn outside(&self) -> PathBuf {
        let path = self.folder.path().join("outside");
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.root().join(path).exists()
    }

    /// Calls a tool; the arguments are a JSON object.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.call_until(tool, arguments, &CancellationToken::new())
    }

    pub(crate) fn call_until(
        &self,
        tool: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Answer {
        let answer = self.runtime.block_on(self.toolbox.call(Call {
            root: self.root(),
            tool: Tool::parse(tool).unwrap(),
            arguments: arguments.as_object().unwrap().clone(),
            cancel: cancel.clone(),
            progress: None,
        }));
        let text = answer.text.as_str();
        assert!(text.len() <= 12_288, "{} bytes", text.len());
        assert!(!answer.is_error || text.starts_with("error: "), "an error says so first: {text}");
        answer
    }

    /// The text of a call that must succeed.
    pub(crate) fn ok(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(!answer.is_error, "{}", answer.text);
        answer.text.into_string()
    }

    /// The text of a call that must be refused: one line.
    pub(crate) fn error(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(answer.is_error, "{}", answer.text);
        let text = answer.text.into_string();
        assert!(!text.contains('\n') && text.len() <= 512, "{text}");
        text
    }

    /// The text of a run, without `[unconfined]` and without a line that says how long it took: on a
    /// busy machine any run may take over a second.
    pub(crate) fn run(&self, tool: &str, arguments: Value) -> String {
        let text = self.ok(tool, arguments);
        let text = text.strip_prefix(UNCONFINED).unwrap_or_else(|| panic!("{text}"));
        // On a busy machine the time stands on a line of its own.
        let took = |line: &&str| {
            let seconds =
                line.trim_end().strip_prefix('[').and_then(|line| line.strip_suffix(" s]"));
            seconds.is_some_and(|seconds| seconds.parse::<f64>().is_ok())
        };
        text.split_inclusive('\n').filter(|line| !took(line)).collect()
    }

    /// Everything behind a reference, page by page, as the `more:` lines lead.
    pub(crate) fn read_all(&self, reference: &str, max_bytes: usize) -> String {
        let mut whole = String::new();
        let mut next = vec![reference.to_owned()];
        let mut seen = HashSet::new();
        while !next.is_empty() {
            assert!(seen.insert(next.clone()), "no progress at {next:?}");
            let text = self.ok("search", serde_json::json!({"refs": next, "max_bytes": max_bytes}));
            assert!(text.len() <= max_bytes, "{} > {max_bytes}", text.len());
            next = append_page(&text, &mut whole);
        }
        whole
    }
}

fn toolbox(folder: &Path, hosts: &[String], retention: Retention) -> Toolbox {
    let data = folder.join("data");
    let executor = Executor::new(ExecConfig {
        binary: env!("CARGO_BIN_EXE_quietcontext-tools-lab").into(),
        scratch: vec![data.join("scratch"), folder.join("scratch")],
        path: std::env::var_os("PATH").unwrap_or_default(),
        environment: std::env::vars_os().collect(),
        output_cap: 512 << 20,
        passed: Vec::new(),
        confinement: quietcontext_exec::Confinement::Off,
    });
    let fetch = FetchConfig {
        allow: hosts.iter().map(|host| HostPort::parse(host).unwrap()).collect(),
        ..FetchConfig::default()
    };
    let config = ToolboxConfig {
        confinement: Confinement::Off,
        home: Some(folder.join("home")),
        readable: Vec::new(),
        outbound: None,
        journal: false,
    };
    Toolbox::new(
        config,
        Arc::new(executor),
        Fetcher::new(fetch, Arc::new(SystemResolver)),
        Box::new(move |root| {
            Store::new(StoreOptions { directory: data.clone(), root: root.to_owned(), retention })
        }),
    )
}

/// Takes a page of chunks apart: a header line, the text exactly, one added newline; then `more:`.
///
/// The headers are told from text by the chunk numbers, which go up by one.
fn append_page(page: &str, whole: &mut String) -> Vec<String> {
    let (body, next) = match page.rfind("\nmore: ") {
        Some(at) if !page[at + 1..].trim_end().contains('\n') => {
            let refs = page[at + 1..].trim().trim_start_matches("more: ").split(' ');
            (&page[..=at], refs.map(str::to_owned).collect())
        }
        _ => (page, Vec::new()),
    };
    let mut rest = body;
    let mut number: Option<u64> = None;
    while !rest.is_empty() {
        let (header, text) = rest.split_once('\n').unwrap_or_else(|| panic!("no header: {rest}"));
        let shown = header.strip_prefix("[r:").and_then(|h| h.split_once(']')).unwrap().0;
        let shown: u64 = shown.parse().unwrap();
        assert!(number.is_none_or(|before| shown == before + 1), "{header} after {number:?}");
        number = Some(shown);
        let end = text.find(&format!("\n[r:{}] ", shown + 1)).unwrap_or(text.len() - 1);
        whole.push_str(&text[..end]);
        rest = &text[end + 1..];
    }
    next
}

/// The reference `r:…` in a handle or a line.
pub(crate) fn reference(text: &str) -> String {
    let at = text.find("r:").unwrap_or_else(|| panic!("no reference in {text}"));
    text[at..].chars().take_while(|c| c.is_ascii_digit() || matches!(c, 'r' | ':' | '-')).collect()
}

/// Waits until `check` holds.
pub(crate) fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while !check() {
        assert!(std::time::Instant::now() < until, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}
