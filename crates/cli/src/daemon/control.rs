//! What people do with a daemon: start, stop, look at it.

use std::{
    fmt::Write as _,
    fs,
    io::{Read as _, Seek as _, SeekFrom},
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail};
use quietcontext_server::http;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use serde_json::{Value, json};

use super::{client, log, place::Place, roots::Roots};
use crate::{
    args::Form,
    config::Flags,
    terminal::{self, Exit, Problem},
    wire,
};

/// How long a daemon may take until it answers; it takes milliseconds.
const START: Duration = Duration::from_secs(10);

/// How long a daemon may take to end by itself.
const END: Duration = Duration::from_secs(2);

/// How long one may take to be gone that was killed.
const KILLED: Duration = Duration::from_secs(1);

/// How often it is looked whether a daemon answers, and whether its log has grown.
const LOOK: Duration = Duration::from_millis(10);
const FOLLOW: Duration = Duration::from_millis(200);

/// Starts a daemon in the background and waits until it answers.
pub(crate) fn start(flags: &Flags) -> Result<Exit, Problem> {
    let configured = wire::configured(flags)?;
    let place = Place::new(&configured.data_dir);
    // What is wrong with the token is told here and not in a log.
    place.token()?;
    if place.pid()?.is_none() {
        launch(flags, &place)?;
    }
    let until = Instant::now() + START;
    loop {
        if let Some(running) = client::find(&place)?
            && (running.answer.is_ok() || Instant::now() >= until)
        {
            running.answer?;
            let (pid, port) = (running.state.pid, running.state.port);
            let path = http::PATH;
            terminal::print(&format!(
                "running as process {pid} on http://127.0.0.1:{port}{path}\n"
            ))?;
            return Ok(Exit::Fine);
        }
        if Instant::now() >= until || place.pid()?.is_none() {
            return Err(anyhow!("the daemon ended; see: quietcontext daemon logs").into());
        }
        sleep(LOOK);
    }
}

/// Starts the process, and waits until it holds the lock.
fn launch(flags: &Flags, place: &Place) -> Result<()> {
    let path = place.log_file();
    let log = log::append(&path).with_context(|| path.display().to_string())?;
    let before = log.metadata()?.len();
    let mut child = Command::new(std::env::current_exe().context("this program's own file")?)
        .args(["daemon", "background"])
        .args(flags.arguments())
        // Nothing that is mounted later is kept busy.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .context("the daemon could not be started")?;
    let until = Instant::now() + START;
    while place.pid()?.is_none() {
        if child.try_wait()?.is_some() || Instant::now() >= until {
            // Two that are started at one time: one of them serves.
            if place.pid()?.is_some() {
                return Ok(());
            }
            bail!("the daemon did not start: {}", last_words(&path, before));
        }
        sleep(LOOK);
    }
    Ok(())
}

/// The last line that a process wrote to the log behind this position.
fn last_words(log: &Path, from: u64) -> String {
    let mut text = String::new();
    let read = fs::File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.take(64 << 10).read_to_string(&mut text)
    });
    let last = text.lines().rfind(|line| !line.trim().is_empty()).filter(|_| read.is_ok());
    let last = last.unwrap_or("it said nothing");
    last.strip_prefix("quietcontext: ").unwrap_or(last).to_owned()
}

/// Ends the daemon and everything it runs.
pub(crate) fn stop(flags: &Flags) -> Result<Exit, Problem> {
    let configured = wire::configured(flags)?;
    let place = Place::new(&configured.data_dir);
    let Some(pid) = place.pid()? else {
        terminal::print("not running\n")?;
        return Ok(Exit::Fine);
    };
    let word = end(&place, pid)?;
    terminal::print(&format!("{word} process {}\n", pid.as_raw_nonzero()))?;
    Ok(Exit::Fine)
}

fn end(place: &Place, pid: Pid) -> Result<&'static str> {
    let process = pidfd_open(pid, PidfdFlags::empty());
    // Only who holds the lock now is the daemon: numbers are given out again.
    if place.pid()? != Some(pid) {
        return Ok("stopped");
    }
    let process = process.context("the daemon's process")?;
    let gone = |within: Duration| -> Result<bool> {
        let within = Timespec::try_from(within)?;
        Ok(poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&within))? > 0)
    };
    pidfd_send_signal(&process, Signal::TERM).context("the daemon could not be asked to end")?;
    if gone(END)? {
        return Ok("stopped");
    }
    pidfd_send_signal(&process, Signal::KILL).context("the daemon could not be ended")?;
    if !gone(KILLED)? {
        bail!("process {} does not end", pid.as_raw_nonzero());
    }
    Ok("killed")
}

