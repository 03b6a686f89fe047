"""Many captures and many simulated worlds, as one Parquet dataset.

``why_many`` analyses captures, ``sweep_many`` runs a grid; both write tables in parts with a
manifest, never repeat a finished part, and give the same rows however many workers they have.
``report`` sums up datasets of captures, and ``pack`` makes a dataset of many captures faster to sum
up. All functions need pyarrow; ``report`` needs DuckDB.
"""

from .dataset import Outcome
from .many import sweep_many, why_many
from .pack import pack
from .report import report

__all__ = ["Outcome", "pack", "report", "sweep_many", "why_many"]
