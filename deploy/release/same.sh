#!/usr/bin/env bash
# Builds the same commit in another directory, and compares the packages byte for byte: same.sh DIRECTORY-OF-PACKAGES
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=$(realpath "$1")
other=$(mktemp -d)
trap 'rm -rf "$other"' EXIT
git clone --quiet . "$other/clone"
# What is downloaded need not be downloaded again.
mkdir -p "$other/clone/target" && cp -r target/tools "$other/clone/target/tools"
"$other/clone/deploy/release/build.sh" "$other/packages" >/dev/null
for file in "$packages"/*.tar.gz "$packages"/*.deb "$packages"/*.tar; do
    cmp "$file" "$other/packages/$(basename "$file")"
done
echo "Both builds are the same."
