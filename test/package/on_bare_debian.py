#!/usr/bin/env python3
"""Installs each package of tools/package.sh on a Debian 12 that has nothing else, and uses it there.

The root is one of debootstrap (minimal: no compiler, no Python, no libraries of dtc), in a folder; programs run in it
by chroot, with a mount namespace of their own. It is made once and copied for each package.
  wheel      pip installs it without an index; dtc plans, compiles and exports; dtrun trains
  deb        apt installs it with Debian's libraries; the same, also with two ranks by mpirun
  plan-only  the archive is unpacked; dtc plans; it needs no Python and no BLAS

Runs where DTC_TEST_PACKAGES is 1: most of its minutes are downloads, compression and installing. Prints the seconds
from the package to the first step of the quickstart's model. Needs root that may mount, debootstrap and Debian's
archive; the exit code is 77 if one is missing, 1 if a package does not do what it should.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_WHEEL = 120e6  # bytes
TEXT = "To be, or not to be, that is the question. " * 200
COMPILE = ["dtc", "compile", "gpt2-quickstart", "--seq-len", "64", "--topology", "cpu", "--global-batch", "4"]


class Skipped(Exception):
    """Something that the test needs is not here."""


class Bare:
    """A copy of the bare root."""

    def __init__(self, base, folder):
        self.path = folder
        subprocess.run(["cp", "-a", str(base), str(folder)], check=True)
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", folder / "etc" / name)
        shutil.rmtree(folder / "etc/apt")
        shutil.copytree("/etc/apt", folder / "etc/apt", symlinks=True)
        (folder / "work").mkdir()
        (folder / "work/text.txt").write_text(TEXT)

    def run(self, *words, may_fail=False):
        """Runs words in the root, in /work; returns what they print. An exit code other than 0 ends the test."""
        done = self.process(*words)
        if done.returncode != 0 and not may_fail:
            raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def process(self, *words):
        """Runs words in the root; returns how they ended."""
        script = ('mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && root=$1 && shift && '
                  'exec chroot "$root" /usr/bin/env -C /work "$@"')
        keep = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        environment = {"PATH": "/opt/dtc/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                       "DEBIAN_FRONTEND": "noninteractive", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", **keep}
        return subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", str(self.path), *words], env=environment,
                              capture_output=True, text=True, check=False)

    def install(self, *packages):
        """Installs packages of Debian's archive, or .deb files of /work."""
        updated = self.process("apt-get", "-q", "update", "--error-on=any")
        if updated.returncode != 0:
            raise Skipped(f"the root does not reach Debian's archive: {updated.stderr.strip()}")
        self.run("apt-get", "-q", "install", "-y", "--no-install-recommends", *packages)


def check(holds, what):
    if not holds:
        raise SystemExit(what)


def megabytes(file):
    return f"{file.stat().st_size / 1e6:.1f} MB"


def trains(bare, ranks):
    """Compiles the quickstart's model and trains 3 steps; returns the seconds."""
    start = time.monotonic()
    bare.run(*COMPILE, "--devices", str(ranks), "-o", "model.dte")
    printed = bare.run("dtrun", "model.dte", "-n", str(ranks), "--data", "bytes:text.txt", "--steps", "3")
    check(len(re.findall(r"^step +\d+  loss  +[0-9.]+", printed, re.M)) == 3, f"no 3 steps:\n{printed}")
    return time.monotonic() - start


def plans(bare):
    printed = bare.run("dtc", "plan", "gpt2", "--seq-len", "1024", "--topology", "dgx-h100", "--global-batch", "64",
                       "-o", "plan.json")
    check("tokens/s" in printed, f"no plan:\n{printed}")
    page = bare.run("dtc", "manual", "-o", "pages")
    check("manual pages" in page, page)


def check_licences(folder, *others):
    """Checks that a package has the licences of dtc, of LLVM and of the Debian packages `others`."""
    names = {file.name for file in folder.iterdir() if file.stat().st_size > 0}
    missing = {"dtc", "llvm-22-dev", "libmlir-22-dev", *others} - names
    check(not missing, f"{folder} lacks the licences of {', '.join(sorted(missing))}")


