#!/usr/bin/env bash
# Builds the Python package in an environment of its own and runs its tests: python/tests/run.sh
set -euo pipefail
cd "$(dirname "$0")/.."
environment="$(mktemp -d)"
trap 'rm -rf "$environment"' EXIT
python3 -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check ".[test]"
# From elsewhere, so that the package is the installed one.
tests="$PWD/tests"
cd "$environment"
bin/pytest -q "$tests"
