//! The text of a PDF, page by page, read by a program that can do nothing but read and write.
//!
//! A PDF is a program in a dozen old formats, and its parsers have a history. The one here runs as
//! the product's own binary in a box of its own: no workspace, no network, bounded memory, time and
//! output, and behind a filter that leaves it some thirty system calls, none of which opens anything.
//! Where the user turned boxes off the same process runs behind the same filter and bounds without the
//! box around it; where none can be had it does not run. A crash is one line, the pages before it are kept.

mod frame;
mod interpret;
mod layout;
mod program;

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use self::frame::Frame;
pub(crate) use self::program::run;
use crate::cancel::Cancel;
use crate::confinement::Place;
use crate::error::ExecError;
use crate::executor::{Executor, Shared};
use crate::launch::STOP_LIMIT;
use crate::request::Exit;
use crate::sandbox::{self, Event, Limits, Link, Mode, Profile, Rung};
use crate::signal;

/// Largest PDF that is read, in bytes.
pub const PDF_BYTES: u64 = 64 << 20;

/// How long one document may take.
const READING: Duration = Duration::from_secs(20);

/// How often a cancel flag without a descriptor is looked at.
const TICK: Duration = Duration::from_millis(100);

/// What the reader may take.
const LIMITS: Limits = Limits {
    tasks: 1024,
    memory_bytes: 768 << 20,
    file_bytes: 64 << 20,
    temporary_bytes: 64 << 20,
    open_files: 64,
    grace: Duration::ZERO,
};

/// The pages of a PDF.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pdf {
    /// The title that the document gives itself.
    pub title: Option<String>,
    /// The text of each page in order: empty where a page has none, `None` where it is damaged.
    pub pages: Vec<Option<String>>,
    /// Why the pages end before the document does: `crashed (SIGSEGV)`, `took longer than 20 s`.
    pub cut: Option<String>,
}

/// Why a PDF gave no pages.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    /// It needs a password.
    #[error("the PDF is encrypted; a copy without its password can be indexed")]
    Encrypted,
    /// It is none, or beyond repair.
    #[error("the PDF cannot be read: it is damaged or no PDF at all")]
    Damaged,
    /// It is larger than is read.
    #[error("the PDF is larger than {} MiB", PDF_BYTES >> 20)]
    TooLarge,
    /// The reader ended before the first page.
    #[error("the PDF cannot be read: its reader {0}")]
    Broke(String),
    /// The call was cancelled, or the executor shut down.
    #[error("cancelled")]
    Cancelled,
    /// The reader could not be started, or not be held; nothing was read.
    #[error(transparent)]
    Exec(#[from] ExecError),
}

impl Executor {
    /// Reads the PDF in an open file, from its first byte, until `deadline` at the latest.
    pub fn pdf(&self, file: &File, deadline: Instant, cancel: &Cancel) -> Result<Pdf, PdfError> {
        let mut input = file;
        let input_failed = |source| ExecError::Input { step: "read it", source };
        if file.metadata().map_err(input_failed)?.len() > PDF_BYTES {
            return Err(PdfError::TooLarge);
        }
        input.rewind().map_err(input_failed)?;
        let shared = self.shared();
        let spawn = |source| ExecError::Spawn {
            program: "the reader of PDFs".into(),
            step: "make a process",
            source,
        };
        let mut output = shared.scratch.spool_file().map_err(spawn)?;
        let deadline = deadline.min(Instant::now() + READING);
        let end = shared.read_pdf(file, &output, deadline, cancel)?;
        if let End::Refused(failure) = &end {
            return Err(ExecError::Box { step: failure.clone() }.into());
        }
        output.rewind().map_err(spawn)?;
        collect(&mut BufReader::new(output.take(2 * LIMITS.file_bytes)), end)
    }
}

/// How the reader ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Exit(Exit),
    Late,
    Cancelled,
    /// It was not started: a step of its box failed.
    Refused(String),
}

/// The frames of a reader that has ended, as the document.
fn collect(input: &mut impl io::Read, end: End) -> Result<Pdf, PdfError> {
    let mut pdf = Pdf::default();
    let mut total = None;
    while let Some(frame) = Frame::read(input) {
        match frame {
            Frame::Title(title) => pdf.title = Some(title),
            Frame::Page(text) => pdf.pages.push(Some(text)),
            Frame::Unreadable => pdf.pages.push(None),
            Frame::Full => pdf.cut = Some("has more text than is read of one document".into()),
            Frame::Encrypted => return Err(PdfError::Encrypted),
            Frame::Damaged => return Err(PdfError::Damaged),
            Frame::End(pages) => total = Some(pages),
        }
    }
    if total.is_some() {
        return Ok(pdf);
    }
    let what = match end {
        End::Cancelled => return Err(PdfError::Cancelled),
        End::Late => format!("took too long ({} s are allowed)", READING.as_secs()),
        End::Exit(Exit::Signal { name, .. }) => format!("ran out of memory or crashed ({name})"),
        End::Exit(_) | End::Refused(_) => "broke off".to_owned(),
    };
    if pdf.pages.is_empty() {
        return Err(PdfError::Broke(what));
    }
    pdf.cut = Some(format!("its reader {what} after page {}", pdf.pages.len()));
    Ok(pdf)
}

