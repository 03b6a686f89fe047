"""Sums over datasets of captures, by DuckDB.

Every part of a dataset is read once into a temporary database on disk. Every number of the report is
a row of a query below.
"""

from __future__ import annotations

import ipaddress
import os
import tempfile
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import pyarrow
import pyarrow.dataset

import fullpipe

from .parts import COLUMNS, finished, parts_of, reading
from .sources import shown

# The same for every spelling of the name of a capture: the path, or the URI with its server and
# without its other options and its credentials.
KEY = """case when contains({0}, '://') then url_decode(regexp_replace(regexp_replace(
    split_part({0}, '?', 1), '^file://', ''), '://[^/@]*@', '://'))
    || regexp_extract({0}, '[?&]endpoint_override=([^&]*)', 1) else {0} end"""

# One record for each capture: the dataset that counts. Captures of one name are the same capture if
# they have the same size and time. A capture that no dataset could analyse counts once.
OWNERS = f"""
    create table owners as
    with known as (
        select {KEY.format('file')} as key, file, place, coalesce(bytes, 0) as bytes,
            coalesce(began_s, 0) as began_s
        from all_captures
    ), failed as (select {KEY.format('source')} as key, source as file, place from all_errors)
    select file, place from known
        qualify row_number() over (partition by key, bytes, began_s order by place) = 1
    union select file, place from failed where key not in (select key from known)
        qualify row_number() over (partition by key order by place) = 1
"""
CHOSEN = """
    create table {name} as
    select all_{name}.* from all_{name}
    join owners on owners.file = all_{name}.{file} and owners.place = all_{name}.place
"""

# Connections that another capture shows better, such as the capture of the other host: two
# connections with the same ends cannot exist at the same time. Each simulated capture begins at time
# 0, so its times do not show which connections exist at the same time.
REPEATED = """
    create table repeated as
    with ranked as (
        select place, file, number, sender, receiver, began_s, began_s + elapsed_s as ended_s,
            row_number() over (order by segments desc, file, number, place) as rank
        from connections where began_s > 86400
    )
    select distinct worse.place, worse.file, worse.number
    from ranked worse join ranked better using (sender, receiver)
    where better.rank < worse.rank and (better.place, better.file) <> (worse.place, worse.file)
        and better.began_s < worse.ended_s and worse.began_s < better.ended_s
"""

# Captures that have rows. Their errors are about verdicts of single connections.
ANALYSED = "create table analysed as select distinct place, file as source from captures"

# The settings that a verdict changes together, in the order of their names. A dataset of an older
# version has only the first.
SETTING = """array_to_string(
    list_sort(string_split(coalesce(nullif(v.settings, ''), v.knob), ' + ')), ' + ')"""

# Connections, each once, with the names that the sums group by.
FLOWS = f"""
    create table flows as
    with split as (
        select *, regexp_replace(sender, ':[0-9]+$', '') as sender_host,
            regexp_replace(receiver, ':[0-9]+$', '') as receiver_host,
            least(regexp_extract(sender, '([0-9]+)$', 1)::int,
                regexp_extract(receiver, '([0-9]+)$', 1)::int) as port
        from connections anti join repeated using (place, file, number)
    )
    select split.*, s.network as sender_network, r.network as receiver_network,
        case when v.file is null then 'not explained' when v.knob = '' then 'no setting'
            else {SETTING} end as setting
    from split
    join networks s on s.host = sender_host
    join networks r on r.host = receiver_host
    left join verdicts v
        on v.place = split.place and v.file = split.file and v.number = split.number
"""

# One record for each verdict that names a setting, with what its change saves.
# A prediction may carry only a part of the connection's payload, so goodputs are compared.
GAINS = f"""
    create table gains as
    select {SETTING} as setting, f.confidence,
        case when contains(v.changes, '; ') then v.changes else v.needed end as needed,
        f.goodput_mbps,
        v.predicted_mbps / nullif(f.goodput_mbps, 0) as times_as_fast,
        greatest(f.elapsed_s * (1 - f.goodput_mbps / nullif(v.predicted_mbps, 0)), 0) as saved_s,
        greatest(f.elapsed_s * (1 - f.goodput_mbps / nullif(v.predicted_low_mbps, 0)), 0)
            as saved_least_s
    from verdicts v join flows f using (place, file, number)
    where v.knob <> ''
"""

