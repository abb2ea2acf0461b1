"""The error of this package, and libraries that are imported when they are needed."""

import importlib


class DataError(Exception):
    """A user's error. The message is one line with the file, the location in it, and what to do."""


def at(location, what):
    """Returns the error of a location, such as 'corpus.jsonl:17'."""
    return DataError(f"{location}: error: {what}")


def library(name, purpose, package=None):
    """Imports a library; where it is missing the error says what installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = package or name.partition(".")[0]
        raise DataError(f"error: {purpose} needs the Python package '{package}': pip install {package}") from error
