#!/usr/bin/env python3
"""Checks which folders and which files use which: no circle of includes, the layers of docs/architecture.md, the links
of CMake, and that functions are defined where their declaration lets one expect them.

tools/check-folders.py [--root DIR] [--print]

Every `#include "folder/..."` of a source is an edge from its folder to that folder. A folder with a library has to
link the libraries of the folders that it includes, and has to include something of those that it links.

Within the folders, a header and the source of its name are one pair, with the includes of both as edges. Pairs include
each other in no circle, and a function that a header declares is defined in the header or in its pair's source. Headers
that TableGen writes are no part of this. --print writes the edges between folders.
"""
import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

from cpp_functions import declarations_of, functions_of, owners_of

HEADERS = (".h", ".cuh", ".def")
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
    ("tools/dtc", "runtime/trust"): "signs what dtrun checks",
    ("passes/native", "runtime/format"): "writes code that calls what the runtime lets code call",
    ("passes/simt", "runtime/simt"): "writes code for the emulator: its binary interface and the list of its functions",
}

# These headers need no library: all of their code is in the header.
HEADER_ONLY = {
    "dialects/graph/EnumTable.h",
    "dialects/graph/GradientType.h",
    "dialects/graph/OptimizerKind.h",
    "dialects/graph/Precision.h",
    "dialects/graph/StateType.h",
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

# The functions that these headers declare are defined in several sources, each for its reason.
DEFINED_IN_SEVERAL = {
    "compiler/decide/decisions/Decisions.h": "compares in the order of all decisions, which AllDecisions.cpp knows",
    "compiler/decide/decisions/Families.h": "lists the rows of each family, in the source of its name",
    "compiler/describe/frontend/Importers.h": "lists one importer for each kind of model, in the source of its name",
    "compiler/price/workload/CellBuilder.h": "reads the exchanges of rows of experts in ExchangeCells.cpp",
    "kernels/cpu/IsaTables.h": "lists attention's functions for the table of an instruction set",
    "models/ModelBuilder.h": "has its small ops in SmallOps.cpp, which models of few large ops need none of",
    "passes/codegen/KernelModels.h": "lists the attachment of each family of kernels, in the source of its name",
    "passes/schedule/ExecLoweringInterface.h": "lists the registration of each source of lowerings",
    "compiler/show/export/Launchers.h": "lists one function for each launcher, in the source of its name",
    "tools/dtc/Commands.h": "lists one function for each command, in the source of its name",
    "tools/dtrun/Checkpoints.h": "takes checkpoints in Checkpoints.cpp and resumes from them in Resume.cpp",
}

LIBRARY = re.compile(r"dtc_add_(?:compiler|runtime)_library\(\s*(\w+)(.*?)\)", re.S)
TOOL = re.compile(r"dtc_add_compiler_tool\(\s*([\w-]+)(.*?)\)", re.S)


def sources(root):
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp", ".td", ".c", ".cu", ".cuh", ".def"):
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


def pair_of(file):
    """Returns the pair of a file: its path without the ending."""
    return file.rpartition(".")[0]


def read_pairs(root):
    """Returns (pair, pair) -> the includes between them, as "file: header", and file -> its functions."""
    includes, functions = defaultdict(list), {}
    for path in sources(root):
        file, text = str(path.relative_to(root)), path.read_text()
        for header in re.findall(r'^\s*(?:#include|include) "([^"]+)"', text, re.M):
            if folder_of(header) and (root / header).exists() and pair_of(header) != pair_of(file):
                includes[pair_of(file), pair_of(header)].append((file, header))
        if path.suffix != ".td":
            functions[file] = functions_of(text)
    return includes, functions


def find_knots(edges):
    """Returns the largest sets of pairs that all include each other, in some steps, as sorted lists."""
    uses = defaultdict(list)
    for a, b in sorted(edges):
        uses[a].append(b)
    number, least, waiting, knots = {}, {}, [], []

    def visit(pair):  # Tarjan's algorithm
        number[pair] = least[pair] = len(number)
        waiting.append(pair)
        for used in uses[pair]:
            if used not in number:
                visit(used)
            if used in waiting:
                least[pair] = min(least[pair], least[used])
        if least[pair] == number[pair]:
            start = waiting.index(pair)
            if len(waiting) - start > 1:
                knots.append(sorted(waiting[start:]))
            del waiting[start:]

    for pair in sorted(uses):
        if pair not in number:
            visit(pair)
    return sorted(knots)


def mistakes_of_pairs(includes, functions):
    for knot in find_knots(includes):
        yield "files include each other in a circle: " + ", ".join(knot)
        for (a, b), of in sorted(includes.items()):
            if a in knot and b in knot:
                for file, header in of:
                    yield f"  {file} includes {header}"
    elsewhere = defaultdict(list)
    declarations = declarations_of({file: of for file, of in functions.items() if file.endswith(HEADERS)})
    for file, of in functions.items():
        for function in of:
            if function.defined and not file.endswith(HEADERS):
                owners = owners_of(function, declarations)
                if owners and pair_of(file) not in map(pair_of, owners):
                    elsewhere[owners[0], file].append(function.spelled)
    for (header, file), names in sorted(elsewhere.items()):
        if header not in DEFINED_IN_SEVERAL:
            yield f"{header} declares what {file} defines, a source of another name: " + ", ".join(sorted(set(names)))
    for header in sorted(DEFINED_IN_SEVERAL.keys() - {header for header, _ in elsewhere}):
        yield f"tools/check-folders.py: {header} declares nothing that other sources define, so the exception goes"


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
    includes, functions = read_pairs(options.root)
    mistakes = list(mistakes_of(edges, links)) + list(mistakes_of_pairs(includes, functions))
    for mistake in mistakes:
        print(mistake)
    folders = {folder for edge in edges for folder in edge}
    print(f"check-folders.py: {len(folders)} folders, {len(edges)} uses, {len(functions)} files" +
          (", mistakes as above" if mistakes else ""))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
