#!/usr/bin/env python3
"""Checks which folders use which: no circle of includes, the layers of docs/architecture.md, the links of CMake.

tools/check-folders.py [--root DIR] [--print]

Every `#include "folder/..."` of a source is an edge from its folder to that folder. A folder with a library has to
link the libraries of the folders that it includes, and has to include something of those that it links. --print
writes the edges.
"""
import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

TOPS = ("dialects", "kernels", "models", "passes", "compiler", "runtime", "tools")

# This maps the beginning of a path to the folders that it may use; a folder may always use itself.
LAYERS = {
    "dialects/": (),  # none, and not each other
    "models": ("dialects/",),
    "passes": ("passes", "dialects/", "kernels/cuda"),
    "kernels/": ("kernels/common",),
    "runtime/": ("runtime/", "kernels/"),
    "compiler/": ("compiler/", "passes", "dialects/", "models", "runtime/format", "kernels/cuda"),
    "tools/dtrun": ("runtime/", "tools/cli"),
    "tools/calibrate-gpu": ("tools/calibrate-gpu",),
    "tools/": ("tools/", "compiler/", "passes", "dialects/", "models", "runtime/format"),
}

# These uses are allowed in addition, each with its reason.
EXCEPTIONS = {
    ("compiler/measure/calibrate", "kernels/cpu"): "measures the kernels that programs run",
    ("compiler/measure/calibrate", "runtime/comm"): "measures the communicator that programs run on",
    ("compiler/build/emit", "runtime/cuda/launches"):
        "puts into programs the kernels that the device is going to launch",
    ("tools/dtc", "runtime/checkpoint"): "checks checkpoints as dtrun reads them",
    ("passes/native", "runtime/format"): "writes code that calls what the runtime lets code call",
    ("passes/simt", "runtime/simt"): "writes code for the emulator: its binary interface and the list of its functions",
}

# These headers need no library: all of their code is in the header.
HEADER_ONLY = {
    "dialects/graph/EnumTable.h",
    "dialects/graph/GradientType.h",
    "dialects/graph/OptimizerKind.h",
    "dialects/graph/Precision.h",
    "kernels/cpu/Philox.h",
    "runtime/base/Backoff.h",
    "runtime/base/Checked.h",
    "runtime/base/HalfFloats.h",
    "runtime/base/Status.h",
    "runtime/base/Text.h",
    "runtime/format/CodeImports.def",
    "runtime/simt/Abi.h",
    "runtime/simt/Intrinsics.def",
    "tools/cli/AddressSpace.h",
    "tools/cli/EndWithWords.h",
}

LIBRARY = re.compile(r"dtc_add_(?:compiler|runtime)_library\(\s*(\w+)(.*?)\)", re.S)
TOOL = re.compile(r"dtc_add_compiler_tool\(\s*([\w-]+)(.*?)\)", re.S)


def sources(root):
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp", ".td", ".c"):
                yield path


def folder_of(include):
    """Returns the folder that an include names, or nothing if it is none of ours."""
    return include.rpartition("/")[0] if include.split("/")[0] in TOPS and "/" in include else None


def read_edges(root):
    """Returns (from, to) -> the includes that make the edge, as "file: header"."""
    edges = defaultdict(list)
    for path in sources(root):
        folder = str(path.parent.relative_to(root))
        for header in re.findall(r'^\s*(?:#include|include) "([^"]+)"', path.read_text(), re.M):
            to = folder_of(header)
            if to and to != folder:
                edges[folder, to].append((str(path.relative_to(root)), header))
    return edges


def find_circle(edges):
    """Returns the folders of a circle, the first one again at the end; nothing if there is none."""
    uses = defaultdict(list)
    for a, b in sorted(edges):
        uses[a].append(b)
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder) :] + [folder]
        if folder in done:
            return None
        path.append(folder)
        for used in uses[folder]:
            circle = visit(used)
            if circle:
                return circle
        done.add(path.pop())
        return None

    for folder in sorted(uses):
        circle = visit(folder)
        if circle:
            return circle
    return None


def allowed(a, b):
    if (a, b) in EXCEPTIONS:
        return True
    for start, may in LAYERS.items():
        if a.startswith(start):
            return any(b.startswith(other) for other in may)
    return False


def read_links(root):
    """Returns folder -> (its library, the libraries that it links), of the folders that have one."""
    links = {}
    for top in TOPS:
        for path in sorted((root / top).rglob("CMakeLists.txt")):
            text = re.sub(r"#.*", "", path.read_text())
            found = LIBRARY.findall(text) + TOOL.findall(text)
            if len(found) > 1:
                sys.exit(f"check-folders.py: {path.relative_to(root)} has {len(found)} libraries, wanted one a folder")
            if found:
                name, body = found[0]
                _, _, linked = body.partition("LINK")
                links[str(path.parent.relative_to(root))] = (name,
                                                             set(re.findall(r"Dtc\w+", linked.split("TABLEGEN")[0])))
    return links


def mistakes_of(edges, links):
    circle = find_circle(edges)
    if circle:
        yield "folders include each other in a circle: " + " -> ".join(circle)
        for a, b in zip(circle, circle[1:]):
            yield f"  {a} -> {b}: " + ", ".join(f"{file} ({header})" for file, header in edges[a, b][:3])
    for (a, b), includes in sorted(edges.items()):
        if not allowed(a, b):
            file, header = includes[0]
            yield f"{file} includes {header}: {a} may not use {b}"
    for a, b in sorted(EXCEPTIONS):
        if (a, b) not in edges:
            yield f"tools/check-folders.py: {a} no longer uses {b}, so the exception goes"
    folder_of_library = {name: folder for folder, (name, _) in links.items()}
    for folder, (name, linked) in sorted(links.items()):
        needed = {
            links[b][0]
            for (a, b), includes in edges.items()
            if a == folder and b in links and any(header not in HEADER_ONLY for _, header in includes)
        }
        for library in sorted(needed - linked):
            yield f"{folder}/CMakeLists.txt: {name} does not link {library}, whose headers it includes"
        for library in sorted(linked - needed):
            if library in folder_of_library:
                yield (f"{folder}/CMakeLists.txt: {name} links {library} and includes nothing of "
                       f"{folder_of_library[library]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=Path(__file__).resolve().parent.parent, type=Path)
    parser.add_argument("--print", action="store_true", dest="prints", help="write who uses whom")
    options = parser.parse_args()
    edges, links = read_edges(options.root), read_links(options.root)
    if options.prints:
        for (a, b), includes in sorted(edges.items()):
            print(f"{a} -> {b} ({len(includes)})")
    mistakes = list(mistakes_of(edges, links))
    for mistake in mistakes:
        print(mistake)
    folders = {folder for edge in edges for folder in edge}
    print(f"check-folders.py: {len(folders)} folders, {len(edges)} uses" + (", mistakes as above" if mistakes else ""))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
