// A forwarder around gVisor's netstack, for `cargo xtask bench forward`.
//
// Rule: the stack is used as a forwarder uses it: an endpoint that reads and writes the TUN device, a stack that
// accepts every address, and one goroutine for each direction of a flow. Settings are gVisor's own, except SACK and
// the tuning of the receive buffer, which are off by default.
package main

import (
	"io"
	"log"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/link/tun"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const nic = 1

// Handshakes that may be in progress at the same time.
const maxInFlight = 2048

func main() {
	name := os.Args[1]
	mtu, err := strconv.Atoi(os.Args[2])
	must(err)
	fd, err := tun.Open(name)
	must(err)
	must(unix.SetNonblock(fd, true))
	endpoint, err := fdbased.New(&fdbased.Options{FDs: []int{fd}, MTU: uint32(mtu), RXChecksumOffload: true})
	must(err)
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, icmp.NewProtocol4},
	})
	sack := tcpip.TCPSACKEnabled(true)
	check(s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack))
	moderate := tcpip.TCPModerateReceiveBufferOption(true)
	check(s.SetTransportProtocolOption(tcp.ProtocolNumber, &moderate))
	check(s.CreateNIC(nic, endpoint))
	check(s.SetPromiscuousMode(nic, true))
	check(s.SetSpoofing(nic, true))
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	forwarder := tcp.NewForwarder(s, 0, maxInFlight, carry)
	s.SetTransportProtocolHandler(tcp.ProtocolNumber, forwarder.HandlePacket)
	// The benchmark closes the pipe at the end.
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// carry connects one flow to its target.
func carry(request *tcp.ForwarderRequest) {
	id := request.ID()
	address := net.JoinHostPort(id.LocalAddress.String(), strconv.Itoa(int(id.LocalPort)))
	target, err := net.Dial("tcp", address)
	if err != nil {
		request.Complete(true)
		return
	}
	var queue waiter.Queue
	endpoint, refused := request.CreateEndpoint(&queue)
	if refused != nil {
		request.Complete(true)
		target.Close()
		return
	}
	request.Complete(false)
	flow := gonet.NewTCPConn(&queue, endpoint)
	outward := target.(*net.TCPConn)
	go func() {
		_, _ = io.Copy(outward, flow)
		_ = outward.CloseWrite()
		_ = flow.CloseRead()
	}()
	_, _ = io.Copy(flow, outward)
	_ = flow.CloseWrite()
	_ = outward.CloseRead()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func check(err tcpip.Error) {
	if err != nil {
		log.Fatal(err)
	}
}
