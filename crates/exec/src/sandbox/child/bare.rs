//! A program without a box, where the user chose so: this process is its supervisor all the same,
//! and the reaper of all it leaves behind.

use rustix::process::{
    DumpableBehavior, Pid, Signal, getpid, getppid, set_dumpable_behavior,
    set_parent_process_death_signal, setpgid,
};

use super::super::report::{Ended, Failure, InStep as _, Message, Step};
use super::reaper::{Reaper, is_alone};
use super::{Next, Order, descriptors, namespaces, program};

/// Runs the program as this user, with all that this user may do. Where nothing is left of it, this
/// process takes another order: making a supervisor takes longer than a small program does.
pub(super) fn supervise(order: &Order<'_>) -> Result<Next, Failure> {
    let image = program::Image::new(&order.specification, &[])?;
    let reaper = Reaper::new()?;
    // What is in this memory is nobody's to read.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).step(Step::Supervise, "dumpable")?;
    let supervisor = getpid();
    let mut failed = None;
    let main = namespaces::spawn(|| failed = become_program(order, &image, supervisor).err())
        .step(Step::Init, "")?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    let ended = reaper.watch(order, main)?;
    let free = !ended.stopped && is_alone();
    order.channel.tell(&Message::Ended(Ended { free, ..ended }), &[]);
    Ok(if free { Next::Order } else { Next::End })
}

/// Becomes the program, or says why not. In the supervisor's memory: what it took there and became
/// the program with would stay taken.
fn become_program(
    order: &Order<'_>,
    image: &program::Image,
    supervisor: Pid,
) -> Result<(), Failure> {
    // A group of its own: a program that signals its group must not reach the supervisor. Not a
    // session of its own: a session leader could still acquire a terminal.
    setpgid(None, None).step(Step::Init, "group")?;
    set_parent_process_death_signal(Some(Signal::KILL)).step(Step::ParentDeathSignal, "")?;
    if getppid() != Some(supervisor) {
        return Err(Failure::plain(Step::ParentDeathSignal, "the supervisor is gone"));
    }
    let cwd = &order.specification.profile.cwd;
    rustix::process::chdir(cwd).step(Step::WorkingDirectory, &cwd.display().to_string())?;
    descriptors::close_from_on_exec(3).step(Step::Descriptors, "")?;
    Err(image.execute())
}
