#!/usr/bin/env bash
# Runs the tests of the kernels for 64-bit Arm (NEON) under an emulator.
#
#     tests/aarch64.sh
#
# Needs the standard library for that processor (`rustup target add aarch64-unknown-linux-gnu`), a linker (Debian's gcc-aarch64-linux-gnu)
# and the emulator (qemu-user). Everything is built in target/aarch64.

set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
cargo test --release --package fathom-kernel --target aarch64-unknown-linux-gnu --target-dir target/aarch64 "$@"
