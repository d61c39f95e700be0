"""Runs on the nodes of a Dask or Ray cluster."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._result import Result

if TYPE_CHECKING:
    import distributed

Keys = dict[str, bytes]
"""The files that a worker needs to be accepted."""

POLL_SECONDS = 1.0


def cluster(
    client: distributed.Client | Any,
    puzzle: str | os.PathLike[str],
    metric: str | None = None,
    *,
    directory: str | os.PathLike[str],
    options: Iterable[str] = (),
    worker_options: Iterable[str] = (),
    store: str | os.PathLike[str] | None = None,
    host: str | None = None,
    progress: bool | None = None,
) -> Result:
    """Searches a puzzle on all nodes of a Dask or Ray cluster, and returns the result.

    ``client`` is a ``distributed.Client``, or the module ``ray`` after ``ray.init``. The coordinator is a process on
    this host, with the run in ``directory``; a run that is there is continued. On each node a task starts
    ``fathom-worker``, with as many threads as the node offers, and ends with the run. Nodes that join later, or return
    after a failure, get workers too. The programs ``fathom`` and ``fathom-worker`` must be installed on all nodes; this
    package's wheels include them.

    ``options`` are further options of ``fathom serve``, such as ``["--keep", "all"]``, and ``worker_options`` of
    ``fathom-worker``. Layers are in ``directory``, which all nodes must be able to access at the same path. If they
    share no disk, ``store`` is a directory on each node for its layers: then a node that fails must come back with
    them. ``host`` is the name of this host as nodes reach it. Nodes are sent new keys, so only they can join.

    Raises ``ValueError`` if ``fathom serve`` refuses the arguments, and ``RuntimeError`` if the run fails or a worker
    refuses to start. Ctrl-C stops the run cleanly; the same call continues it.
    """
    engine = _Ray(client) if getattr(client, "__name__", None) == "ray" else _Dask(client)
    host = host or engine.host()
    shows = sys.stderr.isatty() if progress is None and sys.stderr else bool(progress)
    with tempfile.TemporaryDirectory(prefix="fathom-") as temporary:
        keys, join = os.path.join(temporary, "keys"), os.path.join(temporary, "join")
        subprocess.run([_program("fathom"), "keys", keys], check=True, stdout=subprocess.DEVNULL)
        sent = {name: pathlib.Path(keys, name).read_bytes() for name in ("token", "cert.pem", "key.pem", "ca.pem")}
        listen = "127.0.0.1:0" if host.startswith("127.") else "0.0.0.0:0"
        arguments = [_program("fathom"), "serve", os.fspath(puzzle), "--dir", os.fspath(directory), "--keys", keys]
        arguments += ["--listen", listen, "--advertise", host, "--join-file", join, "--json", "--quiet", *options]
        arguments += ["--metric", metric] if metric else []
        arguments += ["--shared-store", os.fspath(directory)] if store is None else []
        with open(os.path.join(temporary, "messages"), "w+b") as messages:
            # A session of its own, so that Ctrl-C reaches only this process.
            coordinator = subprocess.Popen(
                arguments, stdout=subprocess.DEVNULL, stderr=messages, start_new_session=True
            )
            try:
                _until_over(engine, coordinator, join, sent, (store, list(worker_options)), directory, shows)
            finally:
                if coordinator.poll() is None:
                    subprocess.run([_program("fathom"), "stop", _address(join) or "", "--keys", keys], check=False)
                    _ended(coordinator)
                engine.end()
            messages.seek(0)
            said = messages.read().decode(errors="replace").strip()
        if coordinator.returncode:
            raise (ValueError if coordinator.returncode == 2 else RuntimeError)(said.removeprefix("error: "))
    return Result(directory)


def _until_over(
    engine: _Dask | _Ray,
    coordinator: subprocess.Popen[bytes],
    join: str,
    keys: Keys,
    worker: tuple[str | os.PathLike[str] | None, list[str]],
    directory: str | os.PathLike[str],
    shows: bool,
) -> None:
    """Starts workers on nodes until the coordinator ends."""
    shown = ""
    while coordinator.poll() is None:
        if address := _address(join):
            engine.start_workers(address, keys, *worker)
            told = subprocess.run(
                [_program("fathom"), "status", os.fspath(directory), "--json"], capture_output=True, check=False
            )
            if told.returncode == 0 and (counts := json.loads(told.stdout).get("counts")):
                line = f"depth {len(counts) - 1}: {sum(counts):,} states"
                if line != shown:
                    shown = line
                    engine.tell(line)
                    if shows:
                        print(line, file=sys.stderr, flush=True)
        time.sleep(POLL_SECONDS)


def _ended(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _address(join: str) -> str | None:
    """Returns the address in a join file."""
    try:
        lines = pathlib.Path(join).read_text().splitlines()
    except OSError:
        return None
    values = [line.partition(" = ")[2].strip('"') for line in lines if line.startswith("address = ")]
    return values[0] if values else None


def _program(name: str) -> str:
    """Returns the path of a program: beside this interpreter, where wheels install it, or on the path."""
    beside = os.path.join(os.path.dirname(sys.executable), name)
    found = beside if os.path.exists(beside) else shutil.which(name)
    if found is None:
        raise RuntimeError(f"{name} is not installed on {socket.gethostname()}: it must be on the path")
    return found


def work(
    address: str,
    keys: Keys,
    store: str | os.PathLike[str] | None,
    options: list[str],
    threads: int,
    host: str | None,
) -> bool:
    """Works for the coordinator at an address, and returns whether the run has ended.

    Raises ``RuntimeError`` if the worker refuses to start.
    """
    with tempfile.TemporaryDirectory(prefix="fathom-") as temporary:
        for name, content in keys.items():
            path = pathlib.Path(temporary, name)
            path.touch(0o600)
            path.write_bytes(content)
        listen = "127.0.0.1:0" if address.startswith("127.") else "0.0.0.0:0"
        layers = os.fspath(store) if store is not None else os.path.join(temporary, "store")
        command = [_program("fathom-worker"), "--join", address, "--store", layers, "--keys", temporary]
        command += ["--listen", listen, "--threads", str(threads), "--patience", "2min", "--quiet"]
        command += ["--name", f"{socket.gethostname()}-{os.getpid()}", "--child-of", str(os.getpid())]
        command += ["--advertise", host] if host and not host.startswith("127.") else []
        ended = subprocess.run(
            [*command, *options], check=False, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if ended.returncode == 2:
            raise RuntimeError(ended.stderr.strip())
        return ended.returncode == 0


def _host_to(address: str) -> str:
    """Returns the address of this host from which another one is reached."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))
        return probe.getsockname()[0]


