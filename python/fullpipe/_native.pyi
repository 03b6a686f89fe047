import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union, final

from .page import Page

__all__ = [
    "__version__",
    "_scenario",
    "_table",
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
_Source = Union[_Path, bytes, bytearray, memoryview]
_Progress = Union[None, bool, Callable[[float], object]]
_Value = Union[str, int, float, bool]
_Settings = Mapping[str, _Value]
_Grid = Mapping[str, Union[str, Sequence[_Value]]]

@final
class Table:
    """A table of named columns, each with one Arrow type: utf8, uint64 or float64.

    Anything that takes Arrow data takes a table without a copy: `polars.DataFrame(table)`,
    `pyarrow.table(table)`, or DuckDB by the name of the variable. If a column has a unit, its name
    ends in the unit.
    """

    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> List[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Optional[Any] = None) -> Any: ...
    def to_dicts(self) -> List[Dict[str, Any]]:
        """Returns the rows as dictionaries of plain Python values; a missing value is None."""
    def column(self, name: str) -> List[Any]:
        """Returns the values of one column as a list of plain Python values; a missing value is None."""
    def to_arrow(self) -> Any:
        """Returns the table as a `pyarrow.Table`, without a copy."""
    def to_polars(self) -> Any:
        """Returns the table as a `polars.DataFrame`."""
    def to_pandas(self) -> Any:
        """Returns the table as a `pandas.DataFrame`; needs pyarrow."""
    def _repr_html_(self) -> str: ...

@final
class Scenario:
    """An experiment: hosts, links, flows, and rows that change their settings.

    Made by `Scenario.from_toml`, `Scenario.from_capture` or `Scenario.transfer`.
    """

    @staticmethod
    def from_toml(source: _Path) -> Scenario:
        """Reads an experiment: a path, the name of a built-in experiment, or TOML text (several lines).

        Raises ScenarioError with file, line, column and fix.
        """
    @staticmethod
    def from_capture(
        source: Union[_Source, Sequence[_Source]],
        *,
        flow: Optional[int] = None,
        filter: Optional[str] = None,
        preset: str = "linux",
        progress: _Progress = None,
    ) -> Scenario:
        """Fits an experiment to one connection of a capture.

        The arguments are those of `why`. Raises CaptureError if no experiment behaves like the
        connection.
        """
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
    ) -> Scenario:
        """Describes one transfer between a host with a preset and a stock Linux.

        rate: bit/s, or text such as "100mbit". rtt: round-trip time of the idle path, in seconds,
        or text such as "20ms". loss: probability below 1 that a frame with payload is lost.
        direction: "send" if the host with the preset sends, "receive" if it receives. queue: queue
        of the link, such as "50 packets". congestion: congestion control of the sender. size_bytes
        or duration (seconds, or text such as "20ms"): the payload or the time after which the
        transfer ends; give at most one of the two.
        """
    def to_toml(self) -> str:
        """Returns the experiment file as text. `fullpipe lab run` accepts it."""
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def rows(self) -> List[str]: ...

@final
class Results:
    """Results of the rows of an experiment.

    `row_number` (from 1) joins the tables. Times in `segments`, `series` and `episodes` are
    nanoseconds from the start of the row.
    """

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
    """Connections and accounts of captures, and everything about one connection.

    `connections` and `accounts` (seconds and bytes of each limit) have every connection, but at
    most `rows`. `segments`, `limits`, `episodes`, `series` and `verdicts` are about one connection:
    the only one, or number `flow`. Their times are nanoseconds from the first segment of the
    connection.
    """

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
    def scenario(self) -> Scenario:
        """Returns the experiment that behaves like the connection."""
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
) -> Why:
    """Reads captures and finds what limits their connections.

    source: a path, the bytes of a capture, or a list of them (two captures of one connection are
    merged). Formats: pcap and pcapng, plain or inside gzip or zstd. flow: number of the connection
    to explain, from 1; default: the only connection. filter: reads only the connections that match,
    in tcpdump's words. preset: operating system of the hosts; the advice names its settings. quick:
    finds only the account (seconds and bytes of each limit), without a simulation and a verdict.
    rows: the maximum number of connections in the tables; those with the most lost time are kept.
    progress: True for a tqdm bar, or a function of the finished share (0 to 1).

    Raises CaptureError for a file that is no capture, ReadError for a file that cannot be opened or
    read, SettingError for a wrong argument.
    """
