"""The report: sums of a dataset, changes, outliers with pages, before and after."""

from __future__ import annotations

import gzip
import pathlib
import re
import shutil
from typing import Any, Dict, List

import pyarrow
import pyarrow.parquet
import pytest

import fullpipe
from fullpipe import fleet
from fullpipe.fleet.__main__ import main
from fullpipe.fleet.sums import network_of, summaries

CAPTURE = (
    pathlib.Path(__file__).resolve().parents[2]
    / "examples"
    / "captures"
    / "send-buffer.pcap.gz"
)


def connection(file: str, sender: str, receiver: str, **more: Any) -> Dict[str, Any]:
    """Returns a record of the table `connections`: 1 MB in 10 s, of which 4 s are lost time."""
    common = {
        "file": file,
        "number": 1,
        "sender": sender,
        "receiver": receiver,
        "elapsed_s": 10.0,
        "payload_bytes": 1_000_000,
        "goodput_mbps": 0.8,
        "base_rtt_ms": 20.0,
        "retransmitted_segments": 3,
        "limit": "send_buffer",
        "confidence": "high",
        "lost_s": 4.0,
    }
    return {**common, **more}


def verdict(file: str, knob: str, needed: str, predicted_s: float) -> Dict[str, Any]:
    """Returns a record of the table `verdicts` about connection 1 of a file.

    The whole connection would take `predicted_s`; the simulation carried half of it.
    """
    return {
        "file": file,
        "number": 1,
        "limit": "send_buffer",
        "knob": knob,
        "needed": needed,
        "predicted_mbps": 8 / predicted_s,
        "predicted_low_mbps": 4 / predicted_s,
        "predicted_s": predicted_s / 2,
    }


def write(dataset: pathlib.Path, **tables: List[Dict[str, Any]]) -> str:
    for name, rows in tables.items():
        (dataset / name).mkdir(parents=True)
        pyarrow.parquet.write_table(
            pyarrow.Table.from_pylist(rows), dataset / name / "part.parquet"
        )
    return str(dataset)


def without_dataset(sums: Dict[str, pyarrow.Table]) -> Dict[str, pyarrow.Table]:
    """Returns the tables without the name of the dataset of each capture."""
    return {
        name: table.drop_columns(["dataset"]) if "dataset" in table.column_names else table
        for name, table in sums.items()
    }


@pytest.fixture
def dataset(tmp_path: pathlib.Path) -> str:
    """Eight connections on three paths, of which four have a verdict."""
    connections = [
        connection(f"{number}.pcap", f"10.0.0.{number}:443", "192.0.2.9:50000") for number in range(5)
    ]
    connections += [
        connection("slow.pcap", "10.0.0.9:443", "192.0.2.9:50001", goodput_mbps=0.1, lost_s=9.0),
        connection("six.pcap", "[2001:db8:1:2::1]:80", "[2001:db8:2::2]:50000"),
        connection("unsure.pcap", "10.0.1.1:22", "192.0.2.9:50000", confidence="low"),
    ]
    verdicts = [
        verdict("0.pcap", "SO_SNDBUF", "64K", 4.0),
        verdict("1.pcap", "SO_SNDBUF", "128K", 2.0),
        verdict("unsure.pcap", "SO_SNDBUF", "128K", 5.0),
        verdict("2.pcap", "", "", 10.0),
    ]
    captures = [{"file": row["file"], "is_partial": 0} for row in connections]
    return write(
        tmp_path / "dataset", captures=captures, connections=connections, verdicts=verdicts
    )


def test_a_change_is_a_setting_whatever_value_a_connection_needs(dataset: str) -> None:
    (change,) = summaries([dataset])["changes"].to_pylist()
    assert (change["setting"], change["connections"]) == ("SO_SNDBUF", 3)
    assert change["saved_s"] == pytest.approx(6 + 8 + 5)
    # With half of the goodput each takes twice as long.
    assert change["saved_least_s"] == pytest.approx(2 + 6 + 0)
    assert change["sure_connections"] == 2
    assert (change["needed"], change["needed_values"]) == ("128K", 2)
    assert change["median_times_as_fast"] == pytest.approx(2.5)


