#!/usr/bin/env python3
"""Checks a run of Fathom, or the certificate of an upper bound, from docs/format.md alone. See README.md."""
import argparse, ctypes, json, math, re, sqlite3, struct, sys, time
from itertools import accumulate, combinations
from pathlib import Path
try:
    import tomllib, numpy as np
except ImportError as missing:
    print(f"error: {missing}: install Python 3.11 or later, and numpy (apt install python3-numpy)", file=sys.stderr)
    sys.exit(2)
from blake3_numpy import blake3, derived

class Bad(Exception): """Input that this program cannot read."""
class Wrong(Exception): """A contradiction."""
def must(condition, text):
    if not condition:
        raise Wrong(text)

def unzstd(data, size, exact=True):
    try:
        library = ctypes.CDLL("libzstd.dylib" if sys.platform == "darwin" else "libzstd.so.1")
    except OSError as error:
        raise Bad("the layers are compressed, and libzstd is missing: apt install libzstd1") from error
    library.ZSTD_decompress.restype, out = ctypes.c_size_t, ctypes.create_string_buffer(size)
    found = library.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    return out.raw[:found] if found == size or found < size and not exact else b""

# An action: for each cell the cell to which its piece goes, how far the piece turns, and the number of orientations.
def identity(orders): return tuple(range(len(orders))), (0,) * len(orders), tuple(orders)
def parity(to): return sum(a > b for a, b in combinations(to, 2)) % 2
def ordered(guard): return tuple(sorted(set(guard), key=repr))
def then(x, y):
    turn = tuple((t + y[1][c]) % n for c, t, n in zip(*x))
    return tuple(y[0][c] for c in x[0]), turn, x[2]
def inverse(x):
    back = sorted(range(len(x[0])), key=x[0].__getitem__)
    return tuple(back), tuple(-x[1][c] % x[2][c] for c in back), x[2]
def points(x):  # A cell with n orientations has n points.
    first = list(accumulate(x[2], initial=0))
    return tuple(first[x[0][c]] + (i + x[1][c]) % n for c, n in enumerate(x[2]) for i in range(n))