def check_wheel(bare, packages):
    wheel, = packages.glob("*.whl")
    check(wheel.stat().st_size <= MAX_WHEEL, f"{wheel.name} has {wheel.stat().st_size / 1e6:.0f} MB; at most 120")
    bare.install("python3-venv")
    shutil.copy(wheel, bare.path / "work")
    start = time.monotonic()
    bare.run("python3", "-m", "venv", "/opt/dtc")
    bare.run("pip", "install", "-q", "--no-index", f"./{wheel.name}")
    installed = time.monotonic() - start
    seconds = installed + trains(bare, 1)
    plans(bare)
    check((bare.path / "opt/dtc/share/man/man1/dtc-plan.1").exists(), "the wheel has no manual pages")
    check((bare.path / "opt/dtc/share/dtc/monitoring").is_dir(), "the wheel has no files for monitoring")
    information, = bare.path.glob("opt/dtc/lib/python3*/site-packages/dtc-*.dist-info")
    check_licences(information / "licenses", "libhwloc15", "libgfortran5", "common-GPL-3")
    check("token" in bare.run("dtc", "data", "build", "--help"), "dtc data does not start")
    missing = bare.run("dtc-export", "x", may_fail=True)
    check("torch" in missing, f"dtc-export does not say that torch is missing: {missing}")
    check("clang" not in bare.run("sh", "-c", "ls /usr/bin /opt/dtc/bin"), "the root has a compiler")
    return f"wheel {megabytes(wheel)}: installed in {installed:.1f} s, first steps after {seconds:.1f} s"


def check_deb(bare, packages):
    deb, = packages.glob("*.deb")
    shutil.copy(deb, bare.path / "work")
    start = time.monotonic()
    bare.install(f"./{deb.name}", "openmpi-bin")
    seconds = time.monotonic() - start + trains(bare, 2)
    plans(bare)
    listed = bare.run("dpkg", "-L", "dtc")
    for name in ("/usr/share/man/man1/dtrun.1", "/usr/share/bash-completion/completions/dtc", "/usr/bin/dtc-solve",
                 "/usr/share/dtc/monitoring/"):
        check(name in listed, f"the .deb has no {name}")
    check_licences(bare.path / "usr/share/doc/dtc/licenses")
    return f"deb {megabytes(deb)}: first steps of 2 ranks after {seconds:.1f} s, with Debian's packages"


def check_plan_only(bare, packages):
    archive, = packages.glob("*.tar.xz")
    subprocess.run(["tar", "-C", str(bare.path / "opt"), "-xf", str(archive)], check=True)
    (bare.path / "opt" / archive.name.removesuffix("-x86_64.tar.xz")).rename(bare.path / "opt/dtc")
    plans(bare)
    refused = bare.run("dtc", "compile", "x", may_fail=True)
    check("there is no command 'compile'" in refused, refused)
    check_licences(bare.path / "opt/dtc/share/doc/dtc/licenses", "libhwloc15")
    check(not (bare.path / "usr/bin/python3").exists(), "the root has Python")
    libraries = [file.name for file in (bare.path / "opt/dtc/lib/dtc").iterdir()]
    check(not any(re.search("blas|mpi|dnnl|gomp", name) for name in libraries), f"libraries {libraries}")
    return f"plan-only {megabytes(archive)}: plans"


def base_root(folder):
    """Makes the bare root in `folder`, unless it is there."""
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        raise Skipped("chroot needs root, and the bare root debootstrap")
    if folder.exists():
        return
    sources = [*Path("/etc/apt/sources.list.d").glob("*.sources"), *Path("/etc/apt").glob("sources.list")]
    mirror = re.search(r"(https?://\S+/debian)/?\s", "\n".join(file.read_text() for file in sources))
    if not mirror:
        raise Skipped("this machine's sources of packages name no archive of Debian")
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    made = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", str(partial), mirror.group(1)],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Skipped(f"debootstrap: {made.stdout.strip().splitlines()[-1:]}")
    partial.rename(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--base", type=Path, help="the bare root; default: BUILD/test-debian")
    parser.add_argument("--only", choices=("wheel", "deb", "plan-only"))
    given = parser.parse_args()
    base = given.base or given.build / "test-debian"
    checks = {"plan-only": check_plan_only, "wheel": check_wheel, "deb": check_deb}
    with tempfile.TemporaryDirectory() as work:
        packages = Path(work) / "packages"
        try:
            if os.environ.get("DTC_TEST_PACKAGES") != "1":
                raise Skipped("DTC_TEST_PACKAGES is not 1")
            base_root(base)
            first = Bare(base, Path(work) / "first").process("true")
            if first.returncode != 0:
                raise Skipped(f"programs do not run in a root of their own: {first.stderr.strip()}")
            subprocess.run([str(ROOT / "tools/package.sh"), "--build", str(given.build), "-o", str(packages)],
                           check=True)
            for name, of_package in checks.items():
                if given.only in (None, name):
                    print(of_package(Bare(base, Path(work) / name), packages), flush=True)
        except Skipped as reason:
            print(f"skipped: {reason}")
            sys.exit(77)


if __name__ == "__main__":
    main()
