"""Writes the wheel of dtc: programs, the libraries that they need, the Python packages, manual pages.

pip puts small Python commands into the environment's bin; they become the programs (dtc_programs).
"""
import base64
import hashlib
import zipfile
from pathlib import Path

from contents import ROOT, arguments, libraries, licences, monitoring, shared_files, version

PROGRAMS = ("dtc", "dtrun", "dtc-solve")
# The C library of Debian 12, on which the programs are linked.
TAG = "py3-none-manylinux_2_36_x86_64"
METADATA = """Metadata-Version: 2.1
Name: dtc
Version: {version}
Summary: Ahead-of-time compiler for distributed training: plans, compiles, runs
{licences}
Requires-Python: >=3.10
Provides-Extra: export
Requires-Dist: torch>=2.8; extra == "export"
Provides-Extra: data
Requires-Dist: tokenizers>=0.20; extra == "data"
Requires-Dist: pyarrow>=15; extra == "data"
Description-Content-Type: text/markdown

{readme}"""
WHEEL = f"""Wheel-Version: 1.0
Generator: dtc
Root-Is-Purelib: false
Tag: {TAG}
"""
ENTRIES = """[console_scripts]
dtc = dtc_programs:dtc
dtrun = dtc_programs:dtrun
dtc-solve = dtc_programs:dtc_solve
dtc-export = dtc.cli:main
dtc-data = dtc_data.cli:main
"""


class Wheel:
    """A wheel that is being written."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self.info = info
        self.record = []

    def add(self, name, data, executable=False):
        """Adds a file of bytes or text. Its time is the same in each build."""
        data = data.encode() if isinstance(data, str) else data
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100755 if executable else 0o100644) << 16  # pip asks for a regular file
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}\n")

    def close(self):
        record = f"{self.info}/RECORD"
        entry = zipfile.ZipInfo(record, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = 0o100644 << 16
        self.zip.writestr(entry, "".join(self.record) + f"{record},,\n")
        self.zip.close()


def main():
    build, output = arguments(__doc__)
    programs = {name: build.program(name) for name in PROGRAMS}
    path = output / f"dtc-{version()}-{TAG}.whl"
    wheel = Wheel(path, f"dtc-{version()}.dist-info")
    for package in ("dtc", "dtc_data", "dtc_programs"):
        for file in sorted((ROOT / "python" / package).glob("*.py")):
            wheel.add(f"{package}/{file.name}", file.read_bytes())
    for name, file in programs.items():
        wheel.add(f"dtc_programs/bin/{name}", file.read_bytes(), executable=True)
    plugins = build.plugins()
    # MPI is the machine's: a job has to use the one that its launcher belongs to.
    needed = libraries([*programs.values(), *(plugin for plugin in plugins if plugin.name != "libdtc_mpi.so")])
    for name, file in sorted({**needed, **{plugin.name: plugin for plugin in plugins}}.items()):
        wheel.add(f"dtc_programs/lib/dtc/{name}", file.read_bytes())
    for name, text in sorted({**shared_files(programs), **monitoring()}.items()):
        wheel.add(f"dtc-{version()}.data/data/share/{name}", text)
    texts = dict(sorted(licences(needed.values()).items()))
    for name, data in texts.items():
        wheel.add(f"{wheel.info}/licenses/{name}", data)
    readme = (ROOT / "README.md").read_text()
    wheel.add(f"{wheel.info}/METADATA", METADATA.format(
        version=version(), readme=readme, licences="\n".join(f"License-File: {name}" for name in texts)))
    wheel.add(f"{wheel.info}/WHEEL", WHEEL)
    wheel.add(f"{wheel.info}/entry_points.txt", ENTRIES)
    wheel.close()
    print(f"{path}: {Path(path).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
