"""Runs on engines: with a worker killed in the middle, the digest is that of an undisturbed run."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import fathom_search as fathom

DEPLOY = pathlib.Path(__file__).parents[1]
SPACE = ["2x7", "--max-depth", "10"]


@pytest.fixture(scope="module")
def digest():
    return fathom.run("2x7", max_depth=10).digest


def status(run):
    told = subprocess.run(["fathom", "status", run, "--json"], check=True, capture_output=True)
    return json.loads(told.stdout)


def until(what, is_so, seconds=300):
    for _ in range(10 * seconds):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError(f"never: {what}")


def depth_begins(run, depth):
    return any((pathlib.Path(run) / "layers" / f"d{depth:03}").glob("*"))


def when_depth_begins(run, depth, act):
    """Acts in another thread as soon as a depth has begun."""

    def wait():
        until("the depth begins", lambda: depth_begins(run, depth))
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def kill(pattern):
    assert subprocess.run(["pkill", "-KILL", "-f", pattern], check=False).returncode == 0, pattern


def test_dask(tmp_path, digest):
    import distributed

    run = tmp_path / "run"
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        processes = list(client.run(os.getpid).values())
        killing = when_depth_begins(run, 9, lambda: os.kill(processes[0], signal.SIGKILL))
        options = ["--max-depth", "10", "--lease", "3s"]
        result = fathom.cluster(client, "2x7", directory=run, options=options)
        killing.join()
        assert result.digest == digest
        assert any("states" in line for _, line in client.get_events("fathom"))
        with pytest.raises(ValueError, match="unknown puzzle"):
            fathom.cluster(client, "nonsense", directory=tmp_path / "other")
        with pytest.raises(RuntimeError, match="unexpected argument"):
            fathom.cluster(client, "3x4", directory=tmp_path / "third", worker_options=["--nonsense"])
    assert not (tmp_path / "other").exists()


@pytest.fixture
def queue():
    from hyperqueue import LocalCluster
    from hyperqueue.cluster import WorkerConfig

    with LocalCluster() as local:
        local.start_worker(WorkerConfig(cores=3))
        yield local


def test_hyperqueue_depth_by_depth(tmp_path, digest, queue):
    run = tmp_path / "run"
    begin = ["fathom", "run", "2x7", "--shards", "6", "--max-depth", "0", "--dir", run, "--quiet"]
    subprocess.run(begin, check=True, stdout=subprocess.DEVNULL)
    killing = when_depth_begins(run, 9, lambda: kill(f"fathom-worker task --run {run}"))
    script = [sys.executable, DEPLOY / "hyperqueue" / "depths.py", run, "--tasks", "3", "--threads", "1"]
    script += ["--server", queue.cluster.server_dir]
    with subprocess.Popen(script, stdout=subprocess.DEVNULL) as going:
        until("depth 10 is merged", lambda: len(status(run)["counts"]) > 10)
        going.kill()
    killing.join()
    # Tasks of the next depth may still be at work.
    counts = status(run)["counts"]
    assert counts[:11] == fathom.run("2x7", max_depth=10).counts


def test_hyperqueue_workers(tmp_path, digest, queue):
    from hyperqueue import Job

    run, join = tmp_path / "run", tmp_path / "join"
    serve = ["fathom", "serve", *SPACE, "--dir", run, "--shared-store", run, "--lease", "3s", "--quiet"]
    serve += ["--listen", "127.0.0.1:0", "--join-file", join]
    job = Job(max_fails=None)
    for number in range(3):
        worker = [
            "fathom-worker",
            "--join-file",
            str(join),
            "--store",
            str(tmp_path / f"store-{number}"),
            "--threads",
            "1",
        ]
        job.program([*worker, "--name", f"worker-{number}"], stdout=None, stderr=None)
    client = queue.client()
    submitted = client.submit(job)
    with subprocess.Popen(serve, stdout=subprocess.DEVNULL) as coordinator:
        until("the depth begins", lambda: depth_begins(run, 9))
        kill(f"fathom-worker --join-file {join} --store {tmp_path}/store-1")
        assert coordinator.wait(300) == 0
    client.wait_for_jobs([submitted], raise_on_error=False)
    assert status(run)["digest"] == digest


def batch_job(tmp_path, script, environment, requeue):
    """Runs a job's script as a batch system would: it is signalled in the middle. Returns its exit code."""
    commands = tmp_path / "bin"
    commands.mkdir()
    if requeue:
        (commands / requeue).write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/requeued\n')
        (commands / requeue).chmod(0o755)
    directory = tmp_path / "cluster"
    subprocess.run(["fathom", "keys", directory / "keys"], check=True, stdout=subprocess.DEVNULL)
    run, join = directory / "run", directory / "join"
    serve = ["fathom", "serve", *SPACE, "--dir", run, "--shared-store", run, "--keys", directory / "keys", "--quiet"]
    serve += ["--listen", "127.0.0.1:0", "--join-file", join]
    path = f"{commands}:{os.environ['PATH']}"
    job = ["bash", DEPLOY / script]
    environment = {**os.environ, **environment, "PATH": path, "DIR": str(directory)}
    with subprocess.Popen(serve, stdout=subprocess.DEVNULL) as coordinator:
        with subprocess.Popen(job, env=environment) as first:
            until("the depth begins", lambda: depth_begins(run, 8))
            first.terminate()
            code = first.wait(60)
        assert subprocess.run(job, env=environment, check=False).returncode == 0
        assert coordinator.wait(60) == 0
    return code, status(run)["digest"]


def test_pbs(tmp_path, digest):
    environment = {"PBS_JOBID": "12.server", "NCPUS": "2"}
    assert batch_job(tmp_path, "pbs/worker.pbs", environment, "qrerun") == (75, digest)
    assert (tmp_path / "requeued").read_text() == "12.server\n"


def test_lsf(tmp_path, digest):
    environment = {"LSB_JOBID": "12", "LSB_JOBINDEX": "1", "LSB_DJOB_NUMPROC": "2"}
    assert batch_job(tmp_path, "lsf/worker.lsf", environment, None) == (75, digest)


def test_gnu_parallel(tmp_path, digest):
    run = tmp_path / "run"
    begin = ["fathom", "run", "2x7", "--shards", "6", "--max-depth", "0", "--dir", run, "--quiet"]
    subprocess.run(begin, check=True, stdout=subprocess.DEVNULL)
    script = ["bash", DEPLOY / "parallel.sh", run, "--jobs", "3"]
    subprocess.run(script, check=True, env={**os.environ, "TO": "10"}, stdout=subprocess.DEVNULL)
    assert status(run)["counts"] == fathom.run("2x7", max_depth=10).counts
