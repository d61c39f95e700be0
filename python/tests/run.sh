#!/usr/bin/env bash
# Builds the Python package in an environment of its own and runs its tests: python/tests/run.sh
set -euo pipefail
cd "$(dirname "$0")/.."
environment="$(mktemp -d)"
trap 'rm -rf "$environment"' EXIT
python3 -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check ".[test]"
# Growth tables of others, for a notebook; what they need to run is not installed.
"$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps cayleypy
# From elsewhere, so that the package is the installed one.
tests="$PWD/tests" examples="$PWD/examples"
cd "$environment"
bin/pytest -q "$tests"
bin/pytest -q --nbmake "$examples"