def run(
    scenario: Union[Scenario, _Path],
    settings: Optional[_Settings] = None,
    seeds: Optional[int] = None,
    *,
    row: Optional[str] = None,
    seed: int = 1,
    observe: bool = False,
    progress: _Progress = None,
) -> Results:
    """Runs every row of a scenario, without explanations.

    scenario: a Scenario, TOML text, a path, or the name of a built-in experiment. settings: values
    by name, as `--set` of the command takes them; a number has no unit, so a time or a rate is a
    text such as "20ms". row: label of the only row to run. seeds: number of runs of each row, each
    with another seed, at least 1; with several, results are medians. seed: the first seed. observe:
    keeps segments, series and episodes of the first seed. progress: True for a tqdm bar, or a
    function of the finished share (0 to 1).

    Raises ScenarioError for a wrong scenario, SettingError for a wrong setting or argument.
    """
def explain(
    scenario: Union[Scenario, _Path],
    settings: Optional[_Settings] = None,
    *,
    row: Optional[str] = None,
    seed: int = 1,
    observe: bool = False,
    progress: _Progress = None,
) -> Results:
    """Runs every row and finds its limit, the setting to change and the result of the change.

    The arguments are those of `run`. In the results, the tables `verdicts` and `levers` are filled.
    """
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
) -> Results:
    """Runs every row with every combination of the values of a grid.

    grid: values by setting. Values are a list, or a text such as "4K..1M*2" or "10ms..50ms+10ms".
    The first setting changes slowest. Each swept setting is a column of `rows`, with its unit in
    the name. workers: the maximum number of simulations that run at the same time; None for one per
    processor. explain: adds verdicts. The other arguments are those of `run`.
    """
def size(
    scenario: Union[None, Scenario, _Path] = None,
    *,
    rate: Union[None, str, float] = None,
    rtt: Union[None, str, float] = None,
    loss: Union[None, str, float] = None,
    preset: Optional[str] = None,
    memory: Optional[int] = None,
    settings: Optional[_Settings] = None,
    low_water: int = 0,
    share: float = 0.95,
    seed: int = 1,
    progress: _Progress = None,
) -> Sizes:
    """Searches the smallest buffers and packet memory that suffice for a path.

    scenario: a scenario whose first row gives rate, round-trip time, loss and preset; or give rate
    (bit/s or "100mbit") and rtt (seconds or "20ms", at most 5 s) instead. loss: probability, from 0
    to below 1, that a frame with payload is lost. preset: default "default". memory: packet memory
    of the host in bytes; None gives the host more than the transfer needs. low_water: percent of
    the send buffer that must be free before a blocked writer continues, 0 to 90. share: goodput
    that suffices, as a share (below 1) of the goodput that the path carries. progress: True for a
    tqdm bar, or a function of the finished share (0 to 1).
    """
def _scenario(name: str, file: str, text: str) -> Scenario:
    """Returns a scenario that pickle stored."""

def _table(columns: Sequence[Tuple[str, str, Sequence[Any]]]) -> Table:
    """Returns a table that pickle stored."""

def grid_values(grid: _Grid) -> List[Tuple[str, List[str]]]:
    """Returns the values of each setting of a grid as texts, in order.

    A text such as "4K..1M*2" becomes its values.
    """
def preset(name: str) -> Dict[str, str]:
    """Returns every knob of a host with its value in a preset, by name."""
def presets() -> List[str]:
    """Returns the names of the presets."""
