//! Tests of valid and invalid texts of devices and addresses.

use super::*;

#[test]
fn a_device_is_a_kind_and_a_name() {
    for (text, kind, medium) in [
        ("tap:fp0", DeviceKind::Tap, Medium::Ethernet),
        ("tun:fp0", DeviceKind::Tun, Medium::Ip),
        ("packet:fp0", DeviceKind::Packet, Medium::Ethernet),
        ("xdp:fp0", DeviceKind::Xdp, Medium::Ethernet),
    ] {
        let spec: DeviceSpec = text.parse().expect(text);
        assert_eq!((spec.kind, spec.name.as_str()), (kind, "fp0"));
        assert_eq!(spec.kind.medium(), medium);
        assert_eq!(spec.to_string(), text);
    }
}

#[test]
fn a_wrong_device_is_one_clear_line() {
    for (text, line) in [
        (
            "fp0",
            "'fp0' is no device: write tap:NAME or tun:NAME, or packet:NIC or xdp:NIC for an interface that exists",
        ),
        (
            "veth:fp0",
            "'veth:fp0' is no device: write tap:NAME or tun:NAME, or packet:NIC or xdp:NIC for an interface that exists",
        ),
        (
            "tap:",
            "the device has no name: write tap:NAME or tun:NAME, or packet:NIC or xdp:NIC for an interface that exists",
        ),
        (
            "tap:sixteen_letters_",
            "the device name 'sixteen_letters_' is too long: 16 bytes, at most 15",
        ),
        (
            "tap:a/b",
            "'a/b' cannot be a device name: choose a name other than '.' and '..', without spaces, '/', ':' and '%'",
        ),
        (
            "tap:fp%d",
            "'fp%d' cannot be a device name: choose a name other than '.' and '..', without spaces, '/', ':' and '%'",
        ),
        (
            "tap:..",
            "'..' cannot be a device name: choose a name other than '.' and '..', without spaces, '/', ':' and '%'",
        ),
    ] {
        assert_eq!(
            text.parse::<DeviceSpec>().expect_err(text).to_string(),
            line
        );
    }
}

#[test]
fn an_address_has_a_prefix_that_fits_it() {
    assert_eq!(
        "10.0.0.1/24".parse(),
        Ok(Prefix {
            address: [10, 0, 0, 1].into(),
            len: 24
        })
    );
    for text in [
        "10.0.0.1",
        "10.0.0.1/33",
        "10.0.0/8",
        "/8",
        "10.0.0.1/-1",
        "host/24",
    ] {
        assert!(text.parse::<Prefix>().is_err(), "{text}");
    }
}
