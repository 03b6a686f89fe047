"""Scenarios: runs, sweeps, explanations, sizes, mistakes, signals and progress."""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time
import types
from typing import Any, Callable, Dict

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
    return fullpipe.Scenario.transfer(
        "20mbit", "20ms", settings={"tcp.send_buffer": "16K"}, duration=1.0
    )


def test_a_run_has_rows_connections_and_accounts(scenario: fullpipe.Scenario) -> None:
    results = fullpipe.run(scenario)
    (row,) = results.rows.to_dicts()
    assert row["goodput_mbps"] == pytest.approx(results.connections.column("goodput_mbps")[0])
    shares = [one["share"] for one in results.accounts.to_dicts() if one["end"] == "sender"]
    assert sum(shares) == pytest.approx(1.0)
    assert len(results.verdicts) == 0
    assert results.rows.to_dicts() == fullpipe.run(scenario).rows.to_dicts()


def test_settings_and_seeds_change_a_run(scenario: fullpipe.Scenario) -> None:
    plain = fullpipe.run(scenario).rows.column("goodput_mbps")[0]
    wide = fullpipe.run(scenario, {"host.tcp.send_buffer": 65_536})
    assert wide.rows.column("goodput_mbps")[0] > 1.5 * plain
    lossy = fullpipe.run(scenario, {"link.loss": "2%"}, seeds=3)
    assert lossy.rows.column("seeds") == [3]


def test_a_sweep_has_a_column_for_each_setting(scenario: fullpipe.Scenario) -> None:
    grid = {"host.tcp.send_buffer": "8K..32K*2", "link.delay": ["5ms", "10ms"]}
    rows = pyarrow.table(fullpipe.sweep(scenario, grid).rows)
    assert rows.num_rows == 6
    assert rows["host.tcp.send_buffer"].to_pylist() == [8192] * 2 + [16384] * 2 + [32768] * 2
    assert rows["link.delay_us"].to_pylist() == [5_000.0, 10_000.0] * 3
    # Any mapping is a grid, not only a dictionary.
    same = fullpipe.sweep(scenario, types.MappingProxyType(grid))
    assert pyarrow.table(same.rows) == rows
    # The number of worlds that run at the same time changes no result.
    alone = fullpipe.sweep(scenario, grid, workers=1)
    assert pyarrow.table(alone.rows) == rows
    assert fullpipe.grid_values(types.MappingProxyType({"link.mtu": [1500]})) == [
        ("link.mtu", ["1500"])
    ]


def test_row_number_joins_the_tables_of_a_sweep(scenario: fullpipe.Scenario) -> None:
    results = fullpipe.sweep(scenario, {"link.delay": ["5ms", "10ms"]}, explain=True)
    numbers = results.rows.column("row_number")
    assert numbers == [1, 2] == results.verdicts.column("row_number")
    for table in (results.connections, results.accounts, results.levers):
        assert set(table.column("row_number")) == {1, 2}


def test_an_explanation_names_limit_and_needed_value(scenario: fullpipe.Scenario) -> None:
    results = fullpipe.explain(scenario)
    (verdict,) = results.verdicts.to_dicts()
    assert verdict["limit"] == "send_buffer"
    assert (verdict["settings"], verdict["knob"]) == ("tcp.send_buffer", "tcp.send_buffer")
    assert verdict["changes"] == f"host.tcp.send_buffer={verdict['needed']}"
    assert len(results.levers) > 0
    assert "Limited by" in results.text


def test_a_verdict_names_every_setting_of_a_change_that_needs_several() -> None:
    row = fullpipe.Scenario.from_toml("netburner").rows[0]
    (verdict,) = fullpipe.explain("netburner", row=row).verdicts.to_dicts()
    changes = dict(change.split("=") for change in verdict["changes"].split("; "))
    assert verdict["settings"] == "SetSocketTxBuffers + SetSocketUnackBuffers"
    assert list(changes) == [f"device.{name}" for name in verdict["settings"].split(" + ")]
    assert changes[f"device.{verdict['knob']}"] == verdict["needed"]

    def goodput(settings: Dict[str, str]) -> float:
        (mbps,) = fullpipe.run("netburner", settings, row=row).rows.column("goodput_mbps")
        return float(mbps)

    joint = goodput(changes)
    assert joint == pytest.approx(verdict["predicted_mbps"], rel=0.05)
    for name, value in changes.items():
        assert goodput({name: value}) < 0.98 * joint, name


