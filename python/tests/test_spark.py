"""Captures on Spark. The test needs pyspark and Java; without them it is left out."""

from __future__ import annotations

import pathlib
import shutil
import sys

import pytest

import fullpipe
from fullpipe.fleet.on_spark import source_of, why_frame

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


def test_spark_makes_the_tables_of_captures(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    # Else the workers run the first python3 of PATH.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    empty = tmp_path / "empty.pcap"
    empty.touch()
    spark = (
        pyspark.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    try:
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
        with pytest.raises(fullpipe.SettingError, match="expected captures"):
            why_frame(names, table="verdicts")
    finally:
        spark.stop()
