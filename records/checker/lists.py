"""Checks a run that lists its states. Run check.py with the run's directory."""
import math
import sqlite3
import struct

import numpy as np

from blake3_numpy import blake3, derived
from check import Bad, Puzzle, must, unzstd

K = 0x9E3779B97F4A7C15
HEADER, FOOTER = "<8s4I32s", "<3Q32s32s"


class Lists:
    """The states of a run that keeps all layers: an array of symbols for each, and depths."""

    def __init__(self, path, toml, most):
        self.puzzle, self.shards = Puzzle({"labels": range(1 << 14), **toml["puzzle"]}), toml["shards"]
        if self.puzzle.free[1:] or {"states", "by"} & set(toml["puzzle"].get("solved", {})) or "[solved]\nstates" in str(toml):
            raise Bad("runs by lists with free moves or several starts are not checked")
        self.base = sqlite3.connect(f"{(path / 'run.db').absolute().as_uri()}?mode=ro", uri=True)
        self.base.row_factory = sqlite3.Row
        self.rows = self.base.execute("select * from layer order by depth").fetchall()
        self.fingerprint, self.complete = self.base.execute("select fingerprint, complete from run").fetchone()
        self.open = not self.complete
        if any(row["files"] == "removed" for row in self.rows):
            raise Bad("the run kept only some of its layers: check a run with --keep all")
        if sum(row["states"] for row in self.rows) > most:
            raise Bad(f"the run has more than {most:,} states: allow them with --table")
        cells, keys = self.puzzle.cells, self.puzzle.keys
        # A symbol is a label of the cell's orbit, in the order of pieces, and an orientation that it shows.
        orbits = self.puzzle.orbits()
        self.symbols = [None] * cells
        for orbit in orbits:
            labels = list(dict.fromkeys(keys[c] for c in orbit))
            for c in orbit:
                self.symbols[c] = [(key, turn) for key in labels for turn in range(key[2])]
        widths, self.fields, word, left = [math.ceil(math.log2(len(s))) if len(s) > 1 else 0 for s in self.symbols], [], 0, 64
        for width in widths:
            if width > left:
                word, left = word + 1, 64
            left -= width
            self.fields.append((word, left, width))
        used = np.zeros(8 * (word + 1), bool)
        for at, shift, width in self.fields:
            for bit in range(shift, shift + width):
                used[8 * at + 7 - bit // 8] = True
        self.places = np.flatnonzero(used)
        self.words = word + 1
        layers = [self.read(path / "layers", depth) for depth in range(len(self.rows))]
        self.depth = np.concatenate([np.full(len(layer), depth) for depth, layer in enumerate(layers)])
        self.states = np.concatenate(layers)
        order = np.argsort(self.as_keys(self.states))
        self.states, self.depth = self.states[order], self.depth[order]
        self.sorted = self.as_keys(self.states)
        must((self.sorted[1:] != self.sorted[:-1]).all(), "a state is in the lists twice")

    def as_keys(self, states):
        return np.ascontiguousarray(states).view(f"V{states.shape[1]}").ravel()

    def read(self, layers, depth):
        row, sums, found = self.rows[depth], [], []
        for shard in range(self.shards):
            name = layers / f"d{depth:03}" / f"s{shard:05}.list"
            data = name.read_bytes()
            magic, version, own_depth, own_shard, size, owner = struct.unpack_from(HEADER, data)
            must((magic, version, own_depth, own_shard, owner) == (b"FATHLIST", 1, depth, shard, self.fingerprint), f"{name}: wrong header")
            must(size == len(self.places), f"{name}: a state has {size} bytes, expected {len(self.places)}")
            count, blocks, index, digest, check = struct.unpack_from(FOOTER, data, len(data) - 88)
            must(blake3([data[:56] + data[index:-32]])[0] == check, f"{name}: wrong checksum")
            states = []
            for number in range(blocks):
                at, length, inside = struct.unpack_from("<QII", data, index + 32 * number)
                block = data[at:at + length]
                must(blake3([block])[0][:16] == data[index + 32 * number + 16:][:16], f"{name}: block {number} is damaged")
                raw, last, place = unzstd(block, inside * (size + 1), exact=False), b"", inside
                for shared in raw[:inside]:
                    last = last[:shared] + raw[place:place + size - shared]
                    place += size - shared
                    states.append(last)
            must(len(states) == count and all(a < b for a, b in zip(states, states[1:])), f"{name}: wrong number or order of states")
            must(derived("list of states, version 1", struct.pack("<I", size) + b"".join(states)) == digest, f"{name}: wrong digest of the states")
            array = np.frombuffer(b"".join(states), np.uint8).reshape(count, size)
            must((self.shard(array) == shard).all(), f"{name}: a state belongs to another shard")
            of = self.base.execute("select stored, states from shard where depth = ? and shard = ?", (depth, shard)).fetchone()
            must(of is None or tuple(of) == (count, count), f"{name}: run.db says {of and tuple(of)} states, not {count}")
            sums.append(digest)
            found.append(array)
        states = np.concatenate(found)
        must(len(states) == row["states"] == row["stored"], f"depth {depth}: {len(states)} states, {row['states']} in run.db")
        must(derived("layer digest, version 1", struct.pack("<I", depth) + b"".join(sums)) == row["digest"], f"depth {depth}: wrong digest")
        so_far = b"".join(r["digest"] for r in self.rows[:depth + 1])
        self.digest = derived("run digest, version 1", so_far)
        must(row["run_digest"] == self.digest, f"depth {depth}: wrong digest of the run")
        return states

    def as_words(self, states):
        full = np.zeros((len(states), 8 * self.words), np.uint8)
        full[:, self.places] = states
        return full.view(">u8").astype(np.uint64)

    def shard(self, states):
        h = np.zeros(len(states), np.uint64)
        for word in self.as_words(states).T:
            h = (h ^ word) * np.uint64(K)
            h ^= h >> np.uint64(32)
        h *= np.uint64(K)
        # The high word of a product with the number of shards.
        high, low, s = h >> np.uint64(32), h & np.uint64(0xFFFFFFFF), np.uint64(self.shards)
        return ((high * s + (low * s >> np.uint64(32))) >> np.uint64(32)).astype(int)

    def unpacked(self, states):
        words = self.as_words(states)
        return [((words[:, at] >> np.uint64(shift)) & np.uint64((1 << width) - 1)).astype(np.int64) for at, shift, width in self.fields]

    def packed(self, cells):
        words = np.zeros((len(cells[0]), self.words), np.uint64)
        for symbols, (at, shift, _) in zip(cells, self.fields):
            words[:, at] |= symbols.astype(np.uint64) << np.uint64(shift)
        return np.ascontiguousarray(words.astype(">u8")).view(np.uint8)[:, self.places]

    def check_all(self):
        puzzle, closed = self.puzzle, {x for _, x, _ in self.puzzle.moves}
        closed = all(any(np.array_equal(b[0], np.argsort(a[0])) for b in closed) for a in closed)
        start = self.packed([np.array([self.symbols[c].index((puzzle.keys[c], 0))]) for c in range(puzzle.cells)])
        first = self.states[self.depth == 0]
        must(len(first) == 1 and (first == start).all(), "depth 0 is not the solved state")
        print(f"{puzzle.name} {puzzle.metric}: {len(self.rows)} depths of {len(self.states):,} listed states")
        reached, last, cells = np.zeros(len(self.states), bool), self.depth.max(), self.unpacked(self.states)
        reached[self.depth == 0] = True
        for name, (to, turn, _), guard in puzzle.moves:
            able = np.ones(len(self.states), bool)
            for c, key, holds in guard:
                able &= (np.array([k == key for k, _ in self.symbols[c]])[cells[c]]) == holds
            moved = [None] * puzzle.cells
            for c in range(puzzle.cells):
                table = np.array([self.symbols[to[c]].index((key, (at + turn[c]) % key[2])) for key, at in self.symbols[c]])
                moved[to[c]] = table[cells[c][able]]
            for c, key, holds in puzzle.limits:
                fit = np.array([k == key for k, _ in self.symbols[c]])[moved[c]] == holds
                moved, able[np.flatnonzero(able)[~fit]] = [m[fit] for m in moved], False
            image = self.as_keys(self.packed(moved))
            at = np.minimum(np.searchsorted(self.sorted, image), len(self.sorted) - 1)
            is_there, depth = self.sorted[at] == image, self.depth[able]
            must((is_there | ((depth == last) & (not self.complete))).all(), f"{name} leads to a state that no layer has")
            to_depth, depth, at = self.depth[at][is_there], depth[is_there], at[is_there]
            must((to_depth <= depth + 1).all(), f"{name} leads to a state that is too deep")
            must(not closed or guard or puzzle.limits or (to_depth >= depth - 1).all(), f"{name} leads to a state two or more layers down")
            reached[at[to_depth == depth + 1]] = True
        must(reached.all(), f"no move leads to a state of depth {self.depth[~reached].min() if not reached.all() else 0}")
        for depth, row in enumerate(self.rows):
            print(f"  depth {depth}: {row['states']:,} states, all checked")
        print(f"digest {self.digest.hex()}\nproven: checksums, digests, and the number of states of each layer\n"
              "proven: every state of every layer is at the distance of its layer, and none at these distances is missing")
        print(f"proven: no move leads out of the layers, the largest distance is {last}" if self.complete
              else "unfinished: moves lead on from the last depth")
