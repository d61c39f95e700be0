import type { KPuzzleDefinition } from "cubing/kpuzzle";

const still = new Array(4).fill(0);

export const ring: KPuzzleDefinition = {
  name: "ring",
  orbits: [{ orbitName: "BEADS", numPieces: 4, numOrientations: 1 }],
  defaultPattern: { BEADS: { pieces: [0, 0, 1, 1], orientation: still } },
  moves: {
    R: { BEADS: { permutation: [1, 2, 3, 0], orientationDelta: still } },
    U: { BEADS: { permutation: [1, 0, 2, 3], orientationDelta: still } },
  },
  derivedMoves: { C: "[R, U]" },
};