impl Shared {
    /// Starts the reader, in a box where there are boxes, and waits for its end.
    fn read_pdf(
        &self,
        input: &File,
        output: &File,
        deadline: Instant,
        cancel: &Cancel,
    ) -> Result<End, ExecError> {
        if self.shutdown.is_cancelled() {
            return Err(ExecError::ShutDown);
        }
        let directory = self.scratch.run_directory()?;
        let own = directory.path();
        let place = Place {
            root: None,
            scratch: own,
            hidden: &[],
            outbound: None,
            shares_ports: false,
            builds: false,
        };
        let rung = self.boxes().map(|boxes| self.rung(boxes)).transpose()?;
        let profile = match self.boxes() {
            Some(boxes) => boxes.profile(&place, self.launcher.binary(), own, Vec::new()),
            None => Profile::new(own.to_owned(), own.to_owned()),
        };
        let profile = Profile {
            limits: LIMITS,
            mode: Mode::ReadOnly,
            readable: Vec::new(),
            writable: Vec::new(),
            ..profile
        };
        let started = (|| {
            let stdin = input.as_fd().try_clone_to_owned()?;
            let (mut command, link) =
                sandbox::reader(self.launcher.binary(), rung, profile, stdin)?;
            command.stdout(Stdio::from(output.try_clone()?)).stderr(Stdio::null());
            Ok(Reader { child: command.spawn()?, link, rung })
        })();
        let mut reader = started.map_err(|source| ExecError::Spawn {
            program: "the reader of PDFs".into(),
            step: "make a process",
            source,
        })?;
        reader.follow(deadline, [cancel, &self.shutdown]).map_err(|source| ExecError::Spawn {
            program: "the reader of PDFs".into(),
            step: "follow the process",
            source,
        })
    }
}

/// A reader that was started. Dropping it ends it.
struct Reader {
    child: Child,
    link: Link,
    rung: Option<Rung>,
}

impl Reader {
    /// Waits for the end, or brings it about.
    fn follow(&mut self, deadline: Instant, cancels: [&Cancel; 2]) -> io::Result<End> {
        let mut why = None;
        loop {
            if why.is_none() {
                if cancels.iter().any(|cancel| cancel.is_cancelled()) {
                    why = Some(End::Cancelled);
                } else if Instant::now() >= deadline {
                    why = Some(End::Late);
                }
                if why.is_some() {
                    self.stop()?;
                }
            }
            if let Some(status) = self.child.try_wait()? {
                let own = self.told().unwrap_or(End::Exit(signal::exit_of(status.into_raw())));
                return Ok(why.unwrap_or(own));
            }
            self.wait(deadline, cancels)?;
        }
    }

    /// What the box said before its end.
    fn told(&mut self) -> Option<End> {
        let mut end = None;
        while let Ok(Some(event)) = self.link.receive() {
            match event {
                Event::Failed(failure) => end = Some(End::Refused(failure.to_string())),
                Event::Ended(ended) => end = Some(End::Exit(signal::exit_of(ended.wait_status))),
                Event::Closed => break,
                Event::Started(_) | Event::Layers(_) => {}
            }
        }
        end
    }

    /// Ends it: a box tidies up what it made, and the rest is killed.
    fn stop(&mut self) -> io::Result<()> {
        let until = Instant::now() + STOP_LIMIT;
        if self.rung.is_some() {
            self.link.stop();
            while Instant::now() < until && self.child.try_wait()?.is_none() {
                self.wait(until, [])?;
            }
        }
        match self.child.try_wait()? {
            Some(_) => Ok(()),
            None => self.child.kill(),
        }
    }

    /// Waits until the process has ended, somebody cancels, or `until`.
    fn wait<const N: usize>(&self, until: Instant, cancels: [&Cancel; N]) -> io::Result<()> {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        let process = pidfd_open(pid.ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?;
        let mut fds = vec![PollFd::new(&process, PollFlags::IN)];
        let mut left = until.saturating_duration_since(Instant::now());
        for cancel in cancels {
            match cancel.wake() {
                Some(wake) if !cancel.is_cancelled() => {
                    fds.push(PollFd::from_borrowed_fd(wake, PollFlags::IN));
                }
                Some(_) => {}
                None => left = left.min(TICK),
            }
        }
        let timeout =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}