def test_settings_that_change_together_are_one_change(tmp_path: pathlib.Path) -> None:
    rows = [connection(f"{number}.pcap", f"10.0.0.{number}:1", "192.0.2.9:2") for number in range(2)]
    rows.append(connection("2.pcap", "10.0.0.2:1", "192.0.2.9:2", elapsed_s=9.0))
    joint = {"settings": "SO_SNDBUF + SO_RCVBUF", "changes": "sender.SO_SNDBUF=64K; receiver.SO_RCVBUF=1M"}
    other_order = {"settings": "SO_RCVBUF + SO_SNDBUF", "changes": "receiver.SO_RCVBUF=1M; sender.SO_SNDBUF=64K"}
    verdicts = [
        {**verdict("0.pcap", "SO_SNDBUF", "64K", 2.0), **joint},
        {**verdict("1.pcap", "SO_SNDBUF", "64K", 5.0), "settings": "SO_SNDBUF", "changes": "sender.SO_SNDBUF=64K"},
        {**verdict("2.pcap", "SO_RCVBUF", "1M", 5.0), **other_order},
    ]
    captures = [{"file": row["file"], "is_partial": 0} for row in rows]
    dataset = write(tmp_path / "d", captures=captures, connections=rows, verdicts=verdicts)
    sums = summaries([dataset])
    changes = {row["setting"]: (row["needed"], row["saved_s"]) for row in sums["changes"].to_pylist()}
    assert changes == {
        "SO_RCVBUF + SO_SNDBUF": (joint["changes"], pytest.approx(8 + 4.5)),
        "SO_SNDBUF": ("64K", pytest.approx(5)),
    }
    assert set(sums["by_setting"]["setting"].to_pylist()) == changes.keys()


def test_a_packed_dataset_and_several_have_the_sums_of_one(tmp_path: pathlib.Path) -> None:
    plain = gzip.decompress(CAPTURE.read_bytes())
    for number in range(4):
        # Each has a connection of its own: port 50201 and so on in place of 50200.
        other = plain.replace(b"\xc4\x18", bytes([0xC4, 0x19 + number]))
        (tmp_path / f"{number}.pcap").write_bytes(other)
    (tmp_path / "empty.pcap").touch()
    names = sorted(tmp_path.glob("*.pcap"))
    fleet.why_many(names, tmp_path / "one", explain=1)
    # The second has a capture that the first has, too.
    fleet.why_many(names[:3], tmp_path / "a", explain=1)
    fleet.why_many(names[2:], tmp_path / "b", explain=1)
    whole = summaries([str(tmp_path / "one")])
    (totals,) = whole["totals"].to_pylist()
    assert (totals["connections"], totals["errors"], totals["explained_connections"]) == (4, 1, 4)
    for name in ("a", "b"):
        assert main(["pack", str(tmp_path / name), "--out", str(tmp_path / "packed" / name)]) == 0
        files = (tmp_path / "packed" / name).rglob("*")
        # Five tables, and the mark of a whole dataset.
        assert len([path for path in files if path.is_file()]) == 6
    for datasets in (["a", "b"], ["packed/a", "packed/b"], ["packed/a", "b"]):
        sums = summaries([str(tmp_path / name) for name in datasets])
        assert without_dataset(sums) == without_dataset(whole), datasets
    out = tmp_path / "report"
    page = fleet.report([tmp_path / "packed/a", tmp_path / "b"], before=[tmp_path / "a"], out=out)
    assert "2 datasets" in page.html and "Before and after" in page.html
    (before,) = pyarrow.parquet.read_table(out / "totals_before.parquet").to_pylist()
    assert before["connections"] == 3
    pages = pyarrow.parquet.read_table(out / "most_lost.parquet")
    reasons = {pathlib.Path(row["file"]).stem: row["no_page"] for row in pages.to_pylist()}
    assert reasons.keys() == {"0", "1", "2", "3"} and reasons["3"] == ""
    assert all("is packed" in reasons[name] for name in ("0", "1", "2"))


