#!/usr/bin/env python3
"""Updates corpus/NAME.tar.xz: keeps the inputs of the archive and folders of finds that reach more than the seeds do.

  pack_corpus.py NAME BUILD [FOLDER...]      NAME: outside or text; BUILD: the build folder, whose fuzz tests have run
"""
import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from corpus import archive_of, pack, unpack

MOST_FILE_BYTES = 40000  # -max_len of the tests


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=["outside", "text"])
    parser.add_argument("build", type=Path)
    parser.add_argument("found", type=Path, nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        kept, candidates = Path(temporary) / "kept", Path(temporary) / "candidates"
        candidates.mkdir()
        shutil.copytree(arguments.build / "test" / "fuzz" / f"{arguments.name}-seeds", kept)
        seeds = {path.name for path in kept.iterdir()}
        unpack(archive_of(arguments.name), candidates)
        for number, folder in enumerate(arguments.found):
            for path in folder.iterdir():
                if 0 < path.stat().st_size <= MOST_FILE_BYTES:
                    shutil.copyfile(path, candidates / f"{number}-{path.name}")
        fuzzer = arguments.build.resolve() / "test" / f"{arguments.name}-fuzz"
        # Merges by the code reached, not by its counts, which keeps a few hundred files.
        merge = ["-merge=1", "-use_counters=0", "-timeout=20", "-rss_limit_mb=2048"]
        subprocess.run([fuzzer, *merge, kept, candidates], check=True)
        pack([path.read_bytes() for path in kept.iterdir() if path.name not in seeds], archive_of(arguments.name))


main()
