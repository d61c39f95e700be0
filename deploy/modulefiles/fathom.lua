-- A module of Lmod for an unpacked tarball: put this file beside it as modulefiles/fathom/VERSION.lua.
help("Fathom counts the states of permutation puzzles at each distance from the solved state.")
whatis("Name: fathom")
local root = pathJoin(myFileName():match("^(.*)/modulefiles/"), "fathom-search-" .. myModuleVersion() .. "-x86_64-linux")
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
