#!/usr/bin/env python3
"""Writes the 933,120 states of the three-colour cube that a half turn of the whole cube about the axis through U and D leaves as they are.

    half_turns.py > states.txt
    fathom run 3x3x3 --labels 0,1,0,1,1,0,0,1,2,3,2,3,2,3,2,3,4,4,4,4 --keep two --watch-states states.txt

The half turn exchanges cells in pairs, and keeps orientations. So in a state that it fixes, both cells of a pair look the same. Each line is a state as
cycles; pieces that look alike may be anywhere among themselves.
"""

from itertools import permutations, product

# A label for each corner and edge, as in three_colours.py.
LABELS = [0, 1, 0, 1, 1, 0, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 4, 4, 4, 4]
CORNERS = [(0, 2), (1, 3), (4, 7), (5, 6)]
EDGES = [(8, 10), (9, 11), (12, 14), (13, 15), (16, 18), (17, 19)]


def cycles(labels, orientations):
    """The state that has these on its cells, as cycles with orientations."""
    left = {label: [piece for piece, of in enumerate(LABELS) if of == label] for label in labels}
    # Where each piece goes: home, where it fits.
    to = {}
    for cell, label in sorted(enumerate(labels), key=lambda at: LABELS[at[0]] != at[1]):
        piece = cell if cell in left[label] and LABELS[cell] == label else left[label][-1]
        left[label].remove(piece)
        to[piece] = cell
    text, seen = "", set()
    for first in range(len(LABELS)):
        cycle, piece = [], first
        while piece not in seen:
            seen.add(piece)
            turn = orientations[to[piece]]
            cycle.append(f"{piece + 1}+{turn}" if turn else f"{piece + 1}")
            piece = to[piece]
        if len(cycle) > 1 or "+" in "".join(cycle):
            text += f"({','.join(cycle)})"
    return text or "()"


def main():
    corners = sorted(set(permutations([0, 0, 1, 1])))
    edges = sorted(set(permutations([2, 2, 3, 3, 4, 4])))
    # The orientations of all corners add up to a multiple of 3, so those of one of each pair do.
    twists = [twist for twist in product(range(3), repeat=4) if sum(twist) % 3 == 0]
    for corner, twist, edge, flip in product(corners, twists, edges, product(range(2), repeat=6)):
        labels, orientations = [0] * 20, [0] * 20
        for pair, label, turn in zip(CORNERS + EDGES, corner + edge, twist + flip):
            for cell in pair:
                labels[cell], orientations[cell] = label, turn
        print(cycles(labels, orientations))


main()
