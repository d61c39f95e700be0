"""Reads a table that `fathom table` wrote: prints the distance of a state, given by the label on each cell."""

import json
import math
import mmap
import struct
import sys


def arrangements(counts):
    """The number of words that have each symbol as often as `counts` says."""
    return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))


def number(orbits, labels, turns):
    """The number of the state with these labels and turns on the cells."""
    state = 0
    for orbit in orbits:
        counts, word = list(orbit["counts"]), 0
        for cell in orbit["cells"]:
            symbol = orbit["labels"].index(labels[cell])
            for smaller in range(symbol):
                if counts[smaller]:
                    counts[smaller] -= 1
                    word += arrangements(counts)
                    counts[smaller] += 1
            counts[symbol] -= 1
        for cell in orbit["cells"][: orbit["digits"]]:
            word = word * orbit["orientations"] + turns[cell]
        state = state * orbit["size"] + word
    return state


class Table:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, length = struct.unpack_from("<8sII", self.data)
        assert magic == b"FATHOMDT" and version == 1
        self.begin = 16 + length
        self.head = json.loads(self.data[16 : self.begin])

    def distance(self, labels, turns=None):
        at = number(self.head["orbits"], labels, turns)
        if self.head["bits"] == 4:
            entry = self.data[self.begin + at // 2] >> (at % 2 * 4) & 15
        else:
            entry = self.data[self.begin + at]
        return None if entry == self.head["none"] else entry


if __name__ == "__main__":
    print(Table(sys.argv[1]).distance([int(label) for label in sys.argv[2:]]))
