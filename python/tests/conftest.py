"""A plain search in Python, with which results are compared."""

from __future__ import annotations

import pytest

import fathom_search as fathom


def search(moves):
    """Returns the distance of each state that moves reach. A state is the tuple of the pieces on the cells; a move
    carries the piece on cell c to cell move[c]."""
    cells = len(moves[0])
    turned = search_turned([(move, [0] * cells) for move in moves], [1] * cells)
    return {state[:cells]: distance for state, distance in turned.items()}


def search_turned(moves, orders):
    """Does the same for pieces that turn. A state is a tuple of the pieces and then their turns."""
    cells = len(orders)
    solved = tuple(range(cells)) + (0,) * cells
    distances, layer = {solved: 0}, [solved]
    while layer:
        found = []
        for state in layer:
            for images, turns in moves:
                image = [0] * (2 * cells)
                for cell in range(cells):
                    to = images[cell]
                    image[to] = state[cell]
                    image[cells + to] = (state[cells + cell] + turns[cell]) % orders[state[cell]]
                image = tuple(image)
                if image not in distances:
                    distances[image] = distances[state] + 1
                    found.append(image)
        layer = found
    return distances


def board(rows, columns):
    """Returns the moves of a board in the metric multi, from their definition: all rotations of its lines."""
    lines = [[row * columns + column for column in range(columns)] for row in range(rows)]
    lines += [[row * columns + column for row in range(rows)] for column in range(columns)]
    moves = set()
    for line in lines:
        for shift in range(1, len(line)):
            images = list(range(rows * columns))
            for place, cell in enumerate(line):
                images[cell] = line[(place + shift) % len(line)]
            moves.add(tuple(images))
    return sorted(moves)


def pancakes(number):
    """Returns the flips of a pile of pancakes."""
    return [tuple(top - cell if cell <= top else cell for cell in range(number)) for top in range(1, number)]


def counts_of(distances):
    counts = [0] * (max(distances.values()) + 1)
    for distance in distances.values():
        counts[distance] += 1
    return counts


@pytest.fixture(scope="session")
def small_board():
    """The result of 2x4, and the distances of all its states by a plain search."""
    return fathom.run("2x4"), search(board(2, 4))


@pytest.fixture(scope="session")
def corners():
    """The result of 2x2x2 with a corner that is fixed and only the quarter turns U and R."""
    return fathom.run("2x2x2", "single", moves="U,U',R,R'")
