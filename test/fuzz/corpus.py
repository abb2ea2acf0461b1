"""The inputs that fuzzers start from: seeds that a test writes, and the archive corpus/NAME.tar.xz of earlier finds."""
import io
import shutil
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def archive_of(name):
    return HERE / "corpus" / f"{name}.tar.xz"


def unpack(archive, folder):
    with tarfile.open(archive) as packed:
        for member in packed:
            (folder / Path(member.name).name).write_bytes(packed.extractfile(member).read())


def pack(contents, archive):
    """Writes the archive; the same contents give the same archive."""
    # Similar files stand side by side, which packs best.
    contents = sorted(contents, key=lambda data: (data[:1], len(data), data))
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as packed:
        for number, data in enumerate(contents):
            member = tarfile.TarInfo(f"{chr(data[0])}-{number:04}")
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    print(f"{archive}: {len(contents)} files of {sum(map(len, contents))} B in {archive.stat().st_size} B")


def write(folder, name, seeds):
    """Writes into `folder` the folders NAME-seeds with `seeds` (bytes by name), NAME-packed with the archive's files,
    and an empty NAME-found. They are replaced: finds of earlier runs would change this one."""
    folders = {kind: Path(folder) / f"{name}-{kind}" for kind in ("seeds", "packed", "found")}
    for each in folders.values():
        shutil.rmtree(each, ignore_errors=True)
        each.mkdir(parents=True)
    for seed, contents in seeds.items():
        (folders["seeds"] / seed).write_bytes(contents)
    unpack(archive_of(name), folders["packed"])
