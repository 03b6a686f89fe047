//! Switches: they join more than two hosts, or two hosts over several links.
//!
//! Rule: a switch takes no time and queues no frame. Frames wait in the link over which they leave,
//! so flows share a queue if they share a link between two switches. A switch learns a host's port
//! from the host's frames. A frame for a host whose port it has not learned goes to all other
//! ports. Switches and links form a tree.

use fullpipe_wire::EthernetHeader;

use super::network::{Node, World, host_of};
use super::switch_ports::SwitchPorts;
use crate::ids::{LinkId, SwitchId};

impl World {
    /// Adds a switch, which joins all links that are plugged into it.
    pub fn switch(&mut self) -> SwitchId {
        self.switches.push(SwitchPorts::default());
        SwitchId(self.switches.len() - 1)
    }

    /// Plugs the first free end of `link` into `switch`.
    ///
    /// # Panics
    /// Panics if both ends are taken, or if the link would close a loop.
    pub fn plug(&mut self, link: &LinkId, switch: SwitchId) {
        let ends = self.cables[link.0].ends;
        let direction = self.free_end(link);
        if let Some(Node::Switch(other)) = ends[direction.reverse().index()] {
            assert!(
                !self.is_joined(other, switch),
                "switches {} and {} are joined already: frames would go in circles",
                other.0,
                switch.0
            );
        }
        self.cables[link.0].ends[direction.index()] = Some(Node::Switch(switch));
        self.switches[switch.0].ports.push((*link, direction));
    }

    /// Returns true if links connect the two switches, directly or over other switches.
    fn is_joined(&self, from: SwitchId, to: SwitchId) -> bool {
        let mut reached = vec![false; self.switches.len()];
        let mut left = vec![from];
        while let Some(switch) = left.pop() {
            if std::mem::replace(&mut reached[switch.0], true) {
                continue;
            }
            for (link, direction) in &self.switches[switch.0].ports {
                if let Some(Node::Switch(next)) =
                    self.cables[link.0].ends[direction.reverse().index()]
                {
                    left.push(next);
                }
            }
        }
        reached[to.0]
    }

    /// Forwards a frame that arrives over the link `from` at `switch`: to the destination's port
    /// if the switch has learned it, otherwise to all other ports.
    pub(super) fn forward(&mut self, switch: SwitchId, from: LinkId, frame: Vec<u8>) {
        let Ok((header, _)) = EthernetHeader::parse(&frame) else {
            return;
        };
        let table = &mut self.switches[switch.0];
        let Some(came_by) = table.port_of(from) else {
            return;
        };
        if let Some(source) = host_of(header.src) {
            table.learn(source, came_by);
        }
        let known = Some(header.dst)
            .filter(|dst| dst.is_unicast())
            .and_then(host_of)
            .and_then(|host| table.port_to(host));
        if let Some(port) = known {
            let (link, direction) = table.ports[port];
            if port != came_by {
                self.offer(link, direction, frame);
            }
            return;
        }
        for port in (0..table.ports.len()).filter(|port| *port != came_by) {
            let (link, direction) = self.switches[switch.0].ports[port];
            self.offer(link, direction, frame.clone());
        }
    }
}
