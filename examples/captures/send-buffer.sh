#!/bin/sh
# Makes send-buffer.pcap.gz: a transfer between two kernels, after experiments/linux-buffers-a.toml. A server
# with a send buffer of 16 KB answers a request with 4 MB over 100 Mbit/s and a round trip of 20 ms.
#
# As root, with the command `fullpipe` built, and with python3, dumpcap (of tshark) and ip (of iproute2):
#
#     examples/captures/send-buffer.sh target/release/fullpipe
#
# gso_max_segs 1 turns segmentation offload off: interfaces did not have it when the document was written that
# the experiment repeats. With offload, a kernel puts 64 KB into a send buffer of 16 KB, and the buffer is not the limit.
set -eu
fullpipe=${1:-target/release/fullpipe}
out=$(dirname "$0")/send-buffer.pcap.gz
server=fit-server client=fit-client
work=$(mktemp -d)

clean() {
    for pid in ${pids:-}; do kill "$pid" 2>/dev/null || true; done
    ip netns del $server 2>/dev/null || true
    ip netns del $client 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT INT TERM

"$fullpipe" link --between tap:fit-s,tap:fit-c --rate 100mbit --delay 10ms --queue "1000 packets" --quiet &
pids=$!
sleep 1
for side in "$server fit-s 10.77.0.1" "$client fit-c 10.77.0.2"; do
    set -- $side
    ip netns add "$1"
    ip link set "$2" netns "$1"
    ip -n "$1" addr add "$3/24" dev "$2"
    ip -n "$1" link set "$2" gso_max_segs 1 up
done
cat >"$work/server.py" <<'PY'
import socket
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("10.77.0.1", 3306))
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
listener.listen()
connection, _ = listener.accept()
connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
connection.recv(4096)
left = 4_000_000
while left > 0:
    part = min(16384, left)
    connection.sendall(bytes(part))
    left -= part
connection.close()
PY
cat >"$work/client.py" <<'PY'
import socket
connection = socket.create_connection(("10.77.0.1", 3306))
connection.sendall(b"q" * 300)
while connection.recv(1 << 20):
    pass
PY
ip netns exec $server python3 "$work/server.py" &
pids="$pids $!"
ip netns exec $server dumpcap -q -P -i fit-s -s 96 -f 'tcp port 3306' -w "$work/capture.pcap" 2>/dev/null &
capture=$!
pids="$pids $capture"
sleep 2
ip netns exec $client python3 "$work/client.py"
sleep 1
kill -INT $capture
wait $capture || true
gzip -9 -n <"$work/capture.pcap" >"$out"
ls -l "$out"
