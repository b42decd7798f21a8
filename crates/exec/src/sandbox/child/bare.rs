//! A program without a box, where the user chose so: this process is its supervisor all the same,
//! and the reaper of all it leaves behind.

use rustix::process::{
    DumpableBehavior, Pid, Signal, getpid, getppid, set_dumpable_behavior,
    set_parent_process_death_signal, setpgid,
};

use super::super::report::{Failure, InStep as _, Message, Step};
use super::reaper::Reaper;
use super::{Order, descriptors, namespaces, program};

/// Runs the program as this user, with all that this user may do.
pub(super) fn supervise(order: &Order<'_>) -> Result<(), Failure> {
    let reaper = Reaper::new()?;
    // What is in this memory is nobody's to read.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).step(Step::Supervise, "dumpable")?;
    let supervisor = getpid();
    let mut failed = None;
    let main = namespaces::spawn(|| failed = become_program(order, supervisor).err())
        .step(Step::Init, "")?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    let ended = reaper.watch(order, main)?;
    order.channel.tell(&Message::Ended(ended), &[]);
    Ok(())
}

/// Becomes the program, or says why not.
fn become_program(order: &Order<'_>, supervisor: Pid) -> Result<(), Failure> {
    // A group of its own: a program that signals its group must not reach the supervisor. Not a
    // session of its own: a session leader could still acquire a terminal.
    setpgid(None, None).step(Step::Init, "group")?;
    set_parent_process_death_signal(Some(Signal::KILL)).step(Step::ParentDeathSignal, "")?;
    if getppid() != Some(supervisor) {
        return Err(Failure::plain(Step::ParentDeathSignal, "the supervisor is gone"));
    }
    let specification = &order.specification;
    let cwd = &specification.profile.cwd;
    rustix::process::chdir(cwd).step(Step::WorkingDirectory, &cwd.display().to_string())?;
    descriptors::close_from_on_exec(3).step(Step::Descriptors, "")?;
    Err(program::execute(specification, &[]))
}
