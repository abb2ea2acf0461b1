"""The command dtc-export."""

import argparse
import importlib
import inspect
import os
import sys

from dtc.api import export
from dtc.errors import ExportError
from dtc.huggingface import from_folder

DESCRIPTION = """Writes a PyTorch module as graph IR for dtc.

SPEC is a Hugging Face folder, or package.module:callable, a function that returns (module,
example_inputs), or (module, example_inputs, loss) with the loss as dtc.export takes it.

example: dtc-export ./qwen -o model.mlir --seq-len 512 --weights model.safetensors"""


def parser():
    result = argparse.ArgumentParser(
        prog="dtc-export",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("spec", metavar="SPEC")
    result.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="graph IR that is written"
    )
    result.add_argument(
        "--weights", metavar="FILE", help="safetensors file that is written, for dtrun --init"
    )
    result.add_argument(
        "--seq-len", type=int, metavar="S", help="tokens of a sample, of a Hugging Face folder"
    )
    result.add_argument(
        "--batch-norm",
        choices=("batch", "parts"),
        default="batch",
        help="statistics of the whole batch (default), or of each rank and micro-batch",
    )
    return result


def from_callable(spec):
    name, _, attribute = spec.partition(":")
    if not name or not attribute:
        raise ExportError(f"'{spec}' is no folder, and not package.module:callable")
    sys.path.insert(0, os.getcwd())
    try:
        made = importlib.import_module(name)
    except ImportError as error:
        raise ExportError(f"can't import {name}: {error}") from error
    for part in attribute.split("."):
        if not hasattr(made, part):
            raise ExportError(f"{name} has no '{attribute}'")
        made = getattr(made, part)
    if not callable(made):
        raise ExportError(
            f"{spec} is {type(made).__name__}, but a function that returns (module, example_inputs)"
            " is wanted"
        )
    try:
        inspect.signature(made).bind()
    except TypeError as error:
        raise ExportError(f"{spec} is called without arguments: {error}") from error
    except ValueError:
        pass  # a builtin without a signature
    made = made()
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise ExportError(
            f"{spec} has to return (module, example_inputs) or (module, example_inputs, loss)"
        )
    return made if len(made) == 3 else (*made, None)


def main(arguments=None):
    given = parser().parse_args(arguments)
    try:
        if os.path.isdir(given.spec):
            module, inputs, loss = from_folder(given.spec, given.seq_len)
        elif given.seq_len is not None and ":" in given.spec:
            raise ExportError(
                "--seq-len is of a Hugging Face folder; a function makes example inputs of the"
                " length that it wants"
            )
        else:
            module, inputs, loss = from_callable(given.spec)
        result = export(module, inputs, given.output, loss=loss, weights=given.weights, batch_norm=given.batch_norm)
    except ExportError as error:
        print("\n".join(f"error: {line}" for line in str(error).splitlines()), file=sys.stderr)
        return 1
    print(result.summary())
    return 0


if __name__ == "__main__":
    sys.exit(main())