def test_captures_of_one_name_in_two_racks_are_two_captures(tmp_path: pathlib.Path) -> None:
    capture = tmp_path / "0.pcap"
    plain = gzip.decompress(CAPTURE.read_bytes())
    capture.write_bytes(plain)
    fleet.why_many(capture, tmp_path / "rack-1", explain=1)
    # The same name on another machine: another connection, and fewer packets.
    capture.write_bytes(plain.replace(b"\xc4\x18", b"\xc4\x19")[: len(plain) // 2])
    fleet.why_many(capture, tmp_path / "rack-2", explain=1)
    names = [tmp_path / "rack-1", tmp_path / "rack-2"]
    for name in names:
        fleet.pack(name, tmp_path / "packed" / name.name)
    for datasets in (names, sorted((tmp_path / "packed").iterdir())):
        sums = summaries([str(name) for name in datasets])
        (totals,) = sums["totals"].to_pylist()
        assert (totals["captures"], totals["connections"], totals["partial_captures"]) == (2, 2, 1)
        rows = sums["most_lost"].to_pylist()
        assert {row["sender"].rpartition(":")[2] for row in rows} | {
            row["receiver"].rpartition(":")[2] for row in rows
        } >= {"50200", "50201"}
        assert {row["dataset"] for row in rows} == {str(name) for name in datasets}
        (change,) = sums["changes"].to_pylist()
        assert change["connections"] == totals["explained_connections"]
    page = fleet.report(names, out=tmp_path / "report")
    assert "rack-1" in page.html and "rack-2" in page.html
    linked = pyarrow.parquet.read_table(tmp_path / "report" / "most_lost.parquet").to_pylist()
    reasons = {pathlib.Path(row["dataset"]).name: row["no_page"] for row in linked}
    assert "changed or removed" in reasons["rack-1"] and reasons["rack-2"] == ""


def test_a_packed_dataset_is_whole_or_refused(tmp_path: pathlib.Path) -> None:
    captures = [tmp_path / f"{number}.pcap.gz" for number in range(2)]
    for capture in captures:
        shutil.copyfile(CAPTURE, capture)
    dataset, packed = tmp_path / "dataset", tmp_path / "packed"
    fleet.why_many(captures, dataset)
    fleet.pack(dataset, packed)
    before = {path: path.read_bytes() for path in packed.rglob("*.parquet")}
    part = next((dataset / "accounts").glob("*.parquet"))
    whole = part.read_bytes()
    part.write_bytes(whole[:100])
    with pytest.raises(fullpipe.CaptureError, match=f"{part.name} is damaged"):
        fleet.pack(dataset, packed)
    assert {path: path.read_bytes() for path in packed.rglob("*.parquet")} == before
    part.write_bytes(whole)
    # A driver that dies between two tables leaves no mark.
    (packed / "packed" / "pack.json").unlink()
    with pytest.raises(fullpipe.CaptureError, match="packing of this dataset has not finished"):
        fleet.report(packed)
    fleet.pack(dataset, packed)
    assert without_dataset(summaries([str(packed)])) == without_dataset(summaries([str(dataset)]))
    with pytest.raises(fullpipe.SettingError, match="give another folder"):
        fleet.why_many(captures, packed)
    with pytest.raises(fullpipe.SettingError, match="give another folder"):
        fleet.sweep_many("memory", {"link.loss": ["0%"]}, packed)
    with pytest.raises(fullpipe.CaptureError, match="packed already"):
        fleet.pack(packed, tmp_path / "again")
    with pytest.raises(fullpipe.CaptureError, match="no dataset of captures here"):
        fleet.pack(tmp_path, tmp_path / "again")
    fleet.sweep_many("memory", {"link.loss": ["0%"]}, tmp_path / "worlds")
    with pytest.raises(fullpipe.CaptureError, match="no dataset of captures here"):
        fleet.pack(tmp_path / "worlds", tmp_path / "again")
    with pytest.raises(fullpipe.SettingError, match="give another folder"):
        fleet.pack(dataset, tmp_path / "worlds")
    with pytest.raises(fullpipe.SettingError, match="outside of the datasets"):
        fleet.report(packed, out=packed / "connections")
    with pytest.raises(fullpipe.SettingError, match="outside of the dataset"):
        fleet.pack(dataset, dataset / "inside")
    with pytest.raises(fullpipe.SettingError, match="^dataset: give at least one"):
        fleet.report([])
    with pytest.raises(fullpipe.SettingError, match="^before: give at least one"):
        fleet.report(packed, before=[])


def test_the_first_dataset_that_could_analyse_a_capture_counts(tmp_path: pathlib.Path) -> None:
    capture = tmp_path / "a b.pcap.gz"
    capture.write_text("no capture yet")
    fleet.why_many(capture, tmp_path / "failed")
    shutil.copyfile(CAPTURE, capture)
    fleet.why_many(capture, tmp_path / "path")
    fleet.why_many(capture.as_uri(), tmp_path / "uri", explain=1)
    names = [str(tmp_path / name) for name in ("failed", "path", "uri")]
    for datasets, explained in ((names, 0), (names[::-1], 1), ([names[0], names[2]], 1)):
        (totals,) = summaries(datasets)["totals"].to_pylist()
        assert (totals["captures"], totals["connections"], totals["errors"]) == (1, 1, 0)
        assert totals["explained_connections"] == explained, datasets


def test_every_sum_has_all_lost_time(dataset: str) -> None:
    sums = summaries([dataset])
    (totals,) = sums["totals"].to_pylist()
    assert totals["lost_s"] == 7 * 4 + 9 and totals["lost_share"] == pytest.approx(37 / 80)
    for name in ("lost_by_limit", "by_setting", "by_path", "by_hosts", "by_port"):
        assert sum(sums[name]["lost_s"].to_pylist()) == totals["lost_s"], name
        assert sum(sums[name]["connections"].to_pylist()) == 8, name
    settings = {row["setting"]: row["connections"] for row in sums["by_setting"].to_pylist()}
    assert settings == {"SO_SNDBUF": 3, "no setting": 1, "not explained": 4}
    paths = [
        (row["sender_network"], row["receiver_network"]) for row in sums["by_path"].to_pylist()
    ]
    assert paths == [
        ("10.0.0.0/24", "192.0.2.0/24"),
        ("10.0.1.0/24", "192.0.2.0/24"),
        ("2001:db8:1::/48", "2001:db8:2::/48"),
    ]
    assert {row["port"] for row in sums["by_port"].to_pylist()} == {443, 80, 22}
    assert network_of("[fe80::1%3]") == "fe80::/48"


def test_an_outlier_is_slower_than_its_peers(dataset: str) -> None:
    (outlier,) = summaries([dataset])["outliers"].to_pylist()
    assert (outlier["file"], outlier["peers"]) == ("slow.pcap", 6)
    assert outlier["peers_median_mbps"] == pytest.approx(0.8)


def test_before_and_after_have_the_rows_of_both(dataset: str, tmp_path: pathlib.Path) -> None:
    rows = [connection("a.pcap", "10.0.0.1:443", "192.0.2.9:50000", limit="receive_window")]
    captures = [{"file": "a.pcap", "is_partial": 1}]
    before = write(tmp_path / "before", captures=captures, connections=rows)
    out = tmp_path / "out"
    page = fleet.report(dataset, before=before, out=out, pages=0)
    both = pyarrow.parquet.read_table(out / "lost_by_limit_compared.parquet").to_pylist()
    assert both == [
        {
            "limit": "send_buffer",
            "before_lost_s": 0.0,
            "lost_s": 37.0,
            "change_s": 37.0,
            "before_connections": 0,
            "connections": 8,
        },
        {
            "limit": "receive_window",
            "before_lost_s": 4.0,
            "lost_s": 0.0,
            "change_s": -4.0,
            "before_connections": 1,
            "connections": 0,
        },
    ]
    assert "Before and after" in page.html and "only 0 pages" in page.html


def test_a_report_links_to_the_pages_of_connections(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, lost = tmp_path / "kept.pcap.gz", tmp_path / "lost & <found>.pcap.gz"
    shutil.copyfile(CAPTURE, kept)
    # Another connection: port 50201 in place of 50200.
    other = gzip.decompress(CAPTURE.read_bytes()).replace(b"\xc4\x18", b"\xc4\x19")
    lost.write_bytes(gzip.compress(other))
    (tmp_path / "empty.pcap").touch()
    out, folder = str(tmp_path / "dataset"), tmp_path / "report"
    assert main(["why", str(tmp_path / "*.pcap*"), "--out", out, "--explain", "1"]) == 1
    assert "3 captures: 3 analysed now, 0 in an earlier run, 1 with errors" in capsys.readouterr().out
    lost.unlink()
    assert main(["report", out, "--out", str(folder)]) == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    (link,) = re.findall(r'href="([^"]+)"', text)
    assert "send buffer" in (folder / link).read_text(encoding="utf-8")
    rows = pyarrow.parquet.read_table(folder / "most_lost.parquet").to_pylist()
    assert [(row["page"], bool(row["no_page"])) for row in rows] == [(link, False), ("", True)]
    assert "SO_SNDBUF" in text and "empty.pcap" in text and "lost &amp; &lt;found&gt;" in text
    # The page needs no other file but the linked pages.
    assert not re.search(r"(src=|@import|https?://)", text)


def test_a_connection_that_two_captures_show_counts_once(tmp_path: pathlib.Path) -> None:
    ends = ("10.0.0.1:443", "192.0.2.9:50000")
    noon = 1.7e9
    connections = [
        connection("client.pcap", *ends, began_s=noon, segments=90),
        connection("server.pcap", *ends, began_s=noon + 0.02, segments=100, lost_s=5.0),
        # The same ports again, after the first connection; and simulated times.
        connection("server.pcap", *ends, number=2, began_s=noon + 60, segments=100),
        connection("a.pcap", *ends, began_s=0.0, segments=100),
        connection("b.pcap", *ends, began_s=0.0, segments=100),
    ]
    names = dict.fromkeys(row["file"] for row in connections)
    captures = [{"file": name, "is_partial": 0} for name in names]
    accounts = [
        {"file": row["file"], "number": row["number"], "limit": "send_buffer", "seconds": 1.0}
        for row in connections
    ]
    dataset = write(
        tmp_path / "dataset", captures=captures, connections=connections, accounts=accounts
    )
    sums = summaries([dataset])
    (totals,) = sums["totals"].to_pylist()
    assert (totals["connections"], totals["repeated_connections"]) == (4, 1)
    assert totals["lost_s"] == 5 + 3 * 4
    # In 5 of 10 s the server's connection carries nothing that it could have carried.
    assert totals["lost_bytes"] == 1_000_000 + 3 * 1_000_000 * 4 // 6
    (limit,) = sums["by_limit"].to_pylist()
    assert limit["seconds"] == 4.0
    assert "client.pcap" not in sums["most_lost"]["file"].to_pylist()


def test_unfinished_and_damaged_parts_and_changed_captures(tmp_path: pathlib.Path) -> None:
    capture, out = tmp_path / "a.pcap.gz", tmp_path / "dataset"
    shutil.copyfile(CAPTURE, capture)
    fleet.why_many(capture, out)
    part = next((out / "connections").glob("*.parquet"))
    shutil.copyfile(part, part.with_name("0123.parquet"))
    (totals,) = summaries([str(out)])["totals"].to_pylist()
    assert totals["connections"] == 1
    with capture.open("ab") as file:
        file.write(b"more")
    fleet.report(out, out=tmp_path / "report")
    (row,) = pyarrow.parquet.read_table(tmp_path / "report" / "most_lost.parquet").to_pylist()
    assert "changed or removed" in row["no_page"]
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(fullpipe.CaptureError, match=f"{part.name} is damaged.*delete this part and manifest/"):
        summaries([str(out)])


def test_the_needed_value_of_equal_gains_does_not_depend_on_their_order(
    tmp_path: pathlib.Path,
) -> None:
    found = []
    for order in ((0, 1), (1, 0)):
        rows = [connection(f"{number}.pcap", f"10.0.{number}.1:1", "192.0.2.9:2") for number in order]
        verdicts = [verdict(f"{number}.pcap", "SO_SNDBUF", f"{number + 1}K", 4.0) for number in order]
        captures = [{"file": row["file"], "is_partial": 0} for row in rows]
        folder = tmp_path / str(order[0])
        dataset = write(folder, captures=captures, connections=rows, verdicts=verdicts)
        (change,) = summaries([dataset])["changes"].to_pylist()
        found.append(change["needed"])
    assert found == ["1K", "1K"]


def test_a_folder_without_a_dataset_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(fullpipe.CaptureError, match="no dataset of captures here"):
        fleet.report(tmp_path / "nothing")
    assert main(["report", str(tmp_path / "nothing"), "--out", str(tmp_path / "out")]) == 2
