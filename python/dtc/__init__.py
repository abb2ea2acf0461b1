"""Exports PyTorch modules as graph IR for dtc, and loads what was trained; see docs/pytorch.md."""

from dtc import losses, safetensors
from dtc.api import export
from dtc.errors import ExportError
from dtc.load import load
from dtc.report import Exported

__all__ = ["ExportError", "Exported", "export", "load", "losses", "safetensors"]
