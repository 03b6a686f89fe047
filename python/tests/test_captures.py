"""Captures: tables, sources, the twin, and files that cannot be read."""

from __future__ import annotations

import gzip
import pathlib

import duckdb
import polars
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
def answer() -> fullpipe.Why:
    return fullpipe.why(CAPTURE)


def test_a_table_is_taken_by_pyarrow_polars_and_duckdb(answer: fullpipe.Why) -> None:
    table = answer.segments
    arrow = pyarrow.table(table)
    assert arrow.num_rows == len(table) == polars.DataFrame(table).height
    assert arrow.column_names == table.column_names
    assert arrow.schema.field("at_ns").type == pyarrow.uint64()
    assert arrow.schema.field("from").type == pyarrow.string()
    segments = arrow
    summed = duckdb.sql("select sum(payload_bytes) from segments")
    assert summed is not None
    assert summed.fetchall()[0] == (sum(table.column("payload_bytes")),)
    assert segments.num_rows > 1_000


def test_the_shares_of_an_account_add_up(answer: fullpipe.Why) -> None:
    rows = answer.accounts.to_dicts()
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    elapsed = answer.connections.column("elapsed_s")[0]
    assert sum(row["seconds"] for row in rows) == pytest.approx(elapsed)
    payload = answer.connections.column("payload_bytes")[0]
    assert sum(row["payload_bytes"] for row in rows) == payload


def test_a_verdict_names_the_setting_and_the_result(answer: fullpipe.Why) -> None:
    (verdict,) = answer.verdicts.to_dicts()
    assert verdict["limit"] == "send_buffer"
    assert verdict["knob"] == "SO_SNDBUF"
    assert verdict["predicted_mbps"] > 20
    assert "send buffer" in answer.verdict


def test_the_twin_is_a_scenario_that_can_be_written_and_read(
    answer: fullpipe.Why,
) -> None:
    text = answer.scenario().to_toml()
    again = fullpipe.Scenario.from_toml(text)
    assert again.to_toml() == text
    goodput = fullpipe.run(again).rows.column("goodput_mbps")[0]
    captured = answer.connections.column("goodput_mbps")[0]
    assert goodput == pytest.approx(captured, rel=0.1)


def test_bytes_are_read_like_the_file(answer: fullpipe.Why) -> None:
    plain = gzip.decompress(CAPTURE.read_bytes())
    of_bytes = fullpipe.why(plain, quick=True)
    names = [name for name in answer.connections.column_names if name != "file"]
    for name in names:
        assert of_bytes.connections.column(name) == answer.connections.column(name)
    assert fullpipe.why(str(CAPTURE), quick=True).left_out == 0


def test_a_cut_capture_gives_a_partial_answer() -> None:
    plain = gzip.decompress(CAPTURE.read_bytes())
    answer = fullpipe.why(plain[: len(plain) // 2 + 7], quick=True)
    (capture,) = answer.captures.to_dicts()
    assert capture["is_partial"] == 1
    assert answer.warnings and len(answer.connections) == 1


def test_a_filter_chooses_connections() -> None:
    assert len(fullpipe.why(CAPTURE, filter="port 3306", quick=True).connections) == 1
    assert len(fullpipe.why(CAPTURE, filter="port 1", quick=True).connections) == 0
    with pytest.raises(fullpipe.SettingError):
        fullpipe.why(CAPTURE, filter="porl 1", quick=True)


def test_errors_name_the_file_and_the_reason(tmp_path: pathlib.Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.touch()
    for path in [empty, tmp_path / "missing.pcap", tmp_path]:
        with pytest.raises(fullpipe.CaptureError) as caught:
            fullpipe.why(path)
        assert caught.value.file == str(path) and caught.value.fix
    with pytest.raises(fullpipe.SettingError, match="last connection is number 1"):
        fullpipe.why(CAPTURE, flow=2, quick=True)


def test_the_page_is_one_file_that_a_notebook_frames(
    answer: fullpipe.Why, tmp_path: pathlib.Path
) -> None:
    page = answer.page()
    page.save(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert page._repr_html_().startswith("<iframe srcdoc=")
    assert answer._repr_html_().startswith("<table>")
