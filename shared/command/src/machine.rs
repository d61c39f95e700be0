//! This machine: its memory, the memory that this process may use and does use, and its processors.

use bytesize::ByteSize;
use procfs::process::Process;
use procfs::{CpuInfo, Current, Meminfo};
use std::fs;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The mount point of cgroups of version 2, and the file with the limit of each.
const CGROUPS: (&str, &str) = ("/sys/fs/cgroup", "memory.max");
/// The same for cgroups of version 1.
const CGROUPS_1: (&str, &str) = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes");

/// The bytes of memory that are assumed if the system does not report them.
const UNKNOWN: u64 = 4 << 30;

/// Returns the bytes of memory that this process may use: those of the machine, or the smallest limit among
/// its cgroups. All calls return the result of the first one.
pub fn available_bytes() -> u64 {
    static BYTES: LazyLock<u64> = LazyLock::new(|| {
        let machine = Meminfo::current().map_or(UNKNOWN, |info| info.mem_total);
        limiting_group().map_or(machine, |(limit, _)| limit.min(machine))
    });
    *BYTES
}

/// Counts the processes with a name that share the memory that this process may use: on this machine, or in
/// the cgroup with the smallest limit. This process is one of them.
pub fn sharers(name: &str) -> usize {
    let group = limiting_group().map(|(_, group)| Path::new("/").join(group));
    let draws = |process: &Process| {
        let groups = || process.cgroups().map(|groups| groups.0).unwrap_or_default();
        let is_in = |group: &PathBuf| groups().iter().any(|of| Path::new(&of.pathname).starts_with(group));
        process.stat().is_ok_and(|stat| stat.comm == name) && group.as_ref().is_none_or(is_in)
    };
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    let own = std::process::id() as i32;
    1 + all.filter(|process| process.pid != own && draws(process)).count()
}

/// Returns the smallest memory limit among the cgroups of this process, and the cgroup that has this limit.
fn limiting_group() -> Option<(u64, PathBuf)> {
    let groups = Process::myself().ok()?.cgroups().ok()?;
    let limits = groups.0.into_iter().filter_map(|group| {
        let (mount, limit) = match group.controllers.iter().any(|controller| controller == "memory") {
            true => CGROUPS_1,
            false if group.hierarchy == 0 => CGROUPS,
            false => return None,
        };
        let mine = Path::new(&group.pathname).strip_prefix("/").ok()?.to_owned();
        let limits = mine.ancestors().filter_map(|group| {
            let text = fs::read_to_string(Path::new(mount).join(group).join(limit)).ok()?;
            Some((text.trim().parse().ok()?, group.to_owned()))
        });
        limits.min()
    });
    limits.min()
}

/// Returns the bytes of private memory of this process: without mapped files, and without the page cache.
pub fn anonymous_bytes() -> Option<u64> {
    let pages = Process::myself().ok()?.statm().ok()?;
    Some(pages.resident.saturating_sub(pages.shared) * rustix::param::page_size() as u64)
}

/// Returns the bytes that this process has read from disks and written to them, also through mapped files.
pub fn disk_bytes() -> Option<[u64; 2]> {
    let io = Process::myself().ok()?.io().ok()?;
    Some([io.read_bytes, io.write_bytes.saturating_sub(io.cancelled_write_bytes)])
}

/// Returns the seconds of processor time that this process has used.
pub fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Returns the seconds of processor time of all processes that this one has started and waited for, in steps
/// of the system's clock, which are 10 ms on most systems.
pub fn processor_seconds_of_children() -> f64 {
    let ticks =
        Process::myself().and_then(|process| process.stat()).map_or(0, |stat| stat.cutime + stat.cstime);
    ticks as f64 / procfs::ticks_per_second() as f64
}

/// Returns the name of the processor, if the system knows it.
pub fn processor() -> Option<String> {
    CpuInfo::current().ok()?.model_name(0).map(str::to_owned)
}

/// Returns the addresses at which processes of this network namespace listen by TCP; `None` if the system does not say.
pub fn listening() -> Option<Vec<SocketAddr>> {
    let entries = procfs::net::tcp().ok()?.into_iter().chain(procfs::net::tcp6().unwrap_or_default());
    let listens = entries.filter(|entry| entry.state == procfs::net::TcpState::Listen);
    Some(listens.map(|entry| entry.local_address).collect())
}

/// Returns the number of file descriptors that this process may have.
pub fn descriptor_limit() -> u64 {
    // `None` means that there is no limit.
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Returns the largest size of the stack of this process's first thread, in bytes.
pub fn stack_limit() -> u64 {
    // `None` means that there is no limit.
    rustix::process::getrlimit(rustix::process::Resource::Stack).current.unwrap_or(u64::MAX)
}

/// Raises the limit of this process on file descriptors to its hard limit.
///
/// # Errors
/// If the operating system refuses the new limit.
pub fn raise_descriptor_limit() -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?)
}

/// Asks the system to kill this process as soon as `parent`, the process that started it, ends.
///
/// # Errors
/// If that process has ended already, or the operating system refuses.
pub fn end_with(parent: u32) -> std::io::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    match getppid() {
        Some(found) if found.as_raw_pid().cast_unsigned() == parent => Ok(()),
        _ => Err(std::io::Error::other(format!("the process {parent} has ended"))),
    }
}

/// Returns the number of processors that this process may use.
pub fn processors() -> usize {
    static COUNT: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));
    *COUNT
}

/// Reads a size such as `8GiB`, in bytes.
///
/// # Errors
/// A message for the user, if the text is not a size.
pub fn size(text: &str) -> Result<u64, String> {
    let size = text.parse::<ByteSize>();
    size.map(|size| size.as_u64())
        .map_err(|_| format!("{text:?} is not a size. Give a number and a unit, such as 8GiB"))
}

/// Returns the bytes of memory to use: the requested number, limited to the available memory; nine tenths of
/// the available memory by default. The rest is for the system, and for data on its way to the disk.
pub fn memory_bytes(asked: Option<u64>) -> u64 {
    let available = available_bytes();
    asked.map_or(available / 10 * 9, |asked| asked.min(available))
}

/// Returns the name of this host.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
