#!/usr/bin/env python3
"""Makes small runs with the given fathom, checks them, plants faults, and sees that each is found: test.py FATHOM"""
import ctypes
import json
import sqlite3
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import numpy as np

import check
from blake3_numpy import blake3, derived

EXAMPLES = HERE.parents[1] / "docs/examples"
STICKERS = """F := (1,2,4,3)(7,15,13,11)(8,17,12,10); R := (15,16,18,17)(2,6,21,13)(4,8,19,14);
U := (5,6,8,7)(1,9,19,15)(2,10,20,16);
"""
COLOURS = "ip := [[5, 6, 7, 8]];\n"
# A run, and the last line but one that its check must print.
COMPLETE, UNFINISHED, CHECKED = "proven: no move leads out", "unfinished: moves lead on", "checked: no move leads out"
RUNS = {
    "halved axis": (["3x3", "--keep", "all", "--shards", "3"], COMPLETE),
    "labels": (["3x3", "--track", "0-2", "--metric", "single", "--keep", "all"], COMPLETE),
    "two layers": (["2x4"], CHECKED),
    "orientations": (["burnt-pancake:5", "--keep", "all"], COMPLETE),
    "guards": ([str(EXAMPLES / "bandaged.toml"), "--keep", "all"], COMPLETE),
    "limits": ([str(EXAMPLES / "limited.toml"), "--keep", "all"], COMPLETE),
    "excluded pieces": ([str(EXAMPLES / "small-cut.tws"), "--keep", "all"], COMPLETE),
    "one way": (["lx:6"], COMPLETE),
    "reachable axes, orientations as positions": (["pyraminx", "--keep", "all"], COMPLETE),
    "rotations": (["2x2x2", "--free-rotations", "--ignore-orientation", "corners", "--keep", "all"], COMPLETE),
    "stickers": (["STICKERS", "--metric", "multi", "--moves", "U,R", "--plan", str(HERE / "stickers.toml"), "--keep", "all"],
                 COMPLETE),
    "coloured stickers": (["COLOURED", "--metric", "single", "--keep", "all"], COMPLETE),
    "an axis in blocks": (["burnt-pancake:5", "--plan", str(HERE / "blocks.toml"), "--keep", "all"], COMPLETE),
    "unfinished": (["3x4", "--max-depth", "4", "--keep", "all", "--shards", "1"], UNFINISHED),
    "lists": (["lrx:7", "--engine", "lists", "--keep", "all"], COMPLETE),
    "lists, orientations": (["burnt-pancake:5", "--engine", "lists", "--keep", "all"], COMPLETE),
    "lists, guards": ([str(EXAMPLES / "bandaged.toml"), "--engine", "lists", "--keep", "all"], COMPLETE),
    "lists, unfinished": (["3x3x3", "--max-depth", "3", "--keep", "all"], UNFINISHED),
    "no symmetry": (["pancake:7", "--keep", "all", "--shards", "1"], COMPLETE),
}

# Records that a small machine computes again; of their large layers, random states are checked.
RECORDS = ["3x4-multi", "3x4-single", "2x6-multi", "2x6-single"]


