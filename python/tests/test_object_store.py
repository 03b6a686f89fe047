"""Captures, datasets and reports in a store with the interface of S3, on loopback."""

from __future__ import annotations

import pathlib
from typing import Iterator

import pyarrow.fs
import pytest

import fullpipe
from fullpipe import fleet
from fullpipe.fleet.__main__ import main
from fullpipe.fleet.sources import expand

CAPTURE = (
    pathlib.Path(__file__).resolve().parents[2]
    / "examples"
    / "captures"
    / "send-buffer.pcap.gz"
)


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The options of a URI that lead to a store on loopback."""
    moto = pytest.importorskip("moto.server", reason="moto is not installed")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    endpoint = f"endpoint_override=127.0.0.1:{port}&scheme=http"
    yield f"?{endpoint}&region=us-east-1&allow_bucket_creation=true"
    server.stop()


def test_captures_dataset_and_report_are_in_an_object_store(options: str) -> None:
    store, _ = pyarrow.fs.FileSystem.from_uri(f"s3://bucket{options}")
    store.create_dir("bucket")
    for name in ("one.pcap.gz", "rack 1/day/two.pcap.gz", "rack 1/notes.txt"):
        with store.open_output_stream(f"bucket/captures/{name}") as stream:
            stream.write(CAPTURE.read_bytes() if name.endswith("gz") else b"no capture")
    pattern, dataset = f"s3://bucket/captures/**/*.gz{options}", f"s3://bucket/dataset{options}"
    outcome = fleet.why_many(pattern, dataset)
    assert (outcome.tasks, outcome.done, outcome.errors) == (2, 2, 0)
    assert fleet.why_many(pattern, dataset).kept == 2
    assert main(["report", dataset, "--out", f"s3://bucket/report{options}", "--pages", "1"]) == 0
    selector = pyarrow.fs.FileSelector("bucket/report", recursive=True)
    names = {info.path for info in store.get_file_info(selector)}
    (page,) = (name for name in names if "/connections/" in name)
    with store.open_input_stream("bucket/report/report.html") as stream:
        text = stream.read().decode()
    assert page.partition("report/")[2] in text and "What costs most: s3://bucket/dataset<" in text


def test_a_pattern_is_matched_in_the_paths_of_uris(tmp_path: pathlib.Path) -> None:
    for name in ("a/x1.pcap", "a/b c/x2.pcap", "a/b c/d/x3.pcap", "a/b c/d/y.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    base = tmp_path.as_uri()
    for pattern, expected in [
        ("a/*.pcap", ["a/x1.pcap"]),
        ("a/*/*.pcap", ["a/b%20c/x2.pcap"]),
        ("a/**/*.pcap", ["a/b%20c/d/x3.pcap", "a/b%20c/x2.pcap", "a/x1.pcap"]),
        ("a/b%20c/**", ["a/b%20c/d/x3.pcap", "a/b%20c/d/y.txt", "a/b%20c/x2.pcap"]),
        ("**/x[!12].pcap", ["a/b%20c/d/x3.pcap"]),
        ("a/x1.pcap", ["a/x1.pcap"]),
    ]:
        assert expand(f"{base}/{pattern}") == [f"{base}/{name}" for name in expected], pattern
    for wrong in (f"{base}/none/*.pcap", "s3://*/x.pcap"):
        with pytest.raises(fullpipe.SettingError):
            expand(wrong)
    with pytest.raises(fullpipe.SettingError, match="syntax error"):
        expand("s3://bucket/a b/*")
