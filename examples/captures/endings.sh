#!/bin/sh
# Makes endings.pcap.gz: twelve connections between two kernels, one after another, that end or fail in
# different ways. Each server port is one case, as the table of ports below says.
#
# As root, with python3, dumpcap (of tshark) and ip (of iproute2):
#
#     examples/captures/endings.sh
#
# 5001 3,000 bytes, closed          5002 no payload, closed           5003 half closed, then 20,000 bytes back
# 5004 reset after 200,000 bytes    5005 both ends close at once      5006 idle with keep-alives
# 5007 a window closed for 6 s      5008 the FIN is lost four times  5009 the server vanishes
# 81   refused                      82 (10.78.1.1) unreachable        83 (10.78.2.1) no answer
set -eu
out=$(dirname "$0")/endings.pcap.gz
server=end-server client=end-client
work=$(mktemp -d)

clean() {
    for pid in ${pids:-}; do kill "$pid" 2>/dev/null || true; done
    ip netns del $server 2>/dev/null || true
    ip netns del $client 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT INT TERM

ip netns add $server
ip netns add $client
ip link add end-c netns $client type veth peer name end-s netns $server
ip -n $client addr add 10.78.0.1/24 dev end-c
ip -n $server addr add 10.78.0.2/24 dev end-s
ip -n $client link set end-c gso_max_segs 1 up
ip -n $server link set end-s gso_max_segs 1 up
ip -n $client route add 10.78.1.0/24 via 10.78.0.2
ip -n $client route add 10.78.2.0/24 via 10.78.0.2
ip -n $server route add unreachable 10.78.1.0/24
ip -n $server route add blackhole 10.78.2.0/24
ip netns exec $server sysctl -qw net.ipv4.ip_forward=1

cat >"$work/server.py" <<'PY'
import socket, struct, sys, threading, time

def drained(connection):
    while connection.recv(65536):
        pass

def half(connection):
    drained(connection)
    for _ in range(20):
        connection.sendall(b"y" * 1000)
        time.sleep(0.01)

def reset(connection):
    read = 0
    while read < 200_000:
        read += len(connection.recv(200_000 - read))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

def at_once(connection):
    time.sleep(0.5)
    connection.shutdown(socket.SHUT_WR)
    drained(connection)

def closed_window(connection):
    time.sleep(6)
    drained(connection)

CASES = {5001: drained, 5002: drained, 5003: half, 5004: reset, 5005: at_once, 5006: drained,
         5007: closed_window, 5008: drained, 5009: drained}

def serve(port, case):
    listener = socket.socket()
    if port == 5007:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind(("10.78.0.2", port))
    listener.listen()
    connection, _ = listener.accept()
    case(connection)
    connection.close()

for port, case in CASES.items():
    threading.Thread(target=serve, args=(port, case)).start()
PY
cat >"$work/client.py" <<'PY'
import socket, subprocess, time

TCP = socket.IPPROTO_TCP
WRONG = "ip neigh replace 10.78.0.2 lladdr 02:00:00:00:00:99 dev end-c nud permanent"
RIGHT = "ip neigh del 10.78.0.2 dev end-c"

def connected(port):
    return socket.create_connection(("10.78.0.2", port))

def finish(connection):
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(65536):
        pass
    connection.close()

def run(command):
    subprocess.run(command.split(), check=True)

for port, size in [(5001, 3000), (5002, 0), (5003, 5000)]:
    connection = connected(port)
    connection.sendall(b"x" * size)
    finish(connection)
connection = connected(5004)
try:
    for _ in range(100):
        connection.sendall(b"x" * 20_000)
        time.sleep(0.002)
except OSError as error:
    print(5004, error)
connection = connected(5005)
connection.sendall(b"x" * 100_000)
time.sleep(0.5)
finish(connection)
connection = connected(5006)
connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
connection.setsockopt(TCP, socket.TCP_KEEPIDLE, 1)
connection.setsockopt(TCP, socket.TCP_KEEPINTVL, 1)
connection.sendall(b"x" * 2000)
time.sleep(3.5)
connection.sendall(b"z" * 500)
finish(connection)
connection = connected(5007)
connection.sendall(b"x" * 60_000)
finish(connection)
connection = connected(5008)
connection.sendall(b"x" * 3000)
time.sleep(0.3)
run(WRONG)
connection.shutdown(socket.SHUT_WR)
time.sleep(1.5)
run(RIGHT)
finish(connection)
connection = connected(5009)
connection.setsockopt(TCP, socket.TCP_USER_TIMEOUT, 6000)
for _ in range(30):
    connection.sendall(b"x" * 2000)
    time.sleep(0.01)
run(WRONG)
connection.sendall(b"x" * 20_000)
time.sleep(8)
run(RIGHT)
for address in [("10.78.0.2", 81), ("10.78.1.1", 82), ("10.78.2.1", 83)]:
    try:
        socket.create_connection(address, timeout=8)
    except OSError as error:
        print(address, error)
PY
ip netns exec $server python3 "$work/server.py" &
pids=$!
ip netns exec $client dumpcap -q -P -i end-c -s 96 -f 'tcp or icmp' -w "$work/capture.pcap" 2>/dev/null &
capture=$!
pids="$pids $capture"
sleep 2
ip netns exec $client python3 "$work/client.py"
sleep 1
kill -INT $capture
wait $capture || true
gzip -9 -n <"$work/capture.pcap" >"$out"
ls -l "$out"
