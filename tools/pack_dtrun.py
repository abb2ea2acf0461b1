#!/usr/bin/env python3
"""Packs dtrun with the libraries that it needs, for a machine that has neither, and unpacks it there.

tools/pack_dtrun.py pack dtrun.tar.xz              # on the machine that built dtrun; about 20 MiB (100 as dtrun.tar)
tools/pack_dtrun.py unpack dtrun.tar.xz FOLDER     # on the other one; prints variables for the environment

The other machine needs a C library and a C++ library as new as this one's. Open MPI is packed if it is installed, so
that several ranks run as well. Libraries of NVIDIA are not: the other machine has to have them, possibly in Python's
packages.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(os.environ.get("DTC_BIN", ROOT / "build" / "bin"))
# Every machine has these, and a library that is newer than the machine's C library would not work.
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so.*")
MPI_COMPONENTS = "openmpi3"  # the folder of Open MPI's plugins, within that of its libraries
# These components need libraries of fabrics and batch systems: on one machine none of them is of use.
FABRICS = re.compile(r".*(ofi|ucx|verbs|usnic|psm|portals|lsf|slurm|tm|ucc|monitoring|gridengine).*")


def needed(file):
    """Returns the path of each library of `file`, by name, also of libraries that libraries need."""
    done = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=False)
    found = {}
    for name, path in re.findall(r"^\s*(\S+) => (\S+)", done.stdout, re.M):
        if path == "not":
            sys.exit(f"pack_dtrun.py: {file} needs {name}, which is not here")
        if not SYSTEM.fullmatch(name):
            found[name] = Path(path)
    return found


def mpi_files(launcher):
    """Returns name in the archive -> file, for `mpirun` and its plugins; nothing if it is not Open MPI."""
    done = subprocess.run(["ompi_info", "--path", "pkglibdir", "--parsable"], capture_output=True, text=True,
                          check=False)
    components = Path(done.stdout.strip().rpartition(":")[2])
    if done.returncode != 0 or components.name != MPI_COMPONENTS:
        return {}
    files = {f"bin/{name}": Path(launcher).parent / name for name in ("mpirun", "orted")}
    plugins = [file for file in components.glob("*.so") if not FABRICS.fullmatch(file.name)]
    files |= {f"lib/{MPI_COMPONENTS}/{file.name}": file for file in plugins}
    for file in [*files.values()]:
        files |= {f"lib/{name}": path for name, path in needed(file).items()}
    pmix = Path("/usr/lib/x86_64-linux-gnu/pmix2")
    files |= {f"pmix/{file.relative_to(pmix)}": file for file in pmix.glob("lib/pmix/*.so")}
    texts = Path("/usr/share/openmpi")
    return files | {f"share/openmpi/{file.name}": file for file in texts.glob("help-*.txt")}


def pack(archive):
    """Writes `archive` and returns its size."""
    dtrun = BIN / "dtrun"
    if not dtrun.exists():
        sys.exit(f"pack_dtrun.py: there is no {dtrun}; build dtrun, or name its folder in DTC_BIN")
    files = {"bin/dtrun": dtrun}
    plugin = next((path for path in (BIN / "libdtc_mpi.so", BIN.parent / "lib" / "libdtc_mpi.so") if path.exists()),
                  None)
    launcher = shutil.which("mpirun")
    if plugin and launcher:
        files |= {"lib/libdtc_mpi.so": plugin, **mpi_files(Path(launcher))}
    for file in [dtrun, *([plugin] if plugin and launcher else [])]:
        files |= {f"lib/{name}": path for name, path in needed(file).items()}
    with tarfile.open(archive, "w:xz",
                      preset=2) if str(archive).endswith(".xz") else tarfile.open(archive, "w") as packed:
        for name, file in sorted(files.items()):
            entry = packed.gettarinfo(str(file.resolve()), name)
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            with open(file.resolve(), "rb") as contents:
                packed.addfile(entry, contents)
    return Path(archive).stat().st_size


def nvidia_folders():
    """Returns folders that may have cuBLASLt, NCCL and the driver, beside those that the loader knows."""
    packages = {sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]}
    found = [path for root in sorted(packages) for path in sorted(glob.glob(f"{root}/nvidia/*/lib"))]
    return found + [path for path in ("/usr/local/cuda/lib64", "/usr/local/nvidia/lib64") if Path(path).is_dir()]


def environment_of(folder):
    """Returns the environment variables of programs of an unpacked archive, and DTC_BIN for the scripts that start
    them.
    """
    folder = Path(folder).resolve()
    known = os.environ.get("LD_LIBRARY_PATH", "")
    # The libraries of the archive come first: dtrun was linked with them.
    libraries = [str(folder / "lib"), *nvidia_folders(), *([known] if known else [])]
    there = {"DTC_BIN": str(folder / "bin"), "LD_LIBRARY_PATH": ":".join(libraries),
             "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    if (folder / "lib" / "libdtc_mpi.so").exists():
        there["DTC_MPI_LIBRARY"] = str(folder / "lib" / "libdtc_mpi.so")
    if (folder / "bin" / "mpirun").exists():
        there |= {"DTC_MPIRUN": str(folder / "bin" / "mpirun"), "OPAL_PREFIX": str(folder),
                  "OMPI_MCA_mca_base_component_path": str(folder / "lib" / MPI_COMPONENTS),
                  "PMIX_INSTALL_PREFIX": str(folder / "pmix"), "OMPI_MCA_plm": "isolated",
                  "PMIX_MCA_pcompress_base_silence_warning": "1",
                  "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                  "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    return there


def extract(archive, folder):
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):  # Python asks for this argument from 3.12 on
            packed.extraction_filter = tarfile.data_filter
        packed.extractall(folder)


def unpack(archive, folder):
    """Unpacks into `folder`, unless it is there already; returns environment_of(folder)."""
    folder = Path(folder)
    if not (folder / "bin" / "dtrun").exists():
        extract(archive, folder)
    return environment_of(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pack", "unpack"))
    parser.add_argument("archive", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", help="where to unpack")
    arguments = parser.parse_args()
    if arguments.what == "pack":
        print(f"{arguments.archive}: {pack(arguments.archive) / 2**20:.1f} MiB")
    elif not arguments.folder:
        parser.error("unpack wants a folder")
    else:
        for name, value in unpack(arguments.archive, arguments.folder).items():
            print(f"export {name}='{value}'")


if __name__ == "__main__":
    main()