/// Says whether a daemon runs, and how it is.
pub(crate) fn status(flags: &Flags, form: Form) -> Result<Exit, Problem> {
    let configured = wire::configured(flags)?;
    let place = Place::new(&configured.data_dir);
    let roots = Roots::new(&configured.surroundings, &configured.data_dir).list()?;
    let running = client::find(&place)?;
    let said = running.as_ref().map(|running| running.answer.as_ref());
    let port = running.as_ref().map_or(configured.settings.daemon_port, |it| it.state.port);
    let url = format!("http://127.0.0.1:{port}{}", http::PATH);
    let healthy = matches!(said, Some(Ok(_)));
    let text = match form {
        Form::Json => {
            let answer = said.and_then(Result::ok).cloned().unwrap_or_default();
            let error = said.and_then(Result::err).map(|error| format!("{error:#}"));
            let status = json!({
                "running": running.is_some(),
                "pid": running.as_ref().map(|running| running.state.pid),
                "port": port,
                "url": url,
                "version": answer["version"],
                "uptime_s": answer["uptime_s"],
                "messages": answer["messages"],
                "error": error,
                "token_file": place.token_file(),
                "log_file": place.log_file(),
                "roots": roots,
            });
            status.to_string() + "\n"
        }
        Form::Text => {
            let mut text = match (&running, said) {
                (Some(running), Some(Ok(answer))) => summary(running.state.pid, answer),
                (Some(running), Some(Err(error))) => {
                    format!("process {} does not answer: {error:#}", running.state.pid)
                }
                _ => "not running; start it with: quietcontext daemon start".to_owned(),
            };
            // A text in memory takes every line.
            let _written = write!(text, "\naddress  {url}");
            let _written = write!(text, "\ntoken    {}", place.token_file().display());
            let _written = write!(text, "\nlog      {}", place.log_file().display());
            for (number, root) in roots.iter().enumerate() {
                let name = if number == 0 { "roots" } else { "" };
                let _written = write!(text, "\n{name:<8} {}", root.display());
            }
            if roots.is_empty() {
                text.push_str(
                    "\nroots    none; register some with: quietcontext roots add DIRECTORY",
                );
            }
            text + "\n"
        }
    };
    terminal::print(&text)?;
    Ok(if healthy { Exit::Fine } else { Exit::Failed })
}

fn summary(pid: i32, answer: &Value) -> String {
    let version = answer["version"].as_str().unwrap_or("?");
    let seconds = answer["uptime_s"].as_u64().unwrap_or_default();
    let mut text = format!(
        "running as process {pid} for {}, version {version}, {} messages",
        span(seconds),
        answer["messages"]
    );
    let own = env!("CARGO_PKG_VERSION");
    if version != own {
        let _written = write!(text, " (this program is {own}; restart it)");
    }
    text
}

/// A duration in its largest unit.
fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Prints the last lines of the log, and with `follow` what comes.
pub(crate) fn logs(flags: &Flags, lines: usize, follow: bool) -> Result<Exit, Problem> {
    let configured = wire::configured(flags)?;
    let path = Place::new(&configured.data_dir).log_file();
    let mut file = match fs::File::open(&path) {
        Ok(file) => file,
        Err(error) => {
            return Err(anyhow!(error)
                .context(format!(
                    "{} (a daemon in the foreground logs on standard error)",
                    path.display()
                ))
                .into());
        }
    };
    let mut text =
        String::from_utf8_lossy(&fs::read(log::older(&path)).unwrap_or_default()).into_owned();
    text.push_str(&more(&mut file)?);
    let all: Vec<_> = text.lines().collect();
    let last = all.get(all.len().saturating_sub(lines)..).unwrap_or_default();
    for line in last {
        terminal::print_line(line)?;
    }
    if follow { follow_on(&path, file) } else { Ok(Exit::Fine) }
}

/// Prints what comes, until nobody reads it or a signal ends it.
fn follow_on(path: &Path, mut file: fs::File) -> Result<Exit, Problem> {
    loop {
        let text = more(&mut file)?;
        if !text.is_empty() {
            terminal::print(&text)?;
            continue;
        }
        sleep(FOLLOW);
        // Set aside and begun anew.
        if fs::metadata(path)?.ino() != file.metadata()?.ino() {
            terminal::print(&more(&mut file)?)?;
            file = fs::File::open(path)?;
        }
    }
}

fn more(file: &mut fs::File) -> Result<String> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_daemon_are_its_last_line() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        fs::write(&log, "old\nquietcontext: port 1 cannot be opened\n\n").unwrap();
        assert_eq!(last_words(&log, 4), "port 1 cannot be opened");
        assert_eq!(last_words(&log, 4000), "it said nothing");
        assert_eq!(last_words(&folder.path().join("none"), 0), "it said nothing");
    }
}