class Puzzle:
    """Cells, moves and labels, as run.toml gives them; then as the reductions of the plan change them."""
    def __init__(self, table):
        self.name, self.metric, self.rings = table["name"], table["metric"], {}
        text, board = tomllib.loads(table.get("definition", "")), re.fullmatch(r"(\d+)x(\d+)", self.name)
        if not text:
            if not board:
                raise Bad(f"{self.name} has no definition, and is not a board")
            m, n = map(int, board.groups())
            lines = {f"V{j + 1}": range((m - 1) * n + j + 1, 0, -n) for j in range(n)}
            lines |= {f"H{i + 1}": range((i + 1) * n, i * n, -1) for i in range(m)}
            text = {"degree": m * n, "moves": {name: f"({' '.join(map(str, line))})" for name, line in lines.items()}}
        orbits = text.get("orbits") or [{"cells": text["degree"]}]
        orders = [o.get("orientations", 1) for o in orbits for _ in range(o["cells"])]
        cells, solved = len(orders), text.get("solved", {})
        seen, start = solved.get("seen", orders), solved.get("orientations", [0] * cells)
        first = list(accumulate((o["cells"] for o in orbits), initial=0))
        visible = [math.lcm(*seen[a:b]) for a, b in zip(first, first[1:]) for _ in range(a, b)]
        def action(text):
            to, turn = list(range(cells)), [0] * cells
            for cycle in re.findall(r"[(\[]([^()\[\]]+)[)\]]", text):
                entries = [re.fullmatch(r"(\d+)([+-]\d+)?", e) for e in re.split(r"[\s,]+", cycle.strip())]
                for here, there in zip(entries, entries[1:] + entries[:1]):
                    to[int(here[1]) - 1], turn[int(here[1]) - 1] = int(there[1]) - 1, int(here[2] or 0)
            turn = tuple((t + start[c] - start[to[c]]) % visible[c] for c, t in enumerate(turn))
            return tuple(to), turn, tuple(visible)
        one, found, self.cells, self.seen = identity(visible), {}, cells, list(seen)
        generators, self.free = [action(x) for x in text.get("free", {}).values()], [one]
        for x in self.free:
            self.free += [y for y in dict.fromkeys(then(x, g) for g in generators) if y not in self.free]
        for name, what in text["moves"].items():
            what = what if isinstance(what, dict) else {"cycles": what}
            powers, guard = [action(what["cycles"])], tuple(sorted(c - 1 for c in what.get("guard", [])))
            while powers[-1] != one and self.metric in ("single", "multi"):
                powers.append(then(powers[-1], powers[0]))
            order, plain = len(powers), name[-1].isalpha()
            for k in {"multi": range(1, order), "single": [1, order - 1]}.get(self.metric, [1]):
                by = k if 2 * k <= order or order == 1 else k - order
                power = {1: "", -1: "'"}.get(by) or (by != 1) * (f"{abs(by)}{chr(39) * (by < 0)}" if plain else f"^{by}")
                if powers[k - 1] not in self.free:
                    found.setdefault((powers[k - 1], guard), name + power)
        self.moves = [(name, x, guard) for (x, guard), name in found.items()]
        labels, orbit = table.get("labels") or solved.get("labels") or range(cells), self.orbits()
        self.keys = [(labels[c], next(o[0] for o in orbit if c in o), seen[c]) for c in range(cells)]
        # A condition is a cell, a key, and whether the cell must have it or must not.
        self.moves = [(m, x, [(c, self.keys[c], True) for c in g]) for m, x, g in self.moves]
        self.limits = [(c - 1, self.keys[c - 1], True) for c in text.get("always", [])]
        self.limits += [(n["cell"] - 1, self.keys[p - 1], False) for n in text.get("never", []) for p in n["pieces"]]

    def orbits(self):
        of = list(range(self.cells))
        for to, *_ in [x for _, x, _ in self.moves] + self.free:
            for a, b in ((of[c], of[to[c]]) for c in range(self.cells)):
                of = [min(a, b) if o == max(a, b) else o for o in of]
        return [[c for c in range(self.cells) if of[c] == o] for o in sorted(set(of))]

    def reduce(self, step):
        on, seen = lambda guard: guard, self.seen
        if step["kind"] == "facelets":
            place, visible = [tuple(p) for p in step["places"]], self.free[0][2]
            first = [place.index((c, 0)) for c in range(max(place)[0] + 1)]
            orbit = list(range(len(place)))
            for x in [x for _, x, _ in self.moves]:
                for f, g in enumerate(points(x)):
                    orbit = [min(orbit[f], orbit[g]) if o in (orbit[f], orbit[g]) else o for o in orbit]
            # A piece is known by what its facelets show, by number: the key of the given piece and its side.
            shown = [(self.keys[c], k % seen[c]) for c in range(self.cells) for k in range(visible[c])]
            look = lambda at: tuple(sorted((orbit[f], shown[f]) for f, there in enumerate(place) if there == at))
            size = [max(n for cell, n in place if cell == c) + 1 for c in range(len(first))]
            self.keys = [tuple(look((c, n)) for n in range(size[c])) for c in range(len(first))]
            self.seen = [next(d for d in range(1, size[c] + 1) if key[d:] + key[:d] == key) for c, key in enumerate(self.keys)]
            become = lambda x: (*zip(*(place[points(x)[f]] for f in first)), tuple(size))
        elif step["kind"] == "rings":
            sizes, first = step["sizes"], list(accumulate(step["sizes"], initial=0))
            origin = [(c, at, sizes[c] > 1) for c, size in enumerate(sizes) for at in range(size)]
            become = lambda x: (tuple(first[x[0][c]] + ring * ((at + x[1][c]) % sizes[c]) for c, at, ring in origin),
                                tuple(0 if ring else x[1][c] for c, _, ring in origin),
                                tuple(1 if ring else x[2][c] for c, _, ring in origin))
            on = lambda guard: [(first[c], (key, False), holds) for c, key, holds in guard if sizes[c] == 1]
            self.rings = {first[c]: size for c, size in enumerate(sizes) if size > 1}
            self.keys = [(self.keys[c], at > 0) for c, at, _ in origin]
            self.seen = [1 if ring else seen[c] for c, _, ring in origin]
        else:
            raise Bad(f"this program does not read the reduction {step['kind']!r}")
        self.moves, self.limits = [(m, become(x), on(g)) for m, x, g in self.moves], on(self.limits)
        self.free, self.cells = [become(f) for f in self.free], len(self.keys)

    def combine(self):  # Puts rotations before the moves, and limits on states into the conditions of the moves.
        self.known = {}
        for name, x, guard in self.moves:
            guard = guard + self.limits + [(x[0].index(c), key, holds) for c, key, holds in self.limits]
            for f in self.free:
                y, asks = then(f, x), ordered((f[0].index(c), key, holds) for c, key, holds in guard)
                title = name if f == self.free[0] else f"(rotation {name})"
                self.known.setdefault((self.up_to_free(y), asks), (title, y, asks))
        self.moves = list(self.known.values())
    def up_to_free(self, x): return min(then(x, f)[:2] for f in self.free)
    def is_move(self, x, guard): return (self.up_to_free(x), ordered(guard)) in self.known

