#!/usr/bin/env python3
"""Finds distances of the three-colour cube with a search from both ends that shares no code with Fathom.

    fathom definition 3x3x3 --format tws > 3x3x3.tws
    three_colours.py 3x3x3.tws --states FILE    states as `fathom export --format jsonl` writes them, with their distances
    three_colours.py 3x3x3.tws --random 500     random states: how many are at each distance

With --single only quarter turns are moves. Needs numpy. The ball of depth 7 around the solved state has 25 million states; one of depth 8 (--ball 8) is thirteen times as large.
"""

import argparse
import collections
import json
import re
import sys

import numpy as np

# A label for each corner and edge: corners of one handedness are alike, and edges of one middle layer.
LABELS = [0, 1, 0, 1, 1, 0, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 4, 4, 4, 4]
ORDERS = np.array([3] * 8 + [2] * 12)
WEIGHTS = 6 ** np.arange(20, dtype=np.int64)
CHUNK = 1 << 20


def symbols(labels, orientations):
    """Six symbols for what is on a corner's cell, and six for what is on an edge's."""
    labels, orientations = np.asarray(labels), np.asarray(orientations)
    return np.where(ORDERS == 3, labels * 3, (labels - 2) * 2) + orientations


def moves(path, single):
    """The moves of the file and their powers, with `single` only inverses: for each cell, the cell that its piece comes from, and a table of symbols."""
    tables = {
        order: np.array([[s // order * order + (s + t) % order for s in range(6)] for t in range(order)])
        for order in (2, 3)
    }
    found = []
    for block in re.findall(r"Move \S+\n(.*?)End", open(path).read(), re.DOTALL):
        rows = [list(map(int, line.split())) for line in block.splitlines() if line[0].isdigit()]
        assert [len(row) for row in rows] == [8, 8, 12, 12]
        source = np.array([x - 1 for x in rows[0]] + [x + 7 for x in rows[2]])
        turns = rows[1] + rows[3]
        quarter = (source, np.array([tables[o][t % o] for o, t in zip(ORDERS, turns)]))
        half = compose(quarter, quarter)
        found += [quarter, compose(half, quarter)] if single else [quarter, half, compose(half, quarter)]
    assert len(found) == (12 if single else 18)
    return found


def compose(first, then):
    (source, table), (after, tables) = first, then
    return source[after], np.array([tables[cell][table[after[cell]]] for cell in range(20)])


def unpacked(keys):
    return (keys[:, None] // WEIGHTS % 6).astype(np.uint8)


def images(keys, all_moves):
    """The keys of all neighbours, in parts."""
    for begin in range(0, len(keys), CHUNK):
        states = unpacked(keys[begin : begin + CHUNK])
        for source, table in all_moves:
            reached = np.zeros(len(states), np.int64)
            for cell in range(20):
                reached += (table[cell] * WEIGHTS[cell])[states[:, source[cell]]]
            yield reached


def contains(ordered, keys):
    return ordered[np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)] == keys


def next_layer(layer, before, all_moves):
    reached = np.concatenate(list(images(layer, all_moves)))
    reached.sort()
    reached = reached[np.append(True, reached[1:] != reached[:-1])]
    new = ~contains(layer, reached)
    if len(before):
        new &= ~contains(before, reached)
    return reached[new]


def ball(depth, all_moves):
    layers = [np.array([key(symbols(LABELS, [0] * 20))])]
    for _ in range(depth):
        layers.append(next_layer(layers[-1], layers[-2] if len(layers) > 1 else layers[0][:0], all_moves))
    return layers


def key(state):
    return int((state * WEIGHTS).sum())


def distance(state, layers, all_moves):
    start = np.array([state])
    for depth, layer in enumerate(layers):
        if contains(layer, start)[0]:
            return depth
    layer, before = start, start[:0]
    for steps in range(1, 9):
        # The last layer around the state need not be kept.
        if any(contains(layers[-1], np.sort(reached)).any() for reached in images(layer, all_moves)):
            return len(layers) - 1 + steps
        layer, before = next_layer(layer, before, all_moves), layer
    raise ValueError("too far")


def random_states(number, seed):
    random = np.random.default_rng(seed)
    for _ in range(number):
        labels = np.concatenate([random.permutation(LABELS[:8]), random.permutation(LABELS[8:])])
        corners, edges = random.integers(0, 3, 8), random.integers(0, 2, 12)
        corners[0] = (corners[0] - corners.sum()) % 3
        edges[0] = (edges[0] - edges.sum()) % 2
        yield key(symbols(labels, np.concatenate([corners, edges])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("definition")
    parser.add_argument("--states")
    parser.add_argument("--random", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ball", type=int, default=7)
    parser.add_argument("--single", action="store_true")
    args = parser.parse_args()
    all_moves = moves(args.definition, args.single)
    layers = ball(args.ball, all_moves)
    print("states at the first depths:", *map(len, layers), flush=True)
    if args.states:
        wrong = 0
        for number, line in enumerate(open(args.states), 1):
            told = json.loads(line)
            # The file of moves counts turns the other way round.
            found = distance(key(symbols(told["labels"], -np.array(told["orientations"]) % ORDERS)), layers, all_moves)
            wrong += found != told["distance"]
            print(f"state {number}: {found}, told {told['distance']}", flush=True)
        print(f"{wrong} of {number} wrong")
        sys.exit(wrong > 0)
    counts = collections.Counter()
    for number, state in enumerate(random_states(args.random, args.seed), 1):
        counts[distance(state, layers, all_moves)] += 1
        if number % 50 == 0:
            print(number, dict(sorted(counts.items())), flush=True)


if __name__ == "__main__":
    main()
