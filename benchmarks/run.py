"""Measures the runner and the engine; see figures.py for the options."""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
runpy.run_module("benchmarks.figures", run_name="__main__")