class _Dask:
    """Tasks on the workers of a Dask cluster, one each."""

    def __init__(self, client: distributed.Client) -> None:
        self.client = client
        self.tasks: dict[str, distributed.Future] = {}

    def host(self) -> str:
        return _host_to(self.client.scheduler.address.rpartition("://")[2].rpartition(":")[0].strip("[]"))

    def start_workers(self, address: str, keys: Keys, store: str | os.PathLike[str] | None, options: list[str]) -> None:
        nodes = self.client.scheduler_info(n_workers=-1)["workers"]
        for node, info in nodes.items():
            task = self.tasks.get(node)
            # The result is whether the run has ended; a worker that refuses to start raises.
            if task is not None and (not task.done() or (task.status != "lost" and task.result())):
                continue
            where = store and os.path.join(store, str(info["name"]))
            threads = int(info["nthreads"])
            self.tasks[node] = self.client.submit(
                work, address, keys, where, options, threads, info.get("host"), workers=[node], pure=False, retries=0
            )
        # Tasks of nodes that are gone would wait for them.
        for node in [node for node in self.tasks if node not in nodes]:
            self.tasks.pop(node).cancel()

    def tell(self, line: str) -> None:
        self.client.log_event("fathom", line)

    def end(self) -> None:
        """Waits until the workers have ended with the run."""
        from distributed import wait

        tasks = list(self.tasks.values())
        if tasks:
            wait(tasks, timeout=60)


class _Ray:
    """Tasks on the nodes of a Ray cluster, one each."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.tasks: dict[str, Any] = {}

    def host(self) -> str:
        return self.ray.util.get_node_ip_address()

    def start_workers(self, address: str, keys: Keys, store: str | os.PathLike[str] | None, options: list[str]) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        for node in self.ray.nodes():
            number, processors = node["NodeID"], int(node["Resources"].get("CPU", 0))
            if not node["Alive"] or processors == 0:
                continue
            task = self.tasks.get(number)
            if task is not None and (not self.ray.wait([task], timeout=0)[0] or self.has_ended(task)):
                continue
            where = store and os.path.join(store, number)
            remote = self.ray.remote(work).options(
                num_cpus=processors,
                max_retries=0,
                name="fathom-worker",
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=number, soft=False),
            )
            self.tasks[number] = remote.remote(address, keys, where, options, processors, node["NodeManagerAddress"])

    def has_ended(self, task: Any) -> bool:
        """Returns whether a task saw the end of the run. Raises what it raised, but not that its node has failed."""
        try:
            return self.ray.get(task)
        except self.ray.exceptions.RayTaskError:
            raise
        except self.ray.exceptions.RayError:
            return False

    def tell(self, line: str) -> None:
        """Ray's dashboard shows the tasks by their name, and no events of applications."""

    def end(self) -> None:
        """Waits until the workers have ended with the run."""
        tasks = list(self.tasks.values())
        if tasks:
            self.ray.wait(tasks, num_returns=len(tasks), timeout=60)
