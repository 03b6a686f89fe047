"""Captures on Spark. The test needs pyspark and Java; without them it is left out."""

from __future__ import annotations

import pathlib
import shutil
import sys
from typing import Any, Dict, Iterator, List, Union

import pyarrow.parquet
import pytest

import fullpipe
from fullpipe import fleet
from fullpipe.fleet.on_spark import source_of, sweep_frame, why_frame

CAPTURE = (
    pathlib.Path(__file__).resolve().parents[2]
    / "examples"
    / "captures"
    / "send-buffer.pcap.gz"
)


def test_a_name_that_spark_made_is_a_path_or_uri_of_arrow() -> None:
    assert source_of("file:/a b/c.pcap") == "/a b/c.pcap"
    assert source_of("s3a://bucket/c.pcap") == "s3://bucket/c.pcap"
    assert source_of("file:///a/c.pcap") == "file:///a/c.pcap"


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session with two workers on this machine."""
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    # Else the workers run the first python3 of PATH.
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYSPARK_PYTHON", sys.executable)
        session = (
            pyspark.SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .getOrCreate()
        )
        yield session
        session.stop()


def test_spark_makes_the_tables_of_captures(spark: Any, tmp_path: pathlib.Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.touch()
    names = spark.createDataFrame([(str(CAPTURE),), (str(empty),)], "path string")
    frame = why_frame(names.repartition(2))
    rows = {row["file"]: row.asDict() for row in frame.collect()}
    (expected,) = fullpipe.why(CAPTURE, quick=True).connections.to_dicts()
    assert rows[str(CAPTURE)] == {**expected, "error": None}
    assert "CaptureError" in rows[str(empty)]["error"]
    assert rows[str(empty)]["lost_s"] is None
    accounts = why_frame(names, table="accounts")
    accounts.createOrReplaceTempView("accounts")
    (most,) = spark.sql(
        "select `limit`, sum(seconds) as seconds from accounts where error is null"
        " group by `limit` order by seconds desc limit 1"
    ).collect()
    assert most["limit"] == "send_buffer"
    with pytest.raises(fullpipe.SettingError, match="expected one of captures"):
        why_frame(names, table="segments")


def test_spark_makes_the_verdicts_of_captures(spark: Any, tmp_path: pathlib.Path) -> None:
    empty, out = tmp_path / "empty.pcap", tmp_path / "out"
    empty.touch()
    assert fleet.why_many([CAPTURE, empty], out, explain=1).errors == 1
    (expected,) = pyarrow.parquet.read_table(out / "verdicts").to_pylist()
    names = spark.createDataFrame([(str(CAPTURE),), (str(empty),)], "path string")
    rows = {row["file"]: row.asDict() for row in why_frame(names, table="verdicts").collect()}
    assert rows[str(CAPTURE)] == {**expected, "error": None}
    assert "CaptureError" in rows[str(empty)]["error"]


def test_spark_makes_the_tables_of_a_sweep(spark: Any, tmp_path: pathlib.Path) -> None:
    grid: Dict[str, List[Union[str, int]]] = {
        "link.delay": ["5ms", "10ms"],
        "device.tcp.send_buffer": [4_096],
    }
    for table in ("rows", "verdicts"):
        out = tmp_path / table
        fleet.sweep_many("nuttx", grid, out, explain=table == "verdicts")
        expected = pyarrow.parquet.read_table(out / table).to_pylist()
        frame = sweep_frame(spark, "nuttx", grid, table=table, batch=1)
        found = [row.asDict(recursive=True) for row in frame.collect()]
        assert {row.pop("error") for row in found} == {None}
        assert sorted(found, key=str) == sorted(expected, key=str)
    with pytest.raises(fullpipe.SettingError, match="expected rows"):
        sweep_frame(spark, "nuttx", grid, table="connections")
    with pytest.raises(fullpipe.SettingError, match="soon"):
        sweep_frame(spark, "nuttx", {"link.delay": ["5ms", "soon"]})
