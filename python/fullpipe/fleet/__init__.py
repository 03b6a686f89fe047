"""Many captures and many simulated worlds, as one Parquet dataset.

``why_many`` analyses captures, ``sweep_many`` runs a grid; both write tables in parts with a
manifest, do a finished part never again, and give the same rows however many workers they have.
``report`` sums up a dataset of captures. They need pyarrow; ``report`` needs DuckDB.
"""

from .dataset import Outcome
from .many import sweep_many, why_many
from .report import report

__all__ = ["Outcome", "report", "sweep_many", "why_many"]
