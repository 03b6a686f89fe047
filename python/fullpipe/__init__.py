"""Limits of TCP transfers: captures diagnosed and changes simulated, as Arrow tables.

Three questions and their functions:

- what limits the connections of a capture: ``why(path)``
- what limits a described transfer, and what changes it: ``explain``, ``run``, ``sweep``
- which buffers a path needs: ``size``

Results hold ``Table`` objects. polars, pyarrow, pandas and DuckDB take them without a copy.
"""

from ._native import (
    Results,
    Scenario,
    Sizes,
    Table,
    Why,
    __version__,
    explain,
    grid_values,
    preset,
    presets,
    run,
    size,
    sweep,
    why,
)
from .errors import (
    CaptureError,
    FullpipeError,
    ReadError,
    ScenarioError,
    SettingError,
    SimulationError,
)
from .page import Page

__all__ = [
    "CaptureError",
    "FullpipeError",
    "Page",
    "ReadError",
    "Results",
    "Scenario",
    "ScenarioError",
    "SettingError",
    "SimulationError",
    "Sizes",
    "Table",
    "Why",
    "__version__",
    "explain",
    "grid_values",
    "preset",
    "presets",
    "run",
    "size",
    "sweep",
    "why",
]
