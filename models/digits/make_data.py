#!/usr/bin/env python3
"""Writes images.npy (uint8 [1797, 64], 0 to 16) and labels.npy (uint8 [1797]) beside this file.

The data are those of sklearn.datasets.load_digits, the test set of "Optical Recognition of Handwritten
Digits" by E. Alpaydin and C. Kaynak (UCI Machine Learning Repository, 1998,
https://doi.org/10.24432/C50P49, CC BY 4.0). Needs numpy and scikit-learn.
"""
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

folder, digits = Path(__file__).resolve().parent, load_digits()
np.save(folder / "images.npy", digits.data.astype("u1"))
np.save(folder / "labels.npy", digits.target.astype("u1"))
