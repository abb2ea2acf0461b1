"""Checks that a table has COUNT rows, each within a factor of MOST of the published one.

usage: check-ratios.py ROWS.csv COUNT MOST
"""
import csv
import sys

with open(sys.argv[1], newline="") as file:
    ratios = [float(row["ratio"]) for row in csv.DictReader(file)]
most = float(sys.argv[3])
if len(ratios) != int(sys.argv[2]) or not all(1 / most < ratio < most for ratio in ratios):
    sys.exit(f"ratios {ratios}, wanted {sys.argv[2]} from {1 / most:.2f} to {most}")
