import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union, final

from .page import Page

__all__ = [
    "__version__",
    "Table",
    "Scenario",
    "Results",
    "Why",
    "Sizes",
    "why",
    "run",
    "sweep",
    "grid_values",
    "explain",
    "size",
    "preset",
    "presets",
]

__version__: str

_Path = Union[str, "os.PathLike[str]"]
_Source = Union[_Path, bytes]
_Progress = Union[None, bool, Callable[[float], object]]
_Value = Union[str, int, float, bool]
_Settings = Mapping[str, _Value]
_Grid = Mapping[str, Union[str, Sequence[_Value]]]

@final
class Table:
    """A table of named columns, each with one Arrow type: utf8, uint64 or float64."""

    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> List[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Optional[Any] = None) -> Any: ...
    def to_dicts(self) -> List[Dict[str, Any]]: ...
    def column(self, name: str) -> List[Any]: ...
    def to_arrow(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def _repr_html_(self) -> str: ...

@final
class Scenario:
    """An experiment: hosts, links, flows, and rows that change their settings."""

    @staticmethod
    def from_toml(source: _Path) -> Scenario: ...
    @staticmethod
    def from_capture(
        source: Union[_Source, Sequence[_Source]],
        *,
        flow: Optional[int] = None,
        filter: Optional[str] = None,
        preset: str = "linux",
        progress: _Progress = None,
    ) -> Scenario: ...
    @staticmethod
    def transfer(
        rate: Union[str, float],
        rtt: Union[str, float],
        *,
        loss: Union[None, str, float] = None,
        preset: str = "default",
        direction: str = "send",
        settings: Optional[_Settings] = None,
        queue: Optional[str] = None,
        congestion: Optional[str] = None,
        size_bytes: Optional[int] = None,
        duration: Union[None, str, float] = None,
    ) -> Scenario: ...
    def to_toml(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def rows(self) -> List[str]: ...

@final
class Results:
    """Results of the rows of an experiment."""

    @property
    def rows(self) -> Table: ...
    @property
    def connections(self) -> Table: ...
    @property
    def accounts(self) -> Table: ...
    @property
    def verdicts(self) -> Table: ...
    @property
    def levers(self) -> Table: ...
    @property
    def segments(self) -> Table: ...
    @property
    def series(self) -> Table: ...
    @property
    def episodes(self) -> Table: ...
    @property
    def text(self) -> str: ...
    def page(self) -> Page: ...

@final
class Why:
    """What captures show: connections, accounts, and everything about one connection."""

    @property
    def captures(self) -> Table: ...
    @property
    def connections(self) -> Table: ...
    @property
    def accounts(self) -> Table: ...
    @property
    def segments(self) -> Table: ...
    @property
    def limits(self) -> Table: ...
    @property
    def episodes(self) -> Table: ...
    @property
    def series(self) -> Table: ...
    @property
    def verdicts(self) -> Table: ...
    @property
    def verdict(self) -> str: ...
    @property
    def left_out(self) -> int: ...
    @property
    def warnings(self) -> List[str]: ...
    @property
    def read_error(self) -> Optional[str]: ...
    def scenario(self) -> Scenario: ...
    def page(self) -> Page: ...
    def _repr_html_(self) -> str: ...

@final
class Sizes:
    """The smallest sufficient buffers and packet memory for a path."""

    @property
    def knobs(self) -> Table: ...
    @property
    def curves(self) -> Table: ...
    @property
    def bdp_bytes(self) -> int: ...
    @property
    def text(self) -> str: ...

def why(
    source: Union[_Source, Sequence[_Source]],
    *,
    flow: Optional[int] = None,
    filter: Optional[str] = None,
    preset: str = "linux",
    quick: bool = False,
    rows: int = 10_000,
    progress: _Progress = None,
) -> Why: ...
def run(
    scenario: Union[Scenario, _Path],
    settings: Optional[_Settings] = None,
    seeds: Optional[int] = None,
    *,
    row: Optional[str] = None,
    seed: int = 1,
    observe: bool = False,
    progress: _Progress = None,
) -> Results: ...
def explain(
    scenario: Union[Scenario, _Path],
    settings: Optional[_Settings] = None,
    *,
    row: Optional[str] = None,
    seed: int = 1,
    observe: bool = False,
    progress: _Progress = None,
) -> Results: ...
def sweep(
    scenario: Union[Scenario, _Path],
    grid: _Grid,
    settings: Optional[_Settings] = None,
    seeds: Optional[int] = None,
    *,
    row: Optional[str] = None,
    seed: int = 1,
    explain: bool = False,
    workers: Optional[int] = None,
    progress: _Progress = None,
) -> Results: ...
def size(
    scenario: Union[None, Scenario, _Path] = None,
    *,
    rate: Union[None, str, float] = None,
    rtt: Union[None, str, float] = None,
    loss: Union[None, str, float] = None,
    preset: str = "default",
    memory: Optional[int] = None,
    settings: Optional[_Settings] = None,
    low_water: int = 0,
    share: float = 0.95,
    seed: int = 1,
    progress: _Progress = None,
) -> Sizes: ...
def grid_values(grid: _Grid) -> List[Tuple[str, List[str]]]: ...
def preset(name: str) -> Dict[str, str]: ...
def presets() -> List[str]: ...