def run_check(*args):
    done = subprocess.run([sys.executable, "-B", HERE / "check.py", *args], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def close_repaired(base):
    """Repairs the digests of the run, and closes run.db."""
    digests = b""
    for k, own in base.execute("select depth, digest from layer order by depth").fetchall():
        digests += own
        base.execute("update layer set run_digest = ? where depth = ?", (derived("run digest, version 1", digests), k))
    base.commit()
    base.close()


class Planted:
    """A copy of a run whose layers can be changed. Counts, checksums and digests are repaired."""

    def __init__(self, run, to):
        subprocess.run(["cp", "-r", run, to], check=True)
        self.path, self.run = Path(to), check.Run(Path(to), 1e9)
        self.bits = self.run.table.shape[1]

    def states(self, depth, involution=None):
        """The addresses of the states of a layer: all, involutions or others."""
        cosets, positions = np.nonzero(self.run.table == depth)
        if involution is not None:
            words = self.run.space.word(cosets, positions)
            chosen = (self.run.space.inverted(words) == words).all(0) == involution
            cosets, positions = cosets[chosen], positions[chosen]
        return list(zip(cosets.tolist(), positions.tolist()))

    def change(self, remove, add):
        """The changes of the pairs, the inverse pairs, the classes, and the classes up to inversion."""
        pairs, order = [0, 0], len(self.run.space.group)
        for sign, states in (1, add), (-1, remove):
            for r, p in states:
                coset = np.array([r])
                word = self.run.space.word(coset, np.array([p]))
                for i, goal in enumerate((word, self.run.space.inverted(word))):
                    pairs[i] += sign * self.run.pairs(coset, word, goal)
        assert pairs[0] % order == 0 and sum(pairs) % (2 * order) == 0, "classes would not be whole numbers"
        return *pairs, pairs[0] // order, sum(pairs) // (2 * order)

    def write(self, depth, remove=(), add=()):
        """Writes the only shard of a layer again without some states and with others."""
        pairs, inverse_pairs, classes, with_inverse = self.change(remove, add)
        name = self.path / "layers" / f"d{depth:03}" / "s00000.layer"
        old, space = name.read_bytes(), self.run.space
        entries = [list(e) for e in struct.iter_unpack("<QIIIB3x32s", old[256:256 + 56 * space.cosets])]
        body, sums, stored = b"", [], 0
        begin = -(-(256 + 56 * space.cosets) // 64) * 64
        for r, e in enumerate(entries):
            raw = old[e[0]:e[0] + e[1]]
            raw = check.unzstd(raw, self.bits // 8) if e[4] == 3 else raw
            at = np.frombuffer(raw, "<u4").tolist() if e[4] < 2 else \
                np.flatnonzero(np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")).tolist()
            at = sorted(set(at) - {p for c, p in remove if c == r} | {p for c, p in add if c == r})
            e[3] += len(at) - e[2]
            e[2] = len(at)
            if 256 * len(at) <= self.bits:
                raw, e[4] = np.array(at, "<u4").tobytes(), 1 if at else 0
            else:
                bits = np.zeros(self.bits, np.uint8)
                bits[at] = 1
                raw, e[4] = np.packbits(bits, bitorder="little").tobytes(), 2
            e[0], e[1], e[5] = (begin + len(body)) if raw else 0, len(raw), blake3([raw])[0]
            body += raw + bytes(-len(raw) % 64)
            sums.append(e[5])
            stored += len(at)
        weighed = sum(e[2] * int(space.orbit[r]) for r, e in enumerate(entries)) // len(space.puzzle.free)
        directory = b"".join(struct.pack("<QIIIB3x32s", *e) for e in entries)
        body = bytes(begin - 256 - len(directory)) + body + bytes(64)
        head = bytearray(old[:256])
        struct.pack_into("<QQ", head, 72, stored, weighed)
        for offset, more in (88, pairs), (136, inverse_pairs):
            struct.pack_into("<Q", head, offset, struct.unpack_from("<Q", head, offset)[0] + more)
        struct.pack_into("<Q32s", head, 96, 256 + len(directory) + len(body), blake3([directory])[0])
        head[224:] = blake3([bytes(head[:224])])[0]
        name.write_bytes(bytes(head) + directory + body)
        base = sqlite3.connect(self.path / "run.db")
        digest = derived("layer digest, version 1", struct.pack("<I", depth) + b"".join(sums))
        base.execute("update shard set stored = ?, states = ?, pairs = pairs + ?, inverse_pairs = inverse_pairs + ?, "
                     "digest = ? where depth = ?", (stored, weighed, pairs, inverse_pairs, digest, depth))
        base.execute("update layer set stored = ?, states = ?, digest = ?, classes = classes + ?, "
                     "classes_with_inverse = classes_with_inverse + ? where depth = ?",
                     (stored, weighed, digest, classes, with_inverse, depth))
        close_repaired(base)

    def shift(self, depth, change):
        """Repairs the sums of states up to a depth in the directories of later layers."""
        for later in range(depth + 1, len(self.run.rows)):
            name = self.path / "layers" / f"d{later:03}" / "s00000.layer"
            data = bytearray(name.read_bytes())
            for r, more in change.items():
                offset = 256 + 56 * r + 16
                struct.pack_into("<I", data, offset, struct.unpack_from("<I", data, offset)[0] + more)
            directory = bytes(data[256:256 + 56 * self.run.space.cosets])
            struct.pack_into("<32s", data, 104, blake3([directory])[0])
            data[224:256] = blake3([bytes(data[:224])])[0]
            name.write_bytes(data)


def plant(work, runs):
    """Plants faults. Yields for each what it is, the arguments of the check, and what the check must say."""
    fault = Planted(runs["no symmetry"], work / "flipped")
    coset, position = fault.states(7, True)[0]
    fault.write(4, add=[(coset, position)])
    fault.shift(4, {coset: 1})
    yield "a flipped bit: a state of depth 7 is also at depth 4", [fault.path], "is at depth 4 and at depth 7"

    fault = Planted(runs["no symmetry"], work / "moved")
    (a, b), (c, d) = fault.states(5, False)[0], fault.states(7, False)[0]
    fault.write(5, remove=[(a, b)], add=[(c, d)])
    fault.write(7, remove=[(c, d)], add=[(a, b)])
    yield "two states of depths 5 and 7 are exchanged, with all counts kept", [fault.path], "the state below is at depth"

    fault = Planted(runs["no symmetry"], work / "removed")
    coset, position = fault.states(6, True)[0]
    fault.write(6, remove=[(coset, position)])
    fault.shift(6, {coset: -1})
    yield "a removed state", [fault.path], "leads to a state that no layer has"

    fault = Planted(runs["no symmetry"], work / "last")
    last = len(fault.run.rows) - 1
    coset, position = fault.states(last, True)[0]
    fault.write(last, remove=[(coset, position)])
    yield "a state is missing in the last layer", [fault.path], "leads to a state that no layer has"

    fault = Planted(runs["unfinished"], work / "wrong-move")
    space, last = fault.run.space, len(fault.run.rows) - 1
    coset = int(np.flatnonzero(space.orbit == len(space.group))[0])
    free = [int(p) for p in np.flatnonzero(fault.run.table[coset] == 255) if p % space.row_bits < space.row]
    fault.write(last, add=[(coset, free[-1]), (coset, free[-2])])
    yield "wrong moves lead to two states of the last layer", [fault.path], f"no move leads to it from depth {last - 1}"

    subprocess.run(["cp", "-r", runs["halved axis"], work / "classes"], check=True)
    base = sqlite3.connect(work / "classes/run.db")
    base.execute("update layer set classes = classes + 1 where depth = 6")
    base.execute("update shard set pairs = pairs + 72 where depth = 6 and shard = 0")
    base.commit()
    name = work / "classes/layers/d006/s00000.layer"
    data = bytearray(name.read_bytes())
    struct.pack_into("<Q", data, 88, struct.unpack_from("<Q", data, 88)[0] + 72)
    data[224:256] = blake3([bytes(data[:224])])[0]
    name.write_bytes(data)
    yield "a wrong number of classes, with the pairs in run.db and the file", [work / "classes"], "pairs counted"

    subprocess.run(["cp", "-r", runs["halved axis"], work / "states"], check=True)
    base = sqlite3.connect(work / "states/run.db")
    base.execute("update layer set states = states + 1 where depth = 6")
    base.commit()
    yield "a wrong number of states in run.db", [work / "states"], "run.db says"

    subprocess.run(["cp", "-r", runs["halved axis"], work / "damaged"], check=True)
    name = work / "damaged/layers/d007/s00001.layer"
    data = bytearray(name.read_bytes())
    data[-100] ^= 4
    name.write_bytes(data)
    yield "a damaged file", [work / "damaged"], "the checksum of a coset is wrong"

    yield ("a state is missing in a list", [without_a_listed_state(runs["lists"], work / "short-list", 8)],
           "leads to a state that no layer has")
    data = bytearray((name := next((runs["lists, guards"] / "layers/d003").glob("*.list"))).read_bytes())
    data[-70] ^= 1
    name.write_bytes(data)
    yield "a damaged list", [runs["lists, guards"]], "wrong checksum"

    cert = json.loads((work / "upper.json").read_text())
    del cert["stages"][2]["words"][0]
    (work / "short.json").write_text(json.dumps(cert))
    yield "a word is missing in a certificate", [work / "short.json"], "its words solve"
    cert["stages"][1]["words"].insert(7, "V1 H1")
    (work / "wrong.json").write_text(json.dumps(cert))
    yield "a word of a certificate is wrong", [work / "wrong.json"], "undoes what was solved"


def without_a_listed_state(run, to, depth):
    """A copy of a run by lists from which a state of a layer was removed. Counts, checksums and digests are repaired."""
    subprocess.run(["cp", "-r", run, to], check=True)
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_compress.restype = ctypes.c_size_t
    base = sqlite3.connect(Path(to) / "run.db")
    shard, = base.execute("select shard from shard where depth = ? and states > 1 limit 1", (depth,)).fetchone()
    name = Path(to) / "layers" / f"d{depth:03}" / f"s{shard:05}.list"
    data = name.read_bytes()
    size, = struct.unpack_from("<I", data, 20)
    count, blocks, index = struct.unpack_from("<3Q", data, len(data) - 88)
    assert blocks == 1, "a small layer"
    offset, length = struct.unpack_from("<QI", data, index)
    raw = check.unzstd(data[offset:offset + length], count * (size + 1), exact=False)
    states, place, last = [], count, b""
    for shared in raw[:count]:
        last = last[:shared] + raw[place:place + size - shared]
        place += size - shared
        states.append(last)
    states.pop()
    plain = bytes(len(states)) + b"".join(states)
    out = ctypes.create_string_buffer(len(plain) + 1024)
    length = zstd.ZSTD_compress(out, ctypes.c_size_t(len(out)), plain, ctypes.c_size_t(len(plain)), 3)
    block = out.raw[:length]
    digest = derived("list of states, version 1", struct.pack("<I", size) + b"".join(states))
    listed = struct.pack("<QII", 56, len(block), len(states)) + blake3([block])[0][:16]
    foot = struct.pack("<3Q32s", len(states), 1, 56 + len(block), digest)
    name.write_bytes(data[:56] + block + listed + foot + blake3([data[:56] + listed + foot])[0])
    rows = base.execute("select shard, digest from shard where depth = ? order by shard", (depth,)).fetchall()
    base.execute("update shard set stored = stored - 1, states = states - 1, digest = ? where depth = ? and shard = ?",
                 (derived("layer digest, version 1", struct.pack("<I", depth) + digest), depth, shard))
    sums = b"".join(digest if number == shard else list_digest(to, depth, number) for number, _ in rows)
    base.execute("update layer set stored = stored - 1, states = states - 1, digest = ? where depth = ?",
                 (derived("layer digest, version 1", struct.pack("<I", depth) + sums), depth))
    close_repaired(base)
    return to


def list_digest(run, depth, shard):
    data = (Path(run) / "layers" / f"d{depth:03}" / f"s{shard:05}.list").read_bytes()
    return data[-64:-32]


def main():
    fathom = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as work:
        work, runs, failed = Path(work), {}, []
        (work / "stickers.gap").write_text(STICKERS)
        (work / "coloured.gap").write_text(STICKERS + COLOURS)
        for name, (args, end) in RUNS.items():
            runs[name] = work / name.replace(" ", "-").replace(",", "")
            files = {"STICKERS": str(work / "stickers.gap"), "COLOURED": str(work / "coloured.gap")}
            args = [files.get(a, a) for a in args]
            subprocess.run([fathom, "run", *args, "-q", "--dir", runs[name]], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            report = work / f"{runs[name].name}.json"
            report.write_bytes(subprocess.run([fathom, "report", runs[name], "--format", "json"], check=True,
                                              stdout=subprocess.PIPE).stdout)
            code, text = run_check(runs[name], "--report", report)
            good = code == 0 and end in text
            print(f"{'ok   ' if good else 'WRONG'} {name}: {text.strip().splitlines()[-1]}", flush=True)
            failed += [] if good else [(name, text)]
        for name in RECORDS:
            board, metric = name.split("-")
            subprocess.run([fathom, "run", board, "--metric", metric, "--keep", "all", "-q", "--dir", work / name], check=True,
                           stdout=subprocess.DEVNULL)
            code, text = run_check(work / name, "--states", "1000", "--report", HERE.parent / f"{name}.json")
            good = code == 0 and CHECKED in text and "the report has the counts" in text
            print(f"{'ok   ' if good else 'WRONG'} record {name}: {text.strip().splitlines()[-1]}", flush=True)
            failed += [] if good else [(name, text)]
        chain = ["bound", "3x3", "--upper", "--chain", "0-2;0-5;0-8", "--json"]
        (work / "upper.json").write_bytes(subprocess.run([fathom, *chain], check=True, stdout=subprocess.PIPE).stdout)
        code, text = run_check(work / "upper.json")
        failed += [] if code == 0 and "these are all states" in text else [("certificate", text)]
        for name, args, say in plant(work, runs):
            code, text = run_check(*args)
            good = code == 1 and say in text
            said = [line for line in text.splitlines() if line.startswith(("contradiction", "error"))] or ["nothing"]
            print(f"{'found' if good else 'WRONG'} {name}: {said[0]}", flush=True)
            failed += [] if good else [(name, text)]
        for name, args in ("no run", [work / "nothing"]), ("not a certificate", [work / "stickers.gap"]):
            code, text = run_check(*args)
            failed += [] if code == 2 and text.startswith("error: ") and text.count("\n") == 1 else [(name, text)]
        for name, text in failed:
            print(f"\n{name}:\n{text}")
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