class Space:
    """The numbering of states. A word has a symbol on each cell; arrays of words have a row for each cell."""
    def __init__(self, puzzle, plan):
        p = self.puzzle = puzzle
        for step in plan["encoding"].get("reductions", []):
            p.reduce(step)
        p.combine()
        self.cells, self.orders, names = p.cells, p.free[0][2], list(dict.fromkeys(p.keys))
        self.label = np.array([names.index(key) for key in p.keys])
        self.shown = np.array([p.seen[p.keys.index(key)] for key in names])
        self.width = int(max(self.shown))
        self.symbols = len(names) * self.width
        must(self.symbols < 256 and len(plan["colouring"]) == self.cells, "the plan does not fit the puzzle")
        self.mark, self.turn = np.divmod(np.arange(self.symbols), self.width)
        self.random = np.random.default_rng(1).integers(0, 1 << 63, (self.cells, self.symbols), np.uint64)
        self.solved = (self.label * self.width).astype(np.uint8)[:, None]
        of_key = lambda key: self.mark == (names.index(key) if key in names else -1)
        self.moves = [(m, self.action(x), [(c, of_key(k) == h) for c, k, h in g]) for m, x, g in p.moves]
        self.closed = all(p.is_move(inverse(x), ((x[0][c], k, h) for c, k, h in g)) for _, x, g in p.moves)
        self.back = [] if self.closed else [self.action(then(f, inverse(x))) for _, x, _ in p.moves for f in p.free]
        self.listed = [self.symmetry(text) for text in plan["encoding"]["symmetries"]]
        self.group = self.with_free(self.listed)
        self.colour(plan)
        self.number_patterns(plan)

    def action(self, x, renamed=None):  # For each cell: the cell from which its symbol comes, and what becomes of each symbol.
        table, symbol = np.empty((self.cells, self.symbols), np.uint8), np.arange(self.symbols)
        symbol = symbol if renamed is None else renamed
        mark, turn = np.divmod(symbol, self.width)
        for c, to in enumerate(x[0]):
            table[to] = symbol - turn + np.where(turn < self.shown[mark], (turn + x[1][c]) % self.shown[mark], turn)
        return np.array(inverse(x)[0]), table

    def apply(self, action, words): return np.stack([table[words[come]] for come, table in zip(*action)])
    def possible(self, guard, words): return np.all([np.ones(words.shape[1], bool)] + [may[words[c]] for c, may in guard], 0)

    def symmetry(self, text):
        """Reads a renaming of cells and pieces; checks that it maps moves to moves and keeps the solved state."""
        what, parts = f"the plan's symmetry {text!r}", [tuple(map(int, part.split())) for part in re.split("[x+]", text)]
        to, factor, turn = parts if len(parts) == 3 else (parts[0], (1,) * self.cells, (0,) * self.cells)
        must(sorted(to) == list(range(self.cells)) and len(factor) == len(turn) == self.cells, f"{what} is malformed")
        renamed = np.full(self.symbols, -1)
        for piece, label in enumerate(self.label):
            image, seen = self.label[to[piece]], self.shown[label]
            for o in range(self.width):
                new = image * self.width + ((factor[piece] * o - turn[piece]) % seen if o < seen else o)
                must(self.shown[image] == seen and renamed[label * self.width + o] in (-1, new), f"{what} confuses labels")
                renamed[label * self.width + o] = new
        keys, element = dict(zip(self.puzzle.keys, (self.puzzle.keys[c] for c in to))), (to, turn, self.orders)
        back = inverse(element)[0]
        for name, x, guard in self.puzzle.moves:
            turned = ((factor[c] * x[1][c] + turn[x[0][c]] - turn[c]) % self.orders[c] for c in back)
            image = (tuple(to[x[0][c]] for c in back), tuple(turned), self.orders)
            is_move = self.puzzle.is_move(image, ((to[c], keys.get(key, key), holds) for c, key, holds in guard))
            must(is_move, f"{what} maps the move {name} to no move")
        must((self.apply(self.action(element, renamed), self.solved) == self.solved).all(), f"{what} moves the solved state")
        return element, renamed

    def with_free(self, symmetries):  # The products with the rotations; checks that these are a group, the identity first.
        actions = [self.action(then(a, f), renamed) for a, renamed in symmetries for f in self.puzzle.free]
        lives = np.zeros((self.cells, self.symbols), bool)
        for c, piece in ((c, piece) for orbit in self.puzzle.orbits() for c in orbit for piece in orbit):
            lives[c] |= (self.mark == self.label[piece]) & (self.turn < self.shown[self.mark])
        key = lambda come, table: come.tobytes() + np.where(lives, table, 0).tobytes()
        keys, known, generators = {key(*a) for a in actions}, set(), []
        for action in actions:
            if key(*action) not in known:
                found, known, generators = actions[:1], {key(*actions[0])}, generators + [action]
                for (come, table), (then_come, then_table) in ((x, g) for x in found for g in generators):
                    product = come[then_come], np.take_along_axis(then_table, table[then_come], 1)
                    if key(*product) not in known:
                        found.append(product), known.add(key(*product))
                        must(key(*product) in keys, "the plan's symmetries are not a group")
        must(len(keys) == len(actions), "two symmetries of the plan are one")
        return actions

    def colour(self, plan):
        """Finds the symmetries in use: they map colours to colours, axes to axes, and turn a colour's pieces alike."""
        of_label = np.zeros(len(self.shown), int)
        of_label[self.label] = plan["colouring"]
        if any("~" in axis for axis in plan.get("axes", ())):
            raise Bad("axes are tied, which this program does not read")
        self.reached, texts = "axes" in plan, plan.get("axes") or [f"{c}p" for c in range(max(plan["colouring"]) + 1)]
        self.axes = [[(int(part[:-1]), part[-1]) for part in axis.split()] for axis in texts]
        views, turning = [frozenset(axis) for axis in self.axes], [c for axis in self.axes for c, v in axis if v in "ob"]
        first, self.of = np.array([list(of_label).index(c) for c in of_label]), of_label[self.mark]
        hidden = np.isin(self.of, turning) | (self.turn >= self.shown[self.mark])
        self.pattern_of = (first[self.mark] * self.width + np.where(hidden, 0, self.turn)).astype(np.uint8)
        used, real = [], np.flatnonzero(self.turn < self.shown[self.mark])
        alone = real[np.isin(self.of[real], [c for axis in self.axes for c, v in axis if v == "o"])]
        for element, renamed in self.listed:
            pairs = lambda of, on: set(zip(of[on], of[renamed[on]]))
            colours, turns = dict(pairs(self.of, real)), pairs(self.of * self.width + self.turn, alone)
            maps = pairs(self.of, real), pairs(self.pattern_of, real), turns
            one_to_one = all(len(set(side)) == len(some) for some in maps for side in zip(*some))
            alike = all((a in turning) == (b in turning) for a, b in colours.items())
            if one_to_one and alike and all(frozenset((colours[c], v) for c, v in view) in views for view in views):
                used.append((element, renamed))
        actions = self.with_free(used)
        self.come, self.become = (np.stack(part) for part in zip(*actions))
        self.back_come, self.back_become = np.argsort(self.come, 1), np.empty_like(self.become)
        for n, (come, table) in enumerate(actions):
            self.back_become[n, come] = np.argsort(table, 1)

    def code(self, words): return sum((self.random[c][words[c]] for c in range(self.cells)), np.zeros(words.shape[1], np.uint64))
    def states(self, stored, first=0):  # The number of states that so many stored ones in each coset represent.
        words, rest = divmod(int(stored @ self.orbit[first:first + len(stored)]), len(self.puzzle.free))
        return words if rest == 0 else None

    def closure(self, project, most=1 << 22):
        """All words that moves and rotations reach from the solved word, after `project` on symbols."""
        new = project[self.solved]
        found, codes = [new], self.code(new)
        steps = self.moves + [("", self.action(f), []) for f in self.puzzle.free[1:]]
        while new.shape[1]:
            images = [self.apply(action, new[:, self.possible(guard, new)]) for _, action, guard in steps]
            images = project[np.concatenate(images, 1)]
            code, at = np.unique(self.code(images), return_index=True)
            fresh = ~np.isin(code, codes, assume_unique=True)
            new, codes = images[:, at[fresh]], np.concatenate([codes, code[fresh]])
            found.append(new)
            if len(codes) > most:
                raise Bad(f"more than {most:,} patterns or arrangements: too many for this program")
        return np.concatenate(found, 1)

    def number_patterns(self, plan):
        words = self.closure(self.pattern_of)
        groups = [[c] for c in range(self.cells)] if plan["numbering"] == "symbols" else self.puzzle.orbits()
        columns = [of[words[c]] for cells in groups for of in (self.of, self.turn) for c in cells]
        self.patterns = np.ascontiguousarray(words[:, np.lexsort(columns[::-1])])
        code, count = self.code(self.patterns), self.patterns.shape[1]
        self.sorted = np.argsort(code)
        self.codes, self.coset_of, self.way = code[self.sorted], np.full(count, -1), np.zeros(count, np.int64)
        home, orbit, fixing = [], [], []
        for number in range(count):
            if self.coset_of[number] < 0:
                come = self.patterns[:, number][self.come]
                at, known = self.find(self.pattern_of[np.take_along_axis(self.become, come[:, :, None], 2)[:, :, 0].T])
                must(known.all() and (self.coset_of[at] < 0).all(), "the plan's symmetries do not permute the patterns")
                self.coset_of[at], self.way[at] = len(home), np.arange(len(at))
                home.append(number), orbit.append(len(np.unique(at))), fixing.append(at == number)
        self.home, self.orbit, self.fixing, self.cosets = np.array(home), np.array(orbit), np.array(fixing), len(home)
        must(self.cosets == plan["cosets"], f"the plan has {plan['cosets']} cosets, and there are {self.cosets}")
        of = self.of[self.patterns[:, self.home]].T
        self.cells_of = [np.stack([np.flatnonzero(colours == c) for colours in of], 1) for c in range(of.max() + 1)]
        self.lists = [self.list_axis(axis) for axis in self.axes]
        self.lengths = [rows.shape[1] // (self.cosets if self.reached else 1) for rows, _, _ in self.lists]
        if self.reached and len(self.come) == 1 and (sum(self.lengths) * self.cosets > 1 << 22 or self.cosets > 65534):
            raise Bad("the lists of the axes may be carried from coset to coset, which this program does not read")

    def axis_words(self, axis, words, coset):  # The labels by component and cell, and then the orientations.
        symbols = [(v, words[self.cells_of[c][:, coset], np.arange(len(coset))]) for c, v in axis]
        return np.concatenate([of[s] * (v in views) for views, of in (("pb", self.mark), ("ob", self.turn)) for v, s in symbols])

    def list_axis(self, axis):
        """The words of an axis in increasing order (by coset, if only reachable ones count), and how to find them."""
        if self.reached:
            label, turn = (np.isin(self.of, [c for c, v in axis if v in which]) for which in ("pb", "ob"))
            mark = np.where(label, self.mark, self.mark[self.pattern_of])
            shown = mark * self.width + np.where(turn, self.turn, self.turn[self.pattern_of])
            words = self.closure(shown.astype(np.uint8))
            at, _ = self.find(self.pattern_of[words])
            is_home = self.home[self.coset_of[at]] == at
            coset = self.coset_of[at[is_home]]
            rows = self.axis_words(axis, words[:, is_home], coset)
        else:
            rows = np.array(list(arrangements([self.mark[s] for s in self.solved[:, 0] if self.of[s] == axis[0][0]]))).T
            rows, coset = np.vstack([rows, 0 * rows]), np.zeros(rows.shape[1], np.int64)
        must(len(set(np.bincount(coset))) == 1, "cosets have different numbers of words")
        order = np.lexsort(np.vstack([rows[::-1], coset]))
        by_code = np.argsort(code := self.code_of_rows(rows, coset)[order])
        return rows[:, order], code[by_code], by_code

    def code_of_rows(self, rows, coset):
        code = (coset * self.reached).astype(np.uint64)
        for row in rows:
            code = (code ^ (code >> np.uint64(29)) ^ row.astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(1)
        return code

    def find(self, patterns):  # The number of each pattern, and whether it is reachable.
        at = self.sorted[np.minimum(np.searchsorted(self.codes, self.code(patterns)), len(self.codes) - 1)]
        return at, (self.patterns[:, at] == patterns).all(0)
    def shape(self, size):  # The rows of a tensor. The number of bytes decides whether an axis that may be halved is halved.
        outer, last, row = math.prod(self.lengths[:-1]), self.lengths[-1], self.lengths[-1]
        if self.reached and last > 64 and self.lengths.count(last) == 1:
            pieces = self.lists[-1][0][:len(self.lists[-1][0]) // 2, :last]
            block = int((pieces == pieces[:, :1]).all(0).sum())
            row = block if 2 <= block <= 64 else last
        even = not self.reached and self.symbols == self.cells and last % 2 == 0 and last <= 128
        even = even and not any(parity(x[0]) for x in self.puzzle.free + [x for _, x, _ in self.puzzle.moves])
        self.halved = even and outer * -(-last // 16) == size
        self.row, self.blocks = (last // 2, 1) if self.halved else (row, last // row)
        self.row_bits = -(-self.row // 8) * 8
        must(outer * self.blocks * self.row_bits == 8 * size, "the size of a packed tensor does not fit the plan")

    def locate(self, words):  # The coset and position of each word; position -1 if no coset has it.
        pattern, known = self.find(self.pattern_of[words])
        coset, way, at = self.coset_of[pattern], self.way[pattern], np.arange(words.shape[1])
        home = np.stack([self.back_become[way, c, words[self.back_come[way, c], at]] for c in range(self.cells)])
        return coset, np.where(known, self.position(coset, home), -1)

    def position(self, coset, words):
        row, good = np.zeros(len(coset), np.int64), np.ones(len(coset), bool)
        for axis, (_, codes, by_code), length in zip(self.axes, self.lists, self.lengths):
            code = self.code_of_rows(self.axis_words(axis, words, coset), coset)
            at = np.minimum(np.searchsorted(codes, code), len(codes) - 1)
            good &= codes[at] == code
            index = by_code[at] - coset * length * self.reached
            row = row * length + index
        row, last = row // length, index // (1 + self.halved)
        return np.where(good, (row * self.blocks + last // self.row) * self.row_bits + last % self.row, -1)

    def word(self, coset, position):  # The word at each position: the inverse of `position`.
        row, last = np.divmod(position, self.row_bits)
        row, last = row // self.blocks, row % self.blocks * self.row + (1 + self.halved) * last
        words, index, at, odd = self.patterns[:, self.home[coset]].copy(), [last], np.arange(len(coset)), 0
        for length in self.lengths[-2::-1]:
            row, i = np.divmod(row, length)
            index.insert(0, i)
        for number in [*range(len(self.axes)), -1]:
            if number < 0 and self.halved:
                odd = sum((words[i] > words[j]).astype(int) for i, j in combinations(range(self.cells), 2)) % 2
            rows, start = self.lists[number][0], 0
            row, half = rows[:, index[number] + odd + coset * self.lengths[number] * self.reached], len(rows) // 2
            for c, view in self.axes[number]:
                for j, cell in enumerate(self.cells_of[c][:, coset], start):
                    label = row[j] if view in "pb" else self.mark[words[cell, at]]
                    words[cell, at] = label * self.width + (row[half + j] if view in "ob" else self.turn[words[cell, at]])
                start += len(self.cells_of[c])
        return words

    def inverted(self, words):  # The inverse of each word, if all pieces differ.
        found, at = np.empty_like(words), np.arange(words.shape[1])
        home = np.array([list(self.label).index(label) for label in range(len(self.shown))])
        for c in range(self.cells):
            label, turn = self.mark[words[c]], self.turn[words[c]]
            found[home[label], at] = self.label[c] * self.width + -turn % self.shown[self.label[c]]
        for first, size in self.puzzle.rings.items():
            for k in range(size):
                found[first + -k % size] = words[first + k]
        return found

    def show(self, word):  # The piece on each cell, with its orientation after a plus sign if pieces turn.
        rings, entries = self.puzzle.rings, []
        starts = [c for c in range(self.cells) if not any(first < c < first + size for first, size in rings.items())]
        for c in starts:
            symbol = self.solved[c, 0] if c in rings else word[c]
            turn = list(word[c:c + rings[c]]).index(symbol) if c in rings else self.turn[symbol]
            piece = starts.index(list(self.label).index(self.mark[symbol]))
            entries.append(f"{piece}+{turn}" if self.width > 1 or rings else f"{piece}")
        return " ".join(entries)

def arrangements(content):  # The words with this content, in lexicographic order.
    for first in sorted(set(content)):
        at = content.index(first)
        yield from ((first, *word) for word in arrangements(content[:at] + content[at + 1:]))
    if not content:
        yield ()

class Run:
    """The files of a run. Every file is read, and its checksums and counts are checked."""
    def __init__(self, path, table_bytes):
        toml = tomllib.loads((path / "run.toml").read_text())
        base = sqlite3.connect(f"{(path / 'run.db').absolute().as_uri()}?mode=ro", uri=True)
        base.row_factory = sqlite3.Row
        self.rows = base.execute("select * from layer order by depth").fetchall()
        if toml["format"] != 1 or base.execute("pragma user_version").fetchone()[0] != 6 or len(self.rows) > 254:
            raise Bad("the run has another format than 1, run.db another version than 6, or there are more than 254 depths")
        self.shards = {(r["depth"], r["shard"]): r for r in base.execute("select * from shard")}
        self.kept = [r["depth"] for r in self.rows if r["files"] != "removed"]
        self.last, self.fingerprint = len(self.rows) - 1, base.execute("select fingerprint from run").fetchone()[0]
        must([r["depth"] for r in self.rows] == list(range(len(self.rows))), "run.db lacks a depth")
        own = bytes.fromhex(toml["plan"]["fingerprint"]) + struct.pack("<I", toml["shards"])
        must(self.fingerprint == derived("run fingerprint, version 2", own), "run.db has not the fingerprint of run.toml")
        where = (base.execute("select layers_at from cluster").fetchone() or ["run"])[0]
        if where == "workers" or not self.kept:
            raise Bad("the run's directory has no layers")
        self.layers = path / "layers" if where == "run" else Path(where[6:]) / self.fingerprint.hex()[:16] / "layers"
        self.space = Space(Puzzle({"labels": range(1 << 14), **toml["puzzle"]}), toml["plan"])
        self.table, self.table_bytes, self.open = None, table_bytes, 0
        self.counts = {depth: np.zeros(self.space.cosets, np.int64) for depth in self.kept}
        for depth in self.kept:
            self.read(depth, toml["shards"])
        for depth, row in enumerate(self.rows):
            self.digest = derived("run digest, version 1", b"".join(r["digest"] for r in self.rows[:depth + 1]))
            must(row["run_digest"] == self.digest, f"run.db has a wrong digest of the run at depth {depth}")

    def read(self, depth, shards):
        space, sums = self.space, []
        for shard in range(shards):
            first, end = shard * space.cosets // shards, (shard + 1) * space.cosets // shards
            name, row = self.layers / f"d{depth:03}" / f"s{shard:05}.layer", self.shards[depth, shard]
            data = name.read_bytes()
            magic, version, length, owner, *head, zero = struct.unpack_from("<8sII32s6I", data)
            stored, states, pairs, size, check, inverse_pairs = struct.unpack_from("<4Q32sQ", data, 72)
            directory, packed = data[256:256 + 56 * (end - first)], head[4]
            must((magic, version, length) == (b"FATHOMLY", 2, 256), f"{name} is not a layer file of version 2")
            must(blake3([data[:224], directory]) == [data[224:256], check], f"{name}: a checksum is wrong")
            expected = [self.fingerprint, depth, shard, first, end - first, len(data)]
            must([owner, *head[:4], size] == expected, f"{name}: the header is wrong, or another run's")
            if self.table is None:
                space.shape(packed)
                if space.cosets * packed * 8 > self.table_bytes:
                    raise Bad(f"a table of all states takes {space.cosets * packed * 8:,} bytes: allow it with --table")
                self.table = np.full((space.cosets, packed * 8), 255, np.uint8)
            must(packed * 8 == self.table.shape[1], f"{name}: the size of a packed tensor is wrong")
            batch, weight = [], 0
            for r, (offset, length, count, so_far, encoding, sum_) in enumerate(struct.iter_unpack("<QIIIB3x32s", directory), first):
                raw = data[offset:offset + length]
                raw = unzstd(raw, packed) if encoding == 3 else raw
                must(encoding <= 3 and (encoding < 2 or len(raw) == packed), f"{name}: coset {r} is damaged")
                batch.append(raw), sums.append(sum_)
                weight += len(raw) + 1024
                if weight > 1 << 23 or r == end - 1:
                    must(blake3(batch) == sums[-len(batch):], f"{name}: the checksum of a coset is wrong")
                    batch, weight = [], 0
                bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little") if encoding >= 2 else None
                at = np.frombuffer(raw, "<u4").astype(np.int64) if encoding < 2 else np.flatnonzero(bits)
                fit = (np.diff(at) > 0).all() and (at < packed * 8).all() and (at % space.row_bits < space.row).all()
                must(fit, f"{name}: coset {r} has positions that do not exist")
                for twice in at[self.table[r, at] != 255][:1]:
                    word = space.word(np.array([r]), np.array([twice]))
                    self.refuse(word, f"is at depth {self.table[r, twice]} and at depth {depth}")
                self.table[r, at], self.counts[depth][r] = depth, len(at)
                mine = sum(self.counts[k][r] for k in range(depth + 1)) if self.kept[depth:depth + 1] == [depth] else so_far
                must((len(at), mine) == (count, so_far), f"{name}: coset {r} has {len(at)} states, {mine} with those before; "
                     f"the directory says {count} and {so_far}")
            stated = [row[what] if row[what] is not None else (1 << 64) - 1 for what in ("pairs", "inverse_pairs")]
            must([pairs, inverse_pairs] == stated, f"{name}: the header and run.db have different pairs")
            mine = self.counts[depth][first:end]
            mine = [int(mine.sum()), space.states(mine, first)]
            must(mine == [stored, states] == [row["stored"], row["states"]], f"{name}: {mine} stored and represented states "
                 f"counted, {[stored, states]} in the header, {[row['stored'], row['states']]} in run.db")
            digest = derived("layer digest, version 1", struct.pack("<I", depth) + b"".join(sums[first:]))
            must(row["digest"] == digest, f"run.db has a wrong digest of depth {depth}, shard {shard}")
        digest, row = derived("layer digest, version 1", struct.pack("<I", depth) + b"".join(sums)), self.rows[depth]
        counted, stated = [space.states(self.counts[depth]), digest.hex()], [row["states"], row["digest"].hex()]
        must(counted == stated, f"depth {depth} has the states and digest {counted}, and run.db says {stated}")

    def depths(self, words):  # The depth of each state, 255 if no kept layer has it.
        coset, position = self.space.locate(words)
        return np.where(position < 0, 255, self.table[coset, position])
    def refuse(self, word, what):  # Reports a state with its neighbours, so that a reader can make the moves by hand.
        show = self.space.show
        lines = [f"the state below {what}", f"  solved  {show(self.space.solved[:, 0])}", f"  state   {show(word[:, 0])}"]
        for name, action, guard in self.space.moves:
            if self.space.possible(guard, word)[0]:
                after = self.space.apply(action, word)
                depth = self.depths(after)[0]
                lines.append(f"  {name:<7} {show(after[:, 0])}   {'in no kept layer' if depth == 255 else f'depth {depth}'}")
        raise Wrong("\n".join(lines))

    def check(self, depth, coset, position, random):  # Checks the states at these addresses of a layer.
        space, every, words = self.space, np.arange(len(coset)), self.space.word(coset, position)
        judged = all(k in self.kept for k in range(max(0, depth - 1) * space.closed, min(depth + 1, self.last) + 1))
        before, leads_on = np.zeros((2, len(coset)), bool)
        def refuse(mask, at, text):
            for n in at[np.flatnonzero(mask)[:1]]:
                self.refuse(words[:, n:n + 1], f"is at depth {depth}, and {text}")
        refuse(space.position(coset, words) != position, every, "moves cannot reach it")
        for name, action, guard in space.moves:
            at = np.flatnonzero(space.possible(guard, words))
            found = self.depths(space.apply(action, words[:, at]))
            leads_on[at] |= found == 255
            refuse((found == 255) & (judged and depth < self.last), at, f"{name} leads to a state that no layer has")
            refuse((found != 255) & (found > depth + 1), at, f"{name} leads to a state that is too deep")
            refuse((found < depth - 1) & space.closed, at, f"{name} leads to a state two or more layers down")
            before[at] |= (found == depth - 1) & space.closed
        for action in space.back:
            found = self.depths(space.apply(action, words))
            refuse(found < depth - 1, every, "a move leads to it from two or more layers down")
            before |= found == depth - 1
        refuse(~before & (depth - 1 in self.kept), every, f"no move leads to it from depth {depth - 1}")
        self.open += int(leads_on.sum()) * (depth == self.last)
        chosen, other = random.integers(0, len(space.group), len(coset)), f"a symmetric image is not at depth {depth}"
        for at, action in ((np.flatnonzero(chosen == n), action) for n, action in enumerate(space.group)):
            refuse(self.depths(space.apply(action, words[:, at])) != depth, at, other)
        for n, action in enumerate(zip(space.come, space.become)):
            at = np.flatnonzero(space.fixing[coset, n])
            image = space.position(coset[at], space.apply(action, words[:, at]))
            refuse((image < 0) | (self.table[coset[at], image] != depth), at, other)
        return words

    def pairs(self, coset, words, goal):  # The number of pairs of a symmetry and a state whose image is `goal`.
        total, weight = 0, self.space.orbit[coset]
        for come, table in self.space.group:
            left = np.arange(len(coset))
            for c in range(self.space.cells):
                left = left[table[c][words[come[c], left]] == goal[c, left]]
            total += int(weight[left].sum())
        return total

    def compare(self, report):  # Compares an exported report, or a record, with the run.
        for key, name in ("counts", "states"), ("classes", "classes"), ("classes_with_inverse", "classes_with_inverse"):
            must(report.get(key) in (None, [r[name] for r in self.rows]), f"the report has other {key} than run.db")
        must(report["digest"] == self.digest.hex(), "the report has another digest")
        must(report["complete"] == (not self.open), "the report is wrong about whether the run is complete")
        print("proven: the report has the counts, classes and digest of the run")

    def check_all(self, states, exhaustive, seed):
        random, space, kinds = np.random.default_rng(seed), self.space, ("pairs", "inverse_pairs")
        exhaustive |= sum(int(self.counts[k].sum()) for k in self.kept) <= 1 << 20
        order, sampled, classed, shown, rotations = len(space.group), [], 0, f"{states:,}", len(space.puzzle.free)
        print(f"{space.puzzle.name} {space.puzzle.metric}: {self.last + 1} depths, {len(self.kept)} kept; {space.cosets:,} cosets, "
              f"{space.patterns.shape[1]:,} patterns; {order} symmetries, {len(space.come)} in use (rotations included)")
        for depth in self.kept:
            row, count, pairs = self.rows[depth], int(self.counts[depth].sum()), [0, 0]
            whole = exhaustive or count <= states or (depth == self.last and count <= 1 << 22)
            want = [row[name] is not None for name in ("classes", "classes_with_inverse")]
            cosets, positions = np.nonzero(self.table == depth) if whole else (None, None)
            if not whole:
                cosets = np.sort(random.choice(space.cosets, states, p=self.counts[depth] * space.orbit / (row["states"] * rotations)))
                numbers = zip(*np.unique(cosets, return_counts=True))
                positions = np.concatenate([random.choice(np.flatnonzero(self.table[r] == depth), n) for r, n in numbers])
            for start in range(0, len(cosets), 1 << 18):
                coset, position = (x[start:start + (1 << 18)] for x in (cosets, positions))
                words = self.check(depth, coset, position, random)
                goals = [words, space.inverted(words) if want[1] else None]
                pairs = [n + (self.pairs(coset, words, g) if w and whole else 0) for n, w, g in zip(pairs, want, goals)]
            stated = [sum(r[kind] or 0 for (d, _), r in self.shards.items() if d == depth) for kind in kinds]
            for kind, wanted, mine, theirs in zip(kinds, want, pairs, stated):
                must(not wanted or not whole or mine == theirs, f"depth {depth}: {mine} {kind} counted, {theirs} in run.db")
            classes = [(row["classes"], stated[0], order), (row["classes_with_inverse"], sum(stated), 2 * order)]
            for wanted, (number, some, by) in zip(want, classes):
                must(not wanted or some == by * number, f"depth {depth}: run.db says {number} classes, but {some} pairs / {by}")
            classed, sampled = classed + (whole and want[0]), sampled + [depth] * (not whole)
            print(f"  depth {depth}: {row['states']:,} states, {count:,} stored, {'all' if whole else shown} checked"
                  + (f", {row['classes']:,} classes" if whole and want[0] else ""), flush=True)
        must(0 not in self.kept or (self.depths(space.solved)[0], self.rows[0]["states"]) == (0, 1), "depth 0 is not solved")
        print(f"digest {self.digest.hex()}\nproven: checksums, digests, and the number of states of each kept layer\n"
              f"proven: the symmetries of the plan are a group, map moves to moves, and keep the solved state\n"
              f"proven: the number of classes of {classed} of {self.last + 1} layers")
        everything = not sampled and len(self.kept) == self.last + 1
        if sampled:
            print(f"sampled: {states:,} random states of each of the depths {', '.join(map(str, sampled))}: with 99.9 % confidence "
                  f"fewer than 1 in {int(1 / (1 - 0.001 ** (1 / states))):,} states of such a layer contradict their neighbours")
        print("proven: every state of every layer is at the distance of its layer, and none at these distances is missing"
              if everything else "not proven: distances, because layers were sampled or not kept")
        print("unfinished: moves lead on from the last depth" if self.open else ("proven" if everything else "checked")
              + f": no move leads out of the layers, the largest distance is {self.last}")

def main():
    parser, begun = argparse.ArgumentParser(description=__doc__), time.time()
    parser.add_argument("path", type=Path, help="the directory of a run, or a certificate")
    for name, kind, default, text in (("report", Path, None, "a report or record in JSON to compare with the run"),
            ("puzzle", Path, None, "the definition of a certificate's puzzle, if that is not a board"),
            ("states", int, 10_000, "random states of each layer of a large run [10000]"),
            ("table", float, 2e9, "the most bytes for a table of all states [2e9]"),
            ("seed", int, 1, "repeats a choice of random states [1]")):
        parser.add_argument(f"--{name}", type=kind, default=default, help=text)
    parser.add_argument("--exhaustive", action="store_true", help="check every state, however long that takes")
    args = parser.parse_args()
    try:
        if args.path.is_dir():
            toml = tomllib.loads((args.path / "run.toml").read_text())
            if "lists" in toml:
                from lists import Lists
                run = Lists(args.path, toml, args.table / 100)
                run.check_all()
            else:
                run = Run(args.path, args.table)
                run.check_all(args.states, args.exhaustive, args.seed)
            if args.report:
                Run.compare(run, json.loads(args.report.read_text()))
        else:
            from bound import certificate
            cert, given = json.loads(args.path.read_text()), args.puzzle and {"definition": args.puzzle.read_text()}
            certificate(cert, Puzzle({"name": cert["space"], "metric": cert["metric"], **(given or {})}))
        print(f"nothing contradicts it ({time.time() - begun:.1f} s)")
    except Wrong as error:
        print(f"contradiction: {error}")
        sys.exit(1)
    except Exception as error:
        print(f"error: {error if isinstance(error, Bad) else f'cannot read {args.path}: {error!r}'}", file=sys.stderr)
        sys.exit(2)
if __name__ == "__main__":
    sys.modules["check"] = sys.modules["__main__"]
    main()
