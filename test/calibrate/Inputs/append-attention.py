"""Appends two made-up points by attention.py's own writer, which needs no PyTorch."""
import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import attention  # noqa: E402

points = [{"sequence": 4096, "head_dim": 128, "heads": 32, "causal": True, "backward": backward,
           "units": 132, "seconds": 1.25e-3 * (1 + 2 * backward), "repeats": 15, "spread": 0.01}
          for backward in (False, True)]
attention.append(sys.argv[2], points, "PyTorch, made up")
