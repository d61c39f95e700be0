#!/usr/bin/env python3
"""Writes an image with both programs and nothing else, which `docker load` and `podman load` read:

    image.py DIRECTORY-OF-PROGRAMS VERSION FILE

The programs are linked statically, so the image needs no other files. The user is 10001, the working directory /data.
"""

import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile

USER = 10001


def tarball(entries: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """Returns a tarball of entries, all of the same time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for info, content in entries:
            info.size, info.mtime = len(content), int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def file(name: str, content: bytes, mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.mode = mode
    return info, content


def directory(name: str, mode: int, user: int = 0) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.uid, info.gid = tarfile.DIRTYPE, mode, user, user
    return info, b""


def main() -> None:
    programs, version, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    entries = [directory("data", 0o755, USER), directory("tmp", 0o1777), directory("usr", 0o755)]
    entries += [directory("usr/local", 0o755), directory("usr/local/bin", 0o755)]
    entries += [file(f"usr/local/bin/{path.name}", path.read_bytes(), 0o755) for path in sorted(programs.iterdir())]
    layer = tarball(entries)
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": str(USER),
            "WorkingDir": "/data",
            "Env": ["PATH=/usr/local/bin", "HOME=/data"],
            "Entrypoint": ["fathom"],
            "StopSignal": "SIGTERM",
            "Labels": {"org.opencontainers.image.title": "fathom-search", "org.opencontainers.image.version": version},
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }
    described = json.dumps(config, sort_keys=True).encode()
    name = hashlib.sha256(described).hexdigest() + ".json"
    manifest = [{"Config": name, "RepoTags": [f"fathom-search:{version}"], "Layers": ["layer.tar"]}]
    image = tarball([file(name, described), file("layer.tar", layer), file("manifest.json", json.dumps(manifest).encode())])
    out.write_bytes(image)


if __name__ == "__main__":
    main()
