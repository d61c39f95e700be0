#!/usr/bin/env python3
"""Computes a run depth by depth as tasks of HyperQueue, without a coordinator.

    fathom run 3x5 --shards 64 --max-depth 0 --dir DIR    # starts the run
    depths.py DIR [--tasks 16] [--threads 4]              # computes the remaining depths, also after a failure

DIR is on a file system that all nodes share. Each depth is a job of HyperQueue: its tasks make the shards of the layer,
and this script merges them. `fathom` and `fathom-worker` must be on the path of the workers of HyperQueue; the server is
the one of `hq`, or that of --server. Needs the Python package `hyperqueue`.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tomllib

from hyperqueue import Client, Job
from hyperqueue.ffi.protocol import ResourceRequest

ATTEMPTS = 4
"""How often a depth is tried in a row without a new shard."""


def next_depth(run: pathlib.Path) -> int | None:
    """Returns the depth that comes next; `None` if the run is complete."""
    status = subprocess.run(["fathom", "status", run, "--json"], check=True, capture_output=True).stdout
    status = json.loads(status)
    return None if status["complete"] else len(status["counts"])


def made(run: pathlib.Path, depth: int) -> set[int]:
    """Returns the shards of a layer that are finished."""
    files = (run / "layers" / f"d{depth:03}").glob("s*.layer")
    return {int(file.stem[1:]) for file in files}


def compute(client: Client, run: pathlib.Path, depth: int, shards: list[int], tasks: int, threads: int) -> None:
    """Makes shards of a depth. Neighbouring shards, which are of similar size, go to different tasks."""
    # A task that fails does not end the others.
    job = Job(name=f"fathom-d{depth:03}", max_fails=None)
    for mine in (shards[task::tasks] for task in range(min(tasks, len(shards)))):
        command = ["fathom-worker", "task", "--run", str(run), "--depth", str(depth), "--threads", str(threads)]
        job.program(
            [*command, "--shards", ",".join(map(str, mine))],
            resources=ResourceRequest(cpus=threads),
            stdout=None,
            stderr=f"{run}.hyperqueue/d{depth:03}-%{{TASK_ID}}.log",
        )
    client.wait_for_jobs([client.submit(job)], raise_on_error=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--tasks", type=int, default=16, help="tasks of a depth")
    parser.add_argument("--threads", type=int, default=4, help="processors of a task")
    parser.add_argument("--server", type=pathlib.Path, help="the server's directory, if it is not that of hq")
    arguments = parser.parse_args()
    run = arguments.run.resolve()
    shards = tomllib.loads((run / "run.toml").read_text())["shards"]
    pathlib.Path(f"{run}.hyperqueue").mkdir(exist_ok=True)
    client = Client(arguments.server)
    while (depth := next_depth(run)) is not None:
        fruitless = 0
        while missing := sorted(set(range(shards)) - (before := made(run, depth))):
            compute(client, run, depth, missing, arguments.tasks, arguments.threads)
            fruitless = 0 if made(run, depth) - before else fruitless + 1
            if fruitless == ATTEMPTS:
                print(f"depth {depth}: {ATTEMPTS} attempts made no shard; see {run}.hyperqueue", file=sys.stderr)
                return 1
        merge = ["fathom", "merge", run, "--depth", str(depth)]
        merged = subprocess.run(merge, check=False, stdout=subprocess.DEVNULL)
        if merged.returncode:
            return merged.returncode
    return subprocess.run(["fathom", "status", run], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