# Connections that are much slower than others between the same networks to the same port.
PEERS = """
    create table peers as
    select sender_network, receiver_network, port, count(*) as peers,
        median(goodput_mbps) as peers_median_mbps, median(payload_bytes) as peers_payload_bytes
    from flows group by all having count(*) >= 5
"""

# Sums of times are rounded, because the last digits depend on the order of the addition.
MEASURES = """round(sum(lost_s), 6) as lost_s,
    round(sum(lost_s) / nullif(sum(elapsed_s), 0), 6) as lost_share,
    round(sum(payload_bytes * lost_s / nullif(elapsed_s - lost_s, 0)))::bigint as lost_bytes,
    count(*) as connections,
    sum(payload_bytes)::bigint as payload_bytes,
    sum(retransmitted_segments)::bigint as retransmitted_segments"""


class Sum(NamedTuple):
    """A table of the report: its name, title, query, and the columns that name its rows.

    measure: the column that before and after are compared by; empty for no comparison.
    """

    name: str
    title: str
    query: str
    keys: Tuple[str, ...] = ()
    measure: str = ""


def _by(name: str, title: str, *keys: str, more: str = "") -> Sum:
    """Returns the sums of the connections by columns of `flows`."""
    names = ", ".join(f'"{key}"' for key in keys)
    query = f"select {names}, {MEASURES}{more} from flows group by {names} order by lost_s desc, {names}"
    return Sum(name, title, query, keys, "lost_s")


SUMS: List[Sum] = [
    Sum(
        "totals",
        "Totals",
        """
        select (select count(*) from captures) as captures,
            (select count(*) from captures where is_partial = 1) as partial_captures,
            (select count(*) from errors anti join analysed using (place, source)) as errors,
            (select count(*) from errors semi join analysed using (place, source)) as failed_verdicts,
            (select coalesce(sum(left_out), 0)::bigint from captures) as left_out_connections,
            (select count(*) from repeated) as repeated_connections, round(sum(elapsed_s), 6) as elapsed_s,
            """
        + MEASURES
        + """, count(*) filter (setting <> 'not explained') as explained_connections,
            round(sum(lost_s) filter (setting <> 'not explained'), 6) as explained_lost_s
        from flows
        """,
    ),
    Sum(
        "changes",
        "Changes with the largest predicted gain",
        """
        select setting, round(sum(saved_s), 6) as saved_s,
            round(sum(saved_least_s), 6) as saved_least_s, count(*) as connections,
            count(*) filter (confidence = 'high' and saved_least_s > 0) as sure_connections,
            median(times_as_fast) as median_times_as_fast,
            min(times_as_fast) as least_times_as_fast,
            first(needed order by saved_s desc nulls last, needed) as needed, count(distinct needed) as needed_values
        from gains group by setting order by saved_s desc, setting limit 10
        """,
    ),
    Sum(
        "by_limit",
        "Time and payload by limit",
        """
        select "limit", round(sum(seconds), 6) as seconds,
            round(sum(seconds) / nullif(sum(sum(seconds)) over (), 0), 6) as share,
            count(*) as connections, sum(payload_bytes)::bigint as payload_bytes
        from accounts semi join flows using (place, file, number) group by "limit" order by seconds desc, "limit"
        """,
        ("limit",),
        "seconds",
    ),
    _by(
        "lost_by_limit",
        "Lost time by the main limit of connections",
        "limit",
        more=", count(*) filter (confidence = 'high') as sure_connections",
    ),
    _by("by_setting", "Lost time by the setting that the verdict names", "setting"),
    _by(
        "by_path",
        "Lost time by path",
        "sender_network",
        "receiver_network",
        more=", median(base_rtt_ms) as median_base_rtt_ms",
    ),
    _by("by_hosts", "Lost time by pair of hosts", "sender_host", "receiver_host"),
    _by("by_port", "Lost time by port", "port"),
    Sum(
        "outliers",
        "Outliers: connections much slower than the other connections of their path and port",
        """
        select datasets.dataset, file, number, sender, receiver, "limit", goodput_mbps,
            peers_median_mbps, peers, lost_s, elapsed_s
        from flows join datasets using (place) join peers using (sender_network, receiver_network, port)
        where goodput_mbps < peers_median_mbps / 4 and payload_bytes >= peers_payload_bytes / 4
        order by lost_s desc, file, number, place limit 20
        """,
    ),
    Sum(
        "most_lost",
        "Connections with the most lost time",
        """
        select dataset, file, number, sender, receiver, "limit", goodput_mbps, lost_s, elapsed_s
        from flows join datasets using (place) order by lost_s desc, file, number, place limit 20
        """,
    ),
    Sum(
        "errors",
        "Captures and verdicts that failed",
        "select source, error from errors order by source",
    ),
]


