"""Writes the .deb of dtc, which depends on Debian's packages of the libraries that the programs need."""
import shutil
import subprocess
import tempfile
from pathlib import Path

from contents import ROOT, arguments, libraries, licences, monitoring, packages_of, shared_files, version

PROGRAMS = ("dtc", "dtrun", "dtc-solve")
CONTROL = """Package: dtc
Version: {version}
Architecture: amd64
Maintainer: dtc developers <dtc@example.org>
Installed-Size: {kilobytes}
Depends: {depends}, libc6 (>= 2.36), libstdc++6 (>= 12), libgcc-s1
{recommends}Suggests: python3
Section: science
Priority: optional
Description: ahead-of-time compiler for distributed training
 dtc takes a training graph written for one device and a description of a
 cluster, searches for the best way to parallelise it, and writes one file
 that dtrun runs across nodes.
"""


def main():
    build, output = arguments(__doc__)
    programs = {name: build.program(name) for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as work:
        root = Path(work)
        root.chmod(0o755)
        for folder in ("usr/bin", "usr/lib/dtc", "usr/share/doc/dtc", "usr/share/dtc/python/dtc_data", "DEBIAN"):
            (root / folder).mkdir(parents=True)
        for name, file in programs.items():
            shutil.copy(file, root / "usr/bin" / name)
        plugins = build.plugins()
        for plugin in plugins:
            shutil.copy(plugin, root / "usr/lib/dtc")
        for file in (ROOT / "python/dtc_data").glob("*.py"):
            shutil.copy(file, root / "usr/share/dtc/python/dtc_data")
        shutil.copy(ROOT / "LICENSE", root / "usr/share/doc/dtc/copyright")
        for name, text in shared_files(programs).items():
            place = root / "usr/share" / name.replace("zsh/site-functions", "zsh/vendor-completions")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        texts = {f"doc/dtc/licenses/{name}": text for name, text in licences([]).items()}
        for name, data in {**texts, **monitoring()}.items():
            place = root / "usr/share" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        own = libraries(programs.values())
        extra = {name: file for name, file in libraries(plugins).items() if name not in own}
        kilobytes = sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) // 1024
        launcher = ["openmpi-bin"] if any(plugin.name == "libdtc_mpi.so" for plugin in plugins) else []
        depends = packages_of(own.values())
        recommended = sorted({*packages_of(extra.values()), *launcher} - set(depends))
        (root / "DEBIAN/control").write_text(CONTROL.format(
            version=version(), kilobytes=kilobytes, depends=", ".join(depends),
            recommends=f"Recommends: {', '.join(recommended)}\n" if recommended else ""))
        path = output / f"dtc_{version()}_amd64.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", work, path], check=True,
                       stdout=subprocess.DEVNULL)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
