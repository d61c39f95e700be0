#!/usr/bin/env bash
# What `.ci/run` leaves out: packages, their installation on a fresh Debian, engines, and the site of the documentation.
#
# Installs with apt, as root: musl-tools and debootstrap for the packages, parallel for its engine. Installs with pip, into an environment that is
# removed at the end: the wheel that it builds, hyperqueue, distributed, kubernetes-validate, pyyaml and pytest. Installs with cargo, into
# target/tools: cargo-deb and mdbook. Builds take some 20 minutes on two cores, the rest five.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$PWD/target/packages

needed=()
for command in musl-gcc:musl-tools debootstrap:debootstrap parallel:parallel; do
    PATH=$PATH:/usr/sbin command -v "${command%:*}" >/dev/null || needed+=("${command#*:}")
done
if [ ${#needed[@]} -gt 0 ]; then
    apt-get update
    apt-get install -y --no-install-recommends "${needed[@]}"
fi

rm -rf "$packages"
deploy/release/build.sh "$packages"
deploy/release/same.sh "$packages"
deploy/release/install.sh "$packages"

environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
python3 -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check "$packages"/*.whl hyperqueue distributed kubernetes-validate pyyaml pytest
# The programs are those of the wheel. Where kubectl or kustomize is installed, the manifests are also rendered.
PATH=$environment/bin:$PATH "$environment/bin/pytest" -q deploy/tests

[ -x target/tools/bin/mdbook ] || cargo install --locked --root target/tools mdbook
PATH=$PWD/target/tools/bin:$PATH deploy/site.sh
