"""Arguments: numbers of Python and numpy, copies by pickle, and what each mistake is called."""

from __future__ import annotations

import copy
import errno
import fractions
import gzip
import importlib.metadata
import pathlib
import pickle
from typing import Any, Callable, Dict

import numpy
import pyarrow
import pytest

import fullpipe

CAPTURE = (
    pathlib.Path(__file__).resolve().parents[2]
    / "examples"
    / "captures"
    / "send-buffer.pcap.gz"
)


@pytest.fixture(scope="module")
def scenario() -> fullpipe.Scenario:
    return fullpipe.Scenario.transfer("20mbit", "20ms", duration=0.2)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("link.loss", 0.00001, "0.00001"),
        ("link.loss", 1e-06, "0.000001"),
        ("host.tcp.send_buffer", 16384.0, "16384"),
        ("host.tcp.send_buffer", numpy.int64(16384), "16384"),
        ("link.loss", numpy.float64(0.01), "0.01"),
        ("link.loss", fractions.Fraction(1, 8), "0.125"),
        ("host.tcp.sack", numpy.bool_(False), "false"),
        ("host.tcp.sack", True, "true"),
        ("host.tcp.congestion", "bbr", "bbr"),
    ],
)
def test_a_number_is_the_value_that_is_written(
    scenario: fullpipe.Scenario, name: str, value: Any, text: str
) -> None:
    assert fullpipe.grid_values({name: [value]}) == [(name, [text])]
    rows = fullpipe.run(scenario, {name: value}).rows.column("goodput_mbps")
    assert rows == fullpipe.run(scenario, {name: text}).rows.column("goodput_mbps")


S = "linux-buffers-a"
MISTAKES: Dict[str, Callable[[], object]] = {
    "link.lss=0": lambda: fullpipe.sweep(S, {"link.lss": [0]}),
    "link.loss": lambda: fullpipe.sweep(S, {"link.loss": 0.1}),  # type: ignore[dict-item]
    "link.delay": lambda: fullpipe.sweep(S, {"link.delay": "5ms..1ms+1ms"}),
    "link.delay=0.02": lambda: fullpipe.run(S, {"link.delay": 0.02}),
    "link.mtu": lambda: fullpipe.run(S, {"link.mtu": None}),  # type: ignore[dict-item]
    "link.rate": lambda: fullpipe.run(S, {"link.rate": float("nan")}),
    "seeds=0": lambda: fullpipe.run(S, seeds=0),
    "seeds=-1": lambda: fullpipe.run(S, seeds=-1),
    "seed=-1": lambda: fullpipe.run(S, seed=-1),
    "workers=0": lambda: fullpipe.sweep(S, {"link.loss": ["0%"]}, workers=0),
    "source": lambda: fullpipe.why([]),
    "row=x": lambda: fullpipe.run(S, row="x"),
    "seed=9999999999999999999999": lambda: fullpipe.run(S, seed=9999999999999999999999),
    "link.jitter": lambda: fullpipe.sweep(S, {"link.jitter": b"1%"}),
    "rate": lambda: fullpipe.size(rate="100gbit", rtt="2s"),
    "memory": lambda: fullpipe.size(rate="1mbit", rtt="9ms", memory=10**15),
    "flow=0": lambda: fullpipe.why(CAPTURE, flow=0),
    "flow=-1": lambda: fullpipe.why(CAPTURE, flow=-1),
    "flow=2": lambda: fullpipe.why(CAPTURE, flow=2),
    "rows=-1": lambda: fullpipe.why(CAPTURE, rows=-1),
    "quick": lambda: fullpipe.why(CAPTURE, quick=True).scenario(),
    "filter": lambda: fullpipe.why(CAPTURE, filter="port 9999").scenario(),
    "queue": lambda: fullpipe.Scenario.transfer("1mbit", "9ms", queue="abc"),
    "congestion": lambda: fullpipe.Scenario.transfer("1mbit", "9ms", congestion="abc"),
    "tcp.sak=1": lambda: fullpipe.Scenario.transfer("1mbit", "9ms", settings={"tcp.sak": 1}),
    "size_bytes=-1": lambda: fullpipe.Scenario.transfer("1mbit", "9ms", size_bytes=-1),
    "tcp.sak=2": lambda: fullpipe.size(rate="1mbit", rtt="9ms", settings={"tcp.sak": 2}),
    "rtt": lambda: fullpipe.size(rate="100mbit", rtt=20),
    "loss": lambda: fullpipe.size(S, loss="1%"),
    "preset": lambda: fullpipe.size(S, preset="linux"),
    "memory=-1": lambda: fullpipe.size(rate="1mbit", rtt="9ms", memory=-1),
    "low_water": lambda: fullpipe.size(rate="1mbit", rtt="9ms", low_water=-1),
}


@pytest.mark.parametrize("setting", MISTAKES)
def test_a_mistake_has_the_name_of_its_argument_and_a_fix(setting: str) -> None:
    with pytest.raises(fullpipe.SettingError) as caught:
        MISTAKES[setting]()
    mistake = caught.value
    assert mistake.setting == setting and mistake.fix
    assert str(mistake) == f"{setting}: {mistake.fix}"
    assert "--" not in str(mistake)
    assert pickle.loads(pickle.dumps(mistake)).setting == setting


def test_a_missing_file_has_the_number_of_the_error() -> None:
    with pytest.raises(fullpipe.ReadError, match="^/nowhere: ") as caught:
        fullpipe.why("/nowhere")
    assert (caught.value.errno, caught.value.file) == (errno.ENOENT, "/nowhere")
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (str(copied), copied.errno, copied.file) == (str(caught.value), errno.ENOENT, "/nowhere")


def test_the_package_has_its_licences() -> None:
    names = {path.name for path in importlib.metadata.files("fullpipe") or []}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "py.typed"} <= names


def test_scenarios_and_tables_can_be_sent_to_another_process(scenario: fullpipe.Scenario) -> None:
    other = pickle.loads(pickle.dumps(scenario))
    assert other == scenario == copy.deepcopy(scenario) and len({scenario, other}) == 1
    assert (other.name, other.to_toml()) == (scenario.name, scenario.to_toml())
    assert other != fullpipe.Scenario.from_toml(S)
    answer = fullpipe.why(CAPTURE, quick=True)
    for table in (answer.connections, answer.segments, fullpipe.why(CAPTURE, quick=True, filter="port 9").accounts):
        assert pyarrow.table(pickle.loads(pickle.dumps(table))).equals(pyarrow.table(table))


def test_a_capture_may_be_in_any_memory() -> None:
    plain = gzip.decompress(CAPTURE.read_bytes())
    expected = fullpipe.why(plain, quick=True).accounts.to_dicts()
    for source in (bytearray(plain), memoryview(plain)):
        assert fullpipe.why(source, quick=True).accounts.to_dicts() == expected
    with pytest.raises(fullpipe.CaptureError, match="bytes"):
        fullpipe.why(b"no capture", quick=True)
