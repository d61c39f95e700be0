//! A real Slurm on this machine: a controller, one node, and munged, which checks credentials, all in a
//! temporary directory.

use crate::process::free_port;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time limit for every wait of a test. No test depends on how long something takes.
const PATIENCE: Duration = Duration::from_secs(300);

/// A running Slurm. When the value is dropped, its jobs are cancelled and its daemons exit.
#[derive(Debug)]
pub struct Slurm {
    directory: tempfile::TempDir,
    /// The daemons, in the order in which they were started.
    daemons: Vec<Child>,
}

impl Slurm {
    /// Starts Slurm. Returns `None` if Slurm is not available on this machine; panics instead if
    /// `FATHOM_TEST_ALL` is set.
    ///
    /// # Panics
    /// If Slurm is installed but does not start.
    pub fn start() -> Option<Self> {
        let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
        let programs =
            ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "setpriv"];
        let lacking = programs.iter().find(|name| !has(name));
        if let Some(lacks) =
            lacking.map(|name| format!("there is no {name}")).or((!root).then(|| "not root".into()))
        {
            assert!(std::env::var_os("FATHOM_TEST_ALL").is_none(), "Slurm cannot be started here: {lacks}");
            eprintln!("skipped: Slurm cannot be started here: {lacks}");
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut slurm = Self { directory, daemons: Vec::new() };
        slurm.configure();
        let path = slurm.path().display().to_string();
        let munge = ["key-file", "socket", "pid-file", "log-file", "seed-file"];
        let munge = munge.map(|option| format!("--{option}={path}/munge.{option}"));
        slurm.daemon("munged", munge.iter().map(String::as_str).chain(["--foreground", "--force"]));
        slurm.until("munged answers", || slurm.path().join("munge.socket").exists());
        let conf = format!("{path}/slurm.conf");
        slurm.daemon("slurmctld", ["-D", "-f", &conf]);
        slurm.until("slurmctld answers", || slurm.command("scontrol").arg("ping").output().is_ok_and(well));
        slurm.daemon("slurmd", ["-D", "-f", &conf]);
        slurm.until("the node is idle", || slurm.ask("sinfo", &["--noheader", "--format=%T"]) == "idle");
        Some(slurm)
    }

    fn configure(&self) {
        let path = self.path();
        let random = fs::File::open("/dev/urandom").and_then(|file| {
            let mut key = vec![0; 1024];
            std::io::Read::read_exact(&mut &file, &mut key).map(|()| key)
        });
        let key = path.join("munge.key-file");
        fs::write(&key, random.expect("random bytes")).expect("a key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).expect("a private key");
        for name in ["state", "spool"] {
            fs::create_dir(path.join(name)).expect("a directory");
        }
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a host name");
        let host = host.trim().split('.').next().unwrap_or_default();
        let [controller, node] = [(); 2].map(|()| free_port());
        // The port of a coordinator depends on the number of its job, and tests share this host.
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let first_job = (std::process::id() + STARTED.fetch_add(1, Ordering::Relaxed)) % 625 * 16 + 1;
        let (processors, path) =
            (std::thread::available_parallelism().map_or(1, usize::from), path.display());
        let text = format!(
            "ClusterName=fathom
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
FirstJobId={first_job}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A job that was requeued waits until what it was told before has expired: two minutes, unless this says less.
AuthInfo=socket={path}/munge.socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
# Slurm looks for jobs that can start each second, not each minute.
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
ReturnToService=2
KillWait=5
StateSaveLocation={path}/state
SlurmdSpoolDir={path}/spool
SlurmctldPidFile={path}/slurmctld.pid
SlurmdPidFile={path}/slurmd.pid
SlurmctldLogFile={path}/slurmctld.log
SlurmdLogFile={path}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8 MaxTime=INFINITE State=UP
"
        );
        fs::write(self.path().join("slurm.conf"), text).expect("slurm.conf");
    }

    fn daemon<'a>(&mut self, name: &str, arguments: impl IntoIterator<Item = &'a str>) {
        // The daemon exits with these tests, however they end.
        let mut command = self.command("setpriv");
        command.args(["--pdeathsig", "TERM", name]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().unwrap_or_else(|error| panic!("{name} starts: {error}")));
    }

    /// Returns a directory that exists as long as this Slurm.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns a command that talks to this Slurm and has the commands of Fathom on its path.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut paths: Vec<PathBuf> = [crate::fathom(), crate::fathom_worker()]
            .iter()
            .filter_map(|command| Path::new(command.get_program()).parent().map(Path::to_owned))
            .collect();
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut command = Command::new(program.as_ref());
        command.env("PATH", std::env::join_paths(paths).expect("paths without colons"));
        command.env("SLURM_CONF", self.path().join("slurm.conf"));
        command
    }

    /// Returns the path of a script of `deploy/slurm`.
    pub fn script(&self, name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/slurm").join(name)
    }

    /// Runs a command of Slurm, and returns what it prints without the trailing newline.
    ///
    /// # Panics
    /// If the command fails.
    pub fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output().expect("Slurm's commands run");
        let (out, err) = crate::texts(&output);
        assert!(output.status.success(), "{program} {arguments:?}: {err}");
        out.trim_end().into()
    }

    /// Returns the number and the name of each job in the queue, with one entry for each array element.
    pub fn jobs(&self, states: &str) -> Vec<(String, String)> {
        let said = self.ask("squeue", &["--noheader", "--array", "--states", states, "--format=%i %j"]);
        said.lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(id, name)| (id.into(), name.trim().into()))
            .collect()
    }

    /// Waits until a condition holds.
    ///
    /// # Panics
    /// If the condition does not hold within `PATIENCE`; the message has the logs of Slurm.
    pub fn until(&self, what: &str, so: impl Fn() -> bool) {
        let begun = Instant::now();
        loop {
            let looked = Instant::now();
            if so() {
                return;
            }
            if begun.elapsed() > PATIENCE {
                let queue = self.command("squeue").output().map(|queue| crate::texts(&queue).0);
                panic!("not in {PATIENCE:?}: {what}\n{}\n{}", queue.unwrap_or_default(), self.logs());
            }
            // Slurm's commands take a while: the jobs get nine tenths of the time.
            sleep((9 * looked.elapsed()).max(Duration::from_millis(10)));
        }
    }
}

impl Slurm {
    /// Returns the last lines of all logs in the directory, of both daemons and jobs.
    fn logs(&self) -> String {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten().map(|entry| entry.path());
        let logs = entries.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        let tail = |path: PathBuf| {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("{}:\n{}\n", path.display(), lines[lines.len().saturating_sub(20)..].join("\n"))
        };
        logs.map(tail).collect()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        if self.daemons.len() == 3 {
            // Nothing here may panic, because a test that failed is panicking already.
            let _ = self.command("scancel").args(["--user=root", "--full"]).output();
            let begun = Instant::now();
            let left = || {
                self.command("squeue").arg("--noheader").output().is_ok_and(|left| !left.stdout.is_empty())
            };
            while left() && begun.elapsed() < Duration::from_secs(30) {
                sleep(Duration::from_millis(100));
            }
        }
        for daemon in self.daemons.iter_mut().rev() {
            let _ = Command::new("kill").arg(daemon.id().to_string()).status();
            let begun = Instant::now();
            while matches!(daemon.try_wait(), Ok(None)) && begun.elapsed() < Duration::from_secs(10) {
                sleep(Duration::from_millis(20));
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn well(output: Output) -> bool {
    output.status.success()
}

fn has(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|path| path.join(program).is_file())
}
