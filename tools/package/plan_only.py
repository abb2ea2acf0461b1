"""Writes the archive of the program that only plans, with the libraries that it needs."""
import io
import tarfile

from contents import arguments, libraries, licences, shared_files, version


def main():
    build, output = arguments(__doc__)
    program = build.folder / "bin" / "dtc-plan-only"
    folder = f"dtc-plan-only-{version()}"
    path = output / f"{folder}-x86_64.tar.xz"
    files = {"bin/dtc": program.read_bytes()}
    bundled = libraries([program])
    files |= {f"lib/dtc/{name}": file.read_bytes() for name, file in bundled.items()}
    files |= {f"share/doc/dtc/licenses/{name}": data for name, data in licences(bundled.values()).items()}
    files |= {f"share/{name}": text.encode() for name, text in shared_files({"dtc": program}).items()}
    with tarfile.open(path, "w:xz", preset=1) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(data)
            entry.mode = 0o755 if name.startswith("bin/") else 0o644
            archive.addfile(entry, io.BytesIO(data))
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
