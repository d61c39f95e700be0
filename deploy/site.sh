#!/usr/bin/env bash
# Builds the documentation as a site in target/site with mdBook 0.5 (`cargo install mdbook`), and checks its links, without a network.
#
#   deploy/site.sh
#   REPOSITORY=https://forge.example/fathom/blob/main deploy/site.sh
#
# The site has the pages that docs/SUMMARY.md lists, at the same paths as in the repository. Links to other files lead to REPOSITORY,
# or without it to copies of the files.
set -euo pipefail
cd "$(dirname "$0")/.."
stage=target/site-source
rm -rf "$stage" target/site
mkdir -p "$stage/src"
cp deploy/site/{book.toml,site.css} "$stage"
python3 deploy/site/links.py stage "$stage/src" ${REPOSITORY:+"$REPOSITORY"}
# Without colours, whose codes would hide the words from grep.
NO_COLOR=1 mdbook build "$stage" --dest-dir "$PWD/target/site" 2>&1 | tee "$stage/log"
if grep -E '^ *(WARN|ERROR)' "$stage/log" >/dev/null; then
    echo "site.sh: error: mdbook gave warnings" >&2
    exit 1
fi
python3 deploy/site/links.py check target/site