def _database(path: str) -> Any:
    """Returns a connection to a database of DuckDB that prints nothing."""
    import duckdb

    connection = duckdb.connect(path)
    connection.execute("set enable_progress_bar = false")
    return connection


def network_of(host: str) -> str:
    """Returns the network of an address: its first 24 bits of IPv4, 48 of IPv6."""
    address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    bits = 24 if address.version == 4 else 48
    return str(ipaddress.ip_network(f"{address}/{bits}", strict=False))


def summaries(datasets: Sequence[str]) -> Dict[str, pyarrow.Table]:
    """Returns the tables of the report by name. If several datasets have the same capture, the first
    that could analyse it counts."""
    with tempfile.TemporaryDirectory() as folder:
        connection = _database(os.path.join(folder, "sums.duckdb"))
        try:
            for place, dataset in enumerate(datasets):
                _load(connection, dataset, place)
            connection.execute(OWNERS)
            for name, columns in COLUMNS.items():
                file = columns.partition(":")[0]
                connection.execute(CHOSEN.format(name=name, file=file))
                connection.execute(f"drop table all_{name}")
            places = pyarrow.array(range(len(datasets)), pyarrow.int32())
            named = {"place": places, "dataset": pyarrow.array(datasets, pyarrow.string())}
            connection.register("datasets", pyarrow.table(named))
            hosts = connection.sql(
                "select distinct unnest([regexp_replace(sender, ':[0-9]+$', ''),"
                " regexp_replace(receiver, ':[0-9]+$', '')]) from connections"
            ).fetchall()
            names = [host for (host,) in hosts]
            networks = [network_of(name) for name in names]
            text = pyarrow.string()
            table = {"host": pyarrow.array(names, text), "network": pyarrow.array(networks, text)}
            connection.register("networks", pyarrow.table(table))
            for query in (REPEATED, ANALYSED, FLOWS, GAINS, PEERS):
                connection.execute(query)
            return {one.name: connection.sql(one.query).to_arrow_table() for one in SUMS}
        finally:
            connection.close()


def _load(connection: Any, dataset: str, place: int) -> None:
    """Reads the tables of dataset number `place` into the database."""
    keys = finished(dataset)
    is_empty = True
    for name in COLUMNS:
        parts = parts_of(dataset, name, keys)
        if name in ("captures", "errors") and isinstance(parts, pyarrow.dataset.FileSystemDataset):
            is_empty = False
        verb = f"create table all_{name} as" if place == 0 else f"insert into all_{name}"
        with reading(connection, dataset, parts):
            connection.execute(f"{verb} select *, {place} as place from parts")
    if is_empty:
        fix = "no dataset of captures here; write one with `fullpipe fleet why`"
        raise fullpipe.CaptureError(f"{shown(dataset)}: {fix}", file=dataset, fix=fix)


def compared(now: pyarrow.Table, before: pyarrow.Table, one: Sum) -> pyarrow.Table:
    """Returns a row for each key of either table: connections and measure, before and after."""
    connection = _database(":memory:")
    try:
        connection.register("a", now)
        connection.register("b", before)
        keys = ", ".join(f'"{key}"' for key in one.keys)
        columns = []
        for column in (one.measure, "connections"):
            columns.append(f"coalesce(b.{column}, 0) as before_{column}")
            columns.append(f"coalesce(a.{column}, 0) as {column}")
        change = f"round(coalesce(a.{one.measure}, 0) - coalesce(b.{one.measure}, 0), 6)"
        columns.insert(2, f"{change} as change_s")
        query = f"""
            select {keys}, {", ".join(columns)}
            from a full join b using ({keys}) order by abs(change_s) desc, {keys}
        """
        return connection.sql(query).to_arrow_table()
    finally:
        connection.close()
