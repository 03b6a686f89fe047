//! Tests of interfaces on which a device cannot be opened: the error says what to do.

use std::process::Command;

use super::{DEVICES, cable, in_network_namespace, ip, options, start};

const POWERLESS: &str = "refused::a_refusal_names_the_capability_that_is_missing";

fn refusal(device: &str) -> String {
    let outcome = options(device).open();
    outcome.map(drop).expect_err("it is refused").to_string()
}

#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn a_refusal_names_the_interface_and_a_remedy() {
    in_network_namespace(
        "refused::a_refusal_names_the_interface_and_a_remedy",
        || {
            cable();
            ip("link set fpwire0 down");
            for device in DEVICES {
                let (kind, name) = device.split_once(':').expect("kind and name");
                for (device, words) in [
                    (
                        format!("{kind}:fpnone"),
                        [
                            "there is no interface fpnone",
                            "ip link lists the interfaces",
                        ],
                    ),
                    (
                        format!("{kind}:{name}"),
                        [
                            "cannot send or receive on the interface fpwire0",
                            "ip link set fpwire0 up",
                        ],
                    ),
                ] {
                    let line = refusal(&device);
                    assert!(words.iter().all(|word| line.contains(word)), "{line}");
                }
            }
            ip("link set fpwire0 up mtu 9000");
            let line = refusal("xdp:fpwire0");
            assert!(
                line.contains("an MTU of 9000") && line.contains("or use packet:fpwire0"),
                "{line}"
            );
            ip("link set fpwire0 mtu 1500");
            let line = refusal("xdp:lo");
            assert!(
                line.contains("lo is no Ethernet interface") && line.contains("use packet:lo"),
                "{line}"
            );

            let first = start(&options("xdp:fpwire0"), 1);
            let line = refusal("xdp:fpwire0");
            assert!(
                line.contains("busy") && line.contains("ip link set fpwire0 xdp off"),
                "{line}"
            );
            drop(first);

            ip("link add fpmany0 numrxqueues 2 numtxqueues 2 type veth peer name fpmany1");
            ip("link set fpmany0 up");
            let line = refusal("xdp:fpmany0");
            assert!(
                line.contains("has 2 receive queues") && line.contains("ethtool -L fpmany0"),
                "{line}"
            );
        },
    );
}

#[test]
#[ignore = "needs root and network devices: cargo xtask test"]
fn a_refusal_names_the_capability_that_is_missing() {
    in_network_namespace(POWERLESS, || {
        if std::env::var_os("FULLPIPE_POWERLESS").is_some() {
            for device in DEVICES {
                let line = refusal(device);
                let what = line.contains("cannot open") && line.contains("Operation not permitted");
                assert!(what && line.contains("CAP_NET_RAW"), "{line}");
            }
            return;
        }
        cable();
        let status = Command::new("setpriv")
            .args(["--bounding-set", "-net_raw", "--inh-caps", "-net_raw"])
            .arg(std::env::current_exe().expect("this program has a path"))
            .args(["--include-ignored", "--exact", POWERLESS, "--nocapture"])
            .env("FULLPIPE_POWERLESS", "1")
            .status()
            .expect("setpriv is part of util-linux");
        assert!(status.success());
    });
}
