#!/usr/bin/env bash
# Installs each package on a fresh Debian, and counts the states of 3x4 there: install.sh DIRECTORY-OF-PACKAGES
#
# Needs root, debootstrap and a mirror of Debian (MIRROR, http://deb.debian.org/debian).
set -euo pipefail
packages=$(realpath "$1")
mirror=${MIRROR:-http://deb.debian.org/debian}
expected=42c7d7426320e1a1d830f161a7fb3895f2f2ef6f6355f3db6511badb34c4de7b # of README.md
fresh=$(mktemp -d)
trap 'umount "$fresh/system/proc" 2>/dev/null || true; rm -rf --one-file-system "$fresh"' EXIT
debootstrap --variant=minbase --include=python3,python3-venv,python3-pip bookworm "$fresh/system" "$mirror" >"$fresh/log" || {
    tail -n 20 "$fresh/log" >&2
    exit 1
}
mount -t proc proc "$fresh/system/proc"
mkdir "$fresh/system/packages"
cp "$packages"/* "$fresh/system/packages"

# try NAME COMMAND: runs a script in the system, which prints a digest.
try() {
    local digest
    digest=$(chroot "$fresh/system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root bash -euc "cd; $2" | sed -n 's/^digest: //p' | tail -n 1)
    [ "$digest" = "$expected" ] || { echo "error: $1: the digest is '$digest'" >&2 && exit 1; }
    echo "$1: 3x4 is counted"
}
try "tarball" 'tar xf /packages/*.tar.gz; cd fathom-search-*; (cd /packages && sha256sum --quiet --check SHA256SUMS); bin/fathom run 3x4 --quiet --dir /root/tarball'
try "Debian package" 'dpkg -i /packages/*.deb >/dev/null; fathom run 3x4 --quiet --workers 2 --dir /root/deb; test -s /usr/share/man/man5/fathom-run.5.gz; test -s /usr/lib/systemd/system/fathom-worker.service'
# What the wheel needs is downloaded here, because the system may not have the certificates of this network.
python3 -m pip download --quiet --disable-pip-version-check --only-binary :all: --python-version 3.11 --platform manylinux_2_28_x86_64 \
    --platform manylinux2014_x86_64 --dest "$fresh/system/packages" 'numpy>=1.24'
try "wheel" 'python3 -m venv venv; venv/bin/pip install --quiet --no-index --find-links /packages fathom-search; venv/bin/python -c "import fathom_search; print(\"digest:\", fathom_search.run(\"3x4\").digest)"; venv/bin/fathom-worker --version >/dev/null; venv/bin/fathom run 3x4 --quiet --dir /root/wheel'
