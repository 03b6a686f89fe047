//! Tests with made-up datagrams and errors, and with the kernel of this machine.

use super::*;

fn message(kind: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = ((HEADER_LEN + payload.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[test]
fn a_datagram_is_divided_into_its_messages() {
    let mut datagram = message(20, 2, b"first");
    datagram.extend(message(NLMSG_DONE, NLM_F_DUMP_INTR, &0i32.to_ne_bytes()));
    let read: Vec<_> = Messages(&datagram).collect();
    assert_eq!(read.len(), 2);
    assert_eq!((read[0].kind, read[0].payload), (20, b"first".as_slice()));
    assert_eq!(read[1].flags, NLM_F_DUMP_INTR);
    assert!(read[1].status().is_ok());
    for len in 0..datagram.len() {
        assert!(Messages(&datagram[..len]).count() <= 2, "{len}");
    }
}

#[test]
fn an_error_names_the_remedy() {
    let refused = message(NLMSG_ERROR, 0, &(-libc::ENOENT).to_ne_bytes());
    let error = Messages(&refused).next().unwrap().status().unwrap_err();
    let line = explained(error).to_string();
    assert!(line.contains("modprobe tcp_diag"), "{line}");
}

#[test]
fn the_kernel_answers_with_the_sockets_of_this_process() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut request = 72u32.to_ne_bytes().to_vec();
    request.extend(20u16.to_ne_bytes());
    request.extend(0x301u16.to_ne_bytes());
    request.extend([0; 8]);
    // IPv4, TCP, no extensions, listening sockets.
    request.extend([2, 6, 0, 0]);
    request.extend((1u32 << 10).to_ne_bytes());
    request.resize(72, 0);
    let mut ports = Vec::new();
    let end = SockDiag::open().unwrap().dump(&request, &mut |payload, _| {
        ports.push(u16::from_be_bytes([payload[4], payload[5]]));
    });
    assert_eq!(end.unwrap(), DumpEnd::Complete);
    assert!(ports.contains(&listener.local_addr().unwrap().port()));
}

#[test]
fn each_question_about_one_socket_has_its_answer() {
    // Ask for ports that no connection has, so the kernel finds none of these sockets.
    let mut requests = Vec::new();
    for sequence in 0..200u32 {
        requests.extend(72u32.to_ne_bytes());
        requests.extend(20u16.to_ne_bytes());
        requests.extend(1u16.to_ne_bytes());
        requests.extend(sequence.to_ne_bytes());
        requests.extend([0; 4]);
        requests.extend([2, 6, 0, 0]);
        requests.extend([0; 52]);
    }
    let mut gone = Vec::new();
    let end = SockDiag::open()
        .unwrap()
        .ask(&requests, 72, &mut |answer, _| {
            if let DiagAnswer::Gone(sequence) = answer {
                gone.push(sequence);
            }
        });
    assert_eq!(end.unwrap(), DumpEnd::Complete);
    assert_eq!(gone, (0..200).collect::<Vec<_>>());
}
