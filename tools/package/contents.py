"""The contents of packages: programs, libraries, plugins, manual pages and completions of a build folder."""
import argparse
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Every Debian machine has these, and a C library that is newer than the machine's kernel and loader would not work.
SYSTEM = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so.*")
LINKED = ("llvm-22-dev", "libmlir-22-dev", "libcli11-dev", "libtomlplusplus-dev", "nlohmann-json3-dev",
          "libflatbuffers-dev", "libsodium-dev")  # Debian's packages of what is inside the programs
DOCUMENTS = Path("/usr/share/doc")
PLUGINS = ("libdtc_mpi.so", "libdtc_gloo.so", "libdtc_metrics.so")  # dtrun loads these where a job needs them
COMMON = re.compile(rb"/usr/share/common-licenses/([A-Za-z]+(?:-[0-9.]*[0-9])?)")
SHELLS = {"bash": "bash-completion/completions/{}", "zsh": "zsh/site-functions/_{}",
          "fish": "fish/vendor_completions.d/{}.fish"}


@dataclass
class Build:
    """A build folder with the programs of packages."""
    folder: Path

    def program(self, name):
        """Returns the file of a program as a package has it: dtc and dtrun with all of LLVM inside."""
        packaged = self.folder / "bin" / f"{name}-package"
        return packaged if packaged.exists() else self.folder / "bin" / name

    def plugins(self):
        """Returns the plugins that were built."""
        return [self.folder / "lib" / name for name in PLUGINS if (self.folder / "lib" / name).exists()]


def arguments(description):
    """Reads the command line of a script that makes a package: Build, output folder."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="BUILD")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "build" / "packages", metavar="FOLDER")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    return Build(given.build.resolve()), given.output


def version():
    """Returns the version that CMakeLists.txt states."""
    return re.search(r"project\(dtc VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def libraries(files):
    """Returns name -> path of every shared library that `files` need, also through libraries, but those of SYSTEM."""
    found = {}
    for file in files:
        listed = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=True).stdout
        for name, path in re.findall(r"^\s*(\S+) => (.+?)(?: \(0x|$)", listed, re.M):
            if SYSTEM.fullmatch(name):
                continue
            if path == "not found":
                raise SystemExit(f"package.sh: {file} needs {name}, which is not here")
            found[name] = Path(path).resolve()
    return found


def packages_of(files):
    """Returns the Debian packages that own the libraries `files`, sorted."""
    # Packages list what is in /usr/lib also as /lib.
    wanted = {place: file for file in map(str, files) for place in (file, file.removeprefix("/usr"))}
    listed = subprocess.run(["dpkg", "-S", *wanted], capture_output=True, text=True, check=False).stdout
    owners = {wanted[place]: name for name, place in re.findall(r"^([a-z0-9+.-]+)(?::\S+)?: (/.+)$", listed, re.M)}
    missing = set(wanted.values()) - set(owners)
    if missing:
        raise SystemExit(f"package.sh: no Debian package has {', '.join(sorted(missing))}")
    return sorted(set(owners.values()))


def licences(bundled):
    """Returns name -> bytes of the licences of a package: dtc's, those of LINKED and of the libraries `bundled`.

    They are the copyright files of Debian's packages, and the texts of common licences that these refer to.
    """
    files = {"dtc": (ROOT / "LICENSE").read_bytes()}
    for package in sorted({*LINKED, *packages_of(bundled)}):
        file = DOCUMENTS / package / "copyright"
        if not file.is_file():
            raise SystemExit(f"package.sh: there is no {file}, the licence of what the package bundles")
        files[package] = file.read_bytes()
    for name in {name for text in files.values() for name in COMMON.findall(text)}:
        common = Path("/usr/share/common-licenses") / name.decode()
        if common.is_file():
            files[f"common-{common.name}"] = common.read_bytes()
    return files


def monitoring():
    """Returns path below share/ -> bytes: the dashboard and rules of alerts that docs/watching.md names."""
    folder = ROOT / "tools/monitoring"
    return {f"dtc/monitoring/{file.relative_to(folder)}": file.read_bytes()
            for file in sorted(folder.rglob("*")) if file.is_file()}


def shared_files(programs):
    """Returns path below share/ -> text: the manual pages and completions that `programs` (name -> file) print."""
    files = {}
    with tempfile.TemporaryDirectory() as pages:
        subprocess.run([programs["dtc"], "manual", "-o", pages], check=True, capture_output=True)
        for page in sorted(Path(pages).iterdir()):
            files[f"man/man1/{page.name}"] = page.read_text()
    for shell, place in SHELLS.items():
        files[place.format("dtc")] = printed(programs["dtc"], "completion", shell)
        if "dtrun" in programs:
            files[place.format("dtrun")] = printed(programs["dtrun"], "--completion", shell)
    if "dtrun" in programs:
        files["man/man1/dtrun.1"] = printed(programs["dtrun"], "--manual")
    return files


def printed(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout
