//! A forwarder around `netstack-smoltcp`, as its example `forward-offload-linux` shows.
//!
//! Rule: the settings are those of the example, which its README recommends for Linux: the device
//! passes up to 64 KiB at once, and the library `tun-rs` divides them into packets.

use std::{io, sync::Arc};

use anyhow::{Context, Result};
use futures::{SinkExt, StreamExt};
use netstack_smoltcp::StackBuilder;
use tun_rs::{AsyncDevice, DeviceBuilder, IDEAL_BATCH_SIZE, VIRTIO_NET_HDR_LEN};

use super::{super::network::MTU, relay::relay};

/// Room for one packet of the device: the example's own value.
const PACKET: usize = 1600;

#[tokio::main]
pub async fn run(name: &str) -> Result<()> {
    let device = DeviceBuilder::new()
        .name(name)
        .mtu(MTU)
        .offload(true)
        .build_async()?;
    let device = Arc::new(device);
    let (stack, runner, udp, tcp) = StackBuilder::default()
        .enable_tcp(true)
        .enable_udp(true)
        .enable_icmp(true)
        .build()?;
    let _udp = udp;
    let mut tcp = tcp.context("TCP is enabled")?;
    tokio::spawn(runner.context("TCP is enabled")?);
    let (mut to_stack, mut from_stack) = stack.split();
    let out = Arc::clone(&device);
    tokio::spawn(async move {
        while let Some(Ok(packet)) = from_stack.next().await {
            // A header of zeros: one packet whose checksum is complete.
            let mut frame = vec![0; VIRTIO_NET_HDR_LEN + packet.len()];
            frame[VIRTIO_NET_HDR_LEN..].copy_from_slice(&packet);
            if let Err(error) = out.send(&frame).await {
                eprintln!("sending a packet: {error}");
            }
        }
    });
    tokio::spawn(async move {
        let mut packets = Packets::new();
        while let Ok(count) = packets.receive(&device).await {
            for packet in packets.first(count) {
                if let Err(error) = to_stack.send(packet.to_vec()).await {
                    eprintln!("receiving a packet: {error}");
                }
            }
        }
    });
    while let Some((flow, _, target)) = tcp.next().await {
        tokio::spawn(relay(flow, target));
    }
    Ok(())
}

/// Buffers for the packets of one read from the device.
struct Packets {
    frame: Vec<u8>,
    packets: Vec<Vec<u8>>,
    lengths: Vec<usize>,
}

impl Packets {
    fn new() -> Self {
        Self {
            frame: vec![0; VIRTIO_NET_HDR_LEN + 65_535],
            packets: vec![vec![0; PACKET]; IDEAL_BATCH_SIZE],
            lengths: vec![0; IDEAL_BATCH_SIZE],
        }
    }

    /// Waits for packets and returns their number.
    async fn receive(&mut self, device: &AsyncDevice) -> io::Result<usize> {
        let Self {
            frame,
            packets,
            lengths,
        } = self;
        device.recv_multiple(frame, packets, lengths, 0).await
    }

    fn first(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        let packets = self.packets.iter().zip(&self.lengths).take(count);
        packets.map(|(packet, len)| &packet[..*len])
    }
}
