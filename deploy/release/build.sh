#!/usr/bin/env bash
# Builds everything that a release has: deploy/release/build.sh [DIRECTORY]
#
# Into DIRECTORY (target/packages), for x86-64: a tarball with both programs, linked statically, their manual pages, completions,
# examples and licences; a Debian package; a Python wheel, which carries the programs too; an image for Docker, Podman and
# Apptainer; and SHA256SUMS. The same commit gives the same bytes in any directory, except for the wheel, whose compiler
# is not pinned.
#
# Needs, besides Rust: musl-gcc (Debian: musl-tools), and Python with pip and venv. Installs cargo-deb into target/tools, and maturin and
# ziglang into an environment there.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
out=$(realpath -m "${1:-target/packages}")
target=x86_64-unknown-linux-musl
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=fathom-search-$version-x86_64-linux
tools=$root/target/tools
programs=$root/target/$target/release
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
mkdir -p "$out" "$tools"

# Both programs, without paths of this machine.
remap="--remap-path-prefix=$root=/fathom --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
rustup target add "$target"
CC_x86_64_unknown_linux_musl=musl-gcc CFLAGS_x86_64_unknown_linux_musl="-ffile-prefix-map=$root=/fathom -ffile-prefix-map=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
    RUSTFLAGS="$remap -C strip=symbols" CARGO_TARGET_DIR=$root/target \
    cargo build --release --locked --target "$target" --bin fathom --bin fathom-worker

# The files that all packages have.
staged=$root/target/staged
rm -rf "$staged"
mkdir -p "$staged"/{bin,share/man/man1,share/man/man5,share/doc/fathom-search,share/bash-completion/completions,share/zsh/site-functions,share/fish/vendor_completions.d}
install -m 755 "$programs/fathom" "$programs/fathom-worker" "$staged/bin"
"$programs/fathom" man "$staged/share/man/man1" >/dev/null
mv "$staged"/share/man/man1/*.5 "$staged/share/man/man5"
gzip -9n "$staged"/share/man/man?/*
for program in fathom fathom-worker; do
    "$programs/fathom" completions bash >"$staged/share/bash-completion/completions/$program"
    "$programs/fathom" completions fish >"$staged/share/fish/vendor_completions.d/$program.fish"
done
"$programs/fathom" completions zsh >"$staged/share/zsh/site-functions/_fathom"
cp -r README.md CHANGELOG.md CITATION.cff LICENSE-MIT LICENSE-APACHE docs/examples "$staged/share/doc/fathom-search"
cp -r deploy/systemd "$staged/share/doc/fathom-search/systemd"
find "$staged" -type d -exec chmod 755 {} +
find "$staged" -type f ! -path '*/bin/*' -exec chmod 644 {} +

# pack FILE DIRECTORY NAME: a tarball of a directory under another name, with nothing of this machine.
pack() {
    tar --create --directory "$2" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --transform "s,^\.,$3," . | gzip -9n >"$1"
}
pack "$out/$name.tar.gz" "$staged" "$name"

# The Debian package.
[ -x "$tools/bin/cargo-deb" ] || cargo install --locked --root "$tools" cargo-deb
rm -rf "$root/target/units" && mkdir -p "$root/target/units"
for unit in coordinator worker; do
    sed 's,/usr/local/bin,/usr/bin,' "deploy/systemd/fathom-$unit.service" >"$root/target/units/fathom-$unit.service"
done
PATH=$tools/bin:$PATH CARGO_TARGET_DIR=$root/target cargo deb --package fathom --target "$target" --no-build --no-strip --locked \
    --output "$out/fathom-search_${version}_amd64.deb"

# The wheel.
[ -x "$tools/python/bin/maturin" ] || python3 -m venv "$tools/python"
"$tools/python/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.8,<2' ziglang wheel
plain=$root/target/wheel
rm -rf "$plain" && mkdir -p "$plain"
(cd python && PATH=$tools/python/bin:$PATH RUSTFLAGS="$remap" CARGO_TARGET_DIR=$root/target/python \
    maturin build --release --locked --strip --zig --compatibility manylinux_2_28 --out "$plain")
# The programs go where pip installs commands.
"$tools/python/bin/wheel" unpack --dest "$plain" "$plain"/*.whl >/dev/null
scripts=$plain/fathom_search-$version/fathom_search-$version.data/scripts
mkdir -p "$scripts"
cp "$staged"/bin/* "$scripts"
"$tools/python/bin/wheel" pack --dest-dir "$out" "$plain/fathom_search-$version" >/dev/null

# The image.
python3 deploy/release/image.py "$staged/bin" "$version" "$out/fathom-search-$version-image.tar"

(cd "$out" && sha256sum -- *.tar.gz *.deb *.whl *.tar >SHA256SUMS && cat SHA256SUMS)
