"""Checks the certificate of an upper bound. Run check.py with the certificate's file."""
import math
from itertools import accumulate

import numpy as np

from check import Bad, identity, inverse, must, parity, points, then


def certificate(cert, puzzle):
    """Replays the words of each stage, and checks that they solve all of its states."""
    must((puzzle.name, puzzle.metric) == (cert["space"], cert["metric"]), "the certificate is of another puzzle")
    if cert.get("joined") or puzzle.free[1:] or any(g for *_, g in puzzle.moves) or len(set(puzzle.keys)) < puzzle.cells:
        raise Bad("this program does not read joined stages, nor rotations, guards or equal pieces in certificates")
    moves, orders, fixed, product, total = {m: x for m, x, _ in puzzle.moves}, puzzle.free[0][2], [], 1, 0
    first = list(accumulate(orders, initial=0))
    for number, stage in enumerate(cert["stages"], 1):
        steps, pieces = [], [p for p in stage["solved"] if p not in fixed]
        for text in stage["words"]:
            x = identity(orders)
            for move in text.split():
                must(move in moves, f"stage {number}: {move!r} in {text!r} is not a move")
                x = then(x, moves[move])
            odd = cert.get("even", False) and parity(x[0])
            kept = all(x[0][p] == p and x[1][p] == 0 for p in fixed) and not (odd and fixed)
            must(kept, f"stage {number}: {text!r} undoes what was solved")
            steps.append((np.array(points(inverse(x))), odd, len(text.split())))
        radix = [first[-1] ** i for i in range(len(pieces) + 1)]
        if 2 * radix[-1] >= 1 << 63:
            raise Bad(f"stage {number} has too many pieces for this program")
        start = np.array([[first[p]] for p in pieces] + [[0]])
        known, waiting = np.empty(0, np.int64), {0: [start]}
        for distance in range(stage["moves"] + 1):
            new = np.concatenate(waiting.pop(distance, [start[:, :0]]), 1)
            code, at = np.unique(sum(row * k for row, k in zip(new, radix)), return_index=True)
            fresh = ~np.isin(code, known)
            new, known = new[:, at[fresh]], np.concatenate([known, code[fresh]])
            for to, odd, length in steps if new.shape[1] else ():
                waiting.setdefault(distance + length, []).append(np.vstack([to[new[:-1]], new[-1:] ^ odd]))
        solved = f"{len(known):,} states in {stage['moves']} moves"
        must(len(known) == stage["states"], f"stage {number}: its words solve {solved}, not {stage['states']:,} states")
        product, total, fixed = product * len(known), total + stage["moves"], stage["solved"]
    must(total == cert["upper_bound"], f"the stages add up to {total} moves, not {cert['upper_bound']}")
    # No group is larger than the invariants of its generators allow: sums of orientations, and parities.
    largest, parities = 1, [0]
    for orbit in puzzle.orbits():
        n, sums = orders[orbit[0]], [sum(x[1][c] for c in orbit) for x in moves.values()]
        largest *= math.factorial(len(orbit)) * n ** len(orbit) // math.gcd(n, *sums)
        row = sum(parity([x[0][c] for c in orbit]) << i for i, x in enumerate(moves.values()))
        if len(orbit) > 1:
            largest //= 1 + (row in parities)
            parities += [p ^ row for p in parities] if row not in parities else []
    print(f"{puzzle.name} {puzzle.metric}: proven: the words of {len(cert['stages'])} stages solve {product:,} states in {total} moves")
    if product != largest:
        raise Bad(f"the invariants allow {largest:,} states: this program cannot tell whether the stages have all of them")
    print("proven: these are all states, because the invariants of the moves allow no more")
