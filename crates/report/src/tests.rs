//! Tests of the crate. Tests in a browser are in `tests/page/`.

use fullpipe_diagnose::facts::{Connection, Endpoint, Host, Mark, Observed, Row, Run, Segments};

use crate::{csv, encode::Blob, page, xplot};

/// An end with two segments, a retransmission of the second, and an ACK of the first.
fn end() -> Endpoint {
    let mut end = Endpoint::default();
    for (at_ns, seq, status) in [
        (1_000, 1, 0),
        (2_000, 101, 0),
        (5_000_000_000, 101, Segments::RETRANSMITTED),
    ] {
        segment(&mut end.sent, at_ns, seq, 100, 1, status);
    }
    segment(&mut end.received, 2_500, 1, 0, 101, 0);
    segment(&mut end.received, 3_500, 1, 0, 101, 0);
    end.sacks_received.at_ns.push(4_000);
    end.sacks_received.left.push(201);
    end.sacks_received.right.push(301);
    end.marks.at_ns.push(4_500);
    end.marks.kind.push(Mark::Timeout as u8);
    end.marks.value.push(1);
    end.limits.at_ns.push(0);
    end.limits.end_ns.push(9_000);
    end.limits.reason.push(1);
    end.limits.bytes.push(200);
    end
}

fn segment(table: &mut Segments, at_ns: u64, seq: u64, len: u32, ack: u64, status: u8) {
    table.at_ns.push(at_ns);
    table.seq.push(seq);
    table.len.push(len);
    table.ack.push(ack);
    table.window.push(8_000);
    table.flags.push(0x10);
    table.status.push(status);
    table.outstanding.push(200);
}

fn run(label: &str) -> Run {
    let host = Host {
        name: "near".to_string(),
        pool_blocks: 8,
        block_size: 100,
        ..Host::default()
    };
    Run {
        experiment: "mine".to_string(),
        rows: vec![Row {
            label: label.to_string(),
            observed: Observed {
                end_ns: 9_000,
                hosts: vec![host],
                links: Vec::new(),
                connections: vec![Connection {
                    first: end(),
                    second: None,
                }],
                forgotten: 0,
            },
            ..Row::default()
        }],
        ..Run::default()
    }
}

#[test]
fn a_page_loads_nothing_and_fills_every_place_of_its_frame() {
    let page = page(&run("a row"));
    for place in ["{{style}}", "{{facts}}", "{{blobs}}", "{{scripts}}"] {
        assert!(!page.contains(place), "{place}");
    }
    for loading in ["http://", "https://", " src=", "@import", "fetch("] {
        assert!(!page.contains(loading), "{loading}");
    }
    assert!(
        page.contains("id=\"blob-2\""),
        "there are three blobs: the pool, the series and the bands"
    );
}

#[test]
fn the_label_of_a_row_cannot_end_the_script() {
    let page = page(&run("</script><b>{{blobs}}"));
    assert!(!page.contains("</script><b>"));
    assert!(page.contains("\\u003c/script>\\u003cb>{{blobs}}"));
}

#[test]
fn a_blob_names_its_tables_in_their_order() {
    let blob = Blob::of_series(&end());
    let names: Vec<_> = blob.tables.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "sent",
            "received",
            "sacksReceived",
            "sacksSent",
            "windows",
            "rtts",
            "marks"
        ]
    );
    assert_eq!(blob.tables[0].1, 3);
}

#[test]
fn decoded_columns_are_those_that_were_encoded() {
    let end = end();
    let deflated = unbase64(&Blob::of_series(&end).text());
    let bytes = miniz_oxide::inflate::decompress_to_vec(&deflated).expect("a deflated blob");
    let mut at = 0;
    let mut column = |count: usize| {
        let mut sum = 0_i64;
        let mut values = Vec::new();
        for _ in 0..count {
            let (mut zigzag, mut shift) = (0_u64, 0);
            loop {
                let byte = bytes[at];
                at += 1;
                zigzag |= u64::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    break;
                }
            }
            sum += (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
            values.push(sum as u64);
        }
        values
    };
    assert_eq!(column(3), end.sent.at_ns);
    assert_eq!(column(3), end.sent.seq);
    assert_eq!(column(3), [100, 100, 100]);
}

fn unbase64(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other} in base64"),
    };
    let mut bytes = Vec::new();
    for group in text.as_bytes().chunks(4) {
        let letters: Vec<_> = group.iter().filter(|letter| **letter != b'=').collect();
        let bits = letters
            .iter()
            .fold(0_u32, |bits, letter| bits << 6 | u32::from(value(**letter)))
            << (6 * (4 - letters.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..letters.len()]);
    }
    bytes
}

#[test]
fn a_graph_for_xplot_has_the_grammar_of_tcptrace() {
    let graphs = xplot(&run("a row"));
    assert_eq!(graphs.len(), 1);
    assert_eq!(graphs[0].name, "mine-1-1-near");
    let text = &graphs[0].text;
    assert!(text.starts_with("timeval unsigned\ntitle\n"));
    assert!(text.ends_with("go\n"));
    for part in [
        "white\ndarrow 0.000001000 1\nuarrow 0.000001000 101\nline 0.000001000 1 0.000001000 101\n",
        "red\ndarrow 5.000000000 101\n",
        "atext 5.000000000 201\nR\n",
        "green\nline 0.000002500 101 0.000003500 101\ndtick 0.000003500 101\n",
        "yellow\nline 0.000002500 8101 0.000003500 8101\n",
        "purple\nline 0.000004000 201 0.000004000 301\n",
        "red\nbtext 0.000004500 101\nRTO\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_table_has_one_value_a_line_and_quotes_fields_as_rfc_4180_asks() {
    let table = csv(&run("one, \"two\""));
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("row,connection,host,series,at_ns,value"));
    let start = "\"one, \"\"two\"\"\",1,near";
    for line in [
        "sent_seq,2000,101",
        "sent_again,5000000000,1",
        "received_ack,2500,101",
        "limit,0,send_buffer",
        "limit_bytes,0,200",
        "mark,4500,retransmission timeout",
    ] {
        let line = format!("{start},{line}");
        assert!(table.lines().any(|other| other == line), "{line}\n{table}");
    }
}