@pytest.mark.parametrize(
    ("direction", "settings"),
    [
        ("send", {"peer.SO_RCVBUF": "16384"}),
        ("receive", {"peer.SO_SNDBUF": "16384"}),
        ("send", {"host.SO_SNDBUF": "16384", "peer.SO_RCVBUF": "16384"}),
        ("send", {"link.loss": "2%", "host.tcp.sack": False}),
    ],
)
def test_the_changes_of_a_verdict_can_be_applied(direction: str, settings: Dict[str, Any]) -> None:
    scenario = fullpipe.Scenario.transfer(
        "100mbit", "20ms", preset="linux", direction=direction, settings=settings, duration=3.0
    )
    (verdict,) = fullpipe.explain(scenario).verdicts.to_dicts()
    assert verdict["changes"], verdict
    changes = dict(change.split("=") for change in verdict["changes"].split("; "))
    (mbps,) = fullpipe.run(scenario, changes).rows.column("goodput_mbps")
    low, high = 0.95 * verdict["predicted_low_mbps"], 1.05 * verdict["predicted_high_mbps"]
    assert low <= mbps <= high, (changes, verdict)


def test_an_observed_run_has_segments_series_and_a_page(scenario: fullpipe.Scenario) -> None:
    results = fullpipe.run(scenario, {"link.loss": "1%"}, observe=True)
    assert len(results.segments) > 500
    assert "cwnd_bytes" in results.series.column("series")
    assert "fast_recovery" in results.episodes.column("episode")
    assert "<html" in results.page().html
    with pytest.raises(fullpipe.SettingError, match="observe=True"):
        fullpipe.run(scenario).segments


def test_a_size_has_a_curve() -> None:
    sizes = fullpipe.size(rate="10mbit", rtt=0.01, preset="unet3")
    assert sizes.bdp_bytes == 12_500
    assert "send" in sizes.knobs.column("direction")
    assert len(sizes.curves) > len(sizes.knobs)


def test_presets_have_every_knob() -> None:
    assert "nuttx" in fullpipe.presets()
    assert fullpipe.preset("nuttx")["pool.blocks"] == "36"
    assert fullpipe.preset("default").keys() == fullpipe.preset("linux").keys()
    with pytest.raises(fullpipe.SettingError, match="nuttx"):
        fullpipe.preset("nutx")


def test_mistakes_name_file_line_and_fix() -> None:
    with pytest.raises(fullpipe.ScenarioError) as caught:
        fullpipe.Scenario.from_toml("title = 'x'\nhost = 1\n")
    mistake = caught.value
    assert (mistake.file, mistake.line, mistake.key) == ("scenario.toml", 2, "host")
    assert "hosts" in mistake.fix and mistake.others
    with pytest.raises(fullpipe.ScenarioError, match="did you mean"):
        fullpipe.Scenario.from_toml("netburne")
    with pytest.raises(fullpipe.SettingError) as refused:
        fullpipe.run("memory", {"tcp.sak": 1})
    assert refused.value.setting == "tcp.sak=1"


def test_progress_is_reported_and_its_exception_ends_the_run(
    scenario: fullpipe.Scenario,
) -> None:
    shares: list[float] = []
    fullpipe.explain(scenario, progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0

    def refuse(share: float) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fullpipe.explain("linux-buffers-a", progress=refuse)


@pytest.mark.parametrize(
    "work",
    [
        lambda tell: fullpipe.why(CAPTURE, progress=tell),
        lambda tell: fullpipe.explain("linux-buffers-a", progress=tell),
        lambda tell: fullpipe.sweep(
            "linux-buffers-a", {"link.delay": "1ms..1000ms+1ms"}, progress=tell
        ),
        lambda tell: fullpipe.run("linux-buffers-a", seeds=10_000, progress=tell),
        lambda tell: fullpipe.size(rate="10gbit", rtt="20ms", loss="1%", progress=tell),
    ],
    ids=["why", "explain", "sweep", "run", "size"],
)
def test_ctrl_c_ends_long_work(work: Callable[[Callable[[float], object]], object]) -> None:
    shares: list[float] = []
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        work(shares.append)
    timer.join()
    # Finished work ends with a share of 1.
    assert 1.0 not in shares
    assert time.monotonic() - began < 60


def test_other_threads_run_during_the_work(scenario: fullpipe.Scenario) -> None:
    count = 0
    is_over = threading.Event()

    def other() -> None:
        nonlocal count
        while not is_over.is_set():
            count += 1
            time.sleep(0.001)

    thread = threading.Thread(target=other)
    thread.start()
    fullpipe.explain(scenario)
    is_over.set()
    thread.join()
    assert count > 3
