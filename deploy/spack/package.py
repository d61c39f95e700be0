# Copyright: the Fathom developers. SPDX-License-Identifier: (MIT OR Apache-2.0)
"""A Spack recipe: `spack repo create fathom-repo`, copy this file to packages/fathom-search/package.py there, and
`spack install fathom-search` in a clone that `spack develop` knows."""

from spack.package import *


class FathomSearch(Package):
    """Counts the states of permutation puzzles at each distance from the solved state."""

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("rust@1.95:", type="build")

    def install(self, spec, prefix):
        cargo = which("cargo")
        cargo("build", "--release", "--locked", "--bin", "fathom", "--bin", "fathom-worker")
        mkdirp(prefix.bin, prefix.share.man.man1)
        install("target/release/fathom", prefix.bin)
        install("target/release/fathom-worker", prefix.bin)
        which("target/release/fathom")("man", prefix.share.man.man1)
