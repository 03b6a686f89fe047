//! The program in the kernel that gives an `AF_XDP` socket the frames for the address of our stack,
//! and leaves all other frames to the kernel.
//!
//! Rule: the program is attached by a link, whose only descriptor is in this process. The kernel
//! detaches the program when the descriptor is closed, also if the process is killed. The program
//! is written as BPF instructions, so that no compiler and no library is needed.

use std::{
    io,
    net::Ipv4Addr,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use fullpipe::MacAddress;

/// Commands, types and flags of `linux/bpf.h` and `linux/if_link.h`.
const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const BPF_REDIRECT_MAP: i32 = 51;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_PASS: i32 = 2;
/// The licence, which the kernel asks for. The program calls no function that needs the GPL.
const LICENSE: &[u8] = b"MIT OR Apache-2.0\0";
/// EtherType of ARP, in network byte order.
const ARP: [u8; 2] = [8, 6];
/// Offset of the EtherType in a frame.
const ETHERTYPE_AT: i16 = 12;
/// Offset of an ARP packet's target address in a frame.
const TARGET_AT: i16 = 38;
/// Length of an ARP packet over Ethernet, in bytes. The kernel gets all shorter frames.
const LEAST: i32 = 42;

/// Arguments of [`BPF_MAP_CREATE`]. Like the structures below, they are laid out as in
/// `linux/bpf.h`.
#[repr(C)]
struct MapArguments {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
}

#[repr(C)]
struct ElementArguments {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramArguments {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log: [u32; 2],
    log_buffer: u64,
}

#[repr(C)]
struct LinkArguments {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

/// Attaches the program for the host with `mac` and `address` to interface number `index`.
/// Frames of receive queue 0 that are for the host go to `socket`. Returns the link.
pub(super) fn attach(
    index: u32,
    socket: &OwnedFd,
    mac: MacAddress,
    address: Ipv4Addr,
) -> io::Result<OwnedFd> {
    let map = bpf(
        BPF_MAP_CREATE,
        &MapArguments {
            map_type: BPF_MAP_TYPE_XSKMAP,
            key_size: 4,
            value_size: 4,
            max_entries: 1,
        },
    )?;
    let (queue, value) = (0_u32, socket.as_raw_fd());
    let element = ElementArguments {
        map: map.as_raw_fd() as u32,
        pad: 0,
        key: &raw const queue as u64,
        value: &raw const value as u64,
        flags: 0,
    };
    call(BPF_MAP_UPDATE_ELEM, &element)?;
    let instructions = instructions(&map, mac, address);
    let program = bpf(
        BPF_PROG_LOAD,
        &ProgramArguments {
            program_type: BPF_PROG_TYPE_XDP,
            instruction_count: instructions.len() as u32,
            instructions: instructions.as_ptr() as u64,
            license: LICENSE.as_ptr() as u64,
            log: [0; 2],
            log_buffer: 0,
        },
    )?;
    bpf(
        BPF_LINK_CREATE,
        &LinkArguments {
            program: program.as_raw_fd() as u32,
            interface: index,
            attach_type: BPF_XDP,
            flags: XDP_FLAGS_SKB_MODE,
        },
    )
}

/// Calls the kernel with a command that returns a descriptor.
fn bpf<T>(command: libc::c_int, arguments: &T) -> io::Result<OwnedFd> {
    let fd = call(command, arguments)?;
    // SAFETY: nothing else owns the descriptor, which the kernel has just made.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn call<T>(command: libc::c_int, arguments: &T) -> io::Result<libc::c_int> {
    let (at, len) = (&raw const *arguments, size_of::<T>());
    // SAFETY: the pointer and the length describe `arguments`, whose type has the layout of the
    // command. The call only reads `arguments` and what it points to, and both outlive the call.
    let status = unsafe { libc::syscall(libc::SYS_bpf, command, at, len) };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(status as libc::c_int)
}

/// Instruction of BPF: operation, registers, offset and number.
type Instruction = u64;

const fn instruction(
    code: u8,
    (target, source): (u8, u8),
    offset: i16,
    number: i32,
) -> Instruction {
    let registers = if cfg!(target_endian = "little") {
        source << 4 | target
    } else {
        target << 4 | source
    };
    let [o0, o1] = offset.to_ne_bytes();
    let [n0, n1, n2, n3] = number.to_ne_bytes();
    u64::from_ne_bytes([code, registers, o0, o1, n0, n1, n2, n3])
}

/// Codes of operations, each combined from constants of `linux/bpf.h`.
const LOAD_WORD: u8 = 0x61;
const LOAD_HALF: u8 = 0x69;
const LOAD_MAP: u8 = 0x18;
const ADD_NUMBER: u8 = 0x07;
const SET: u8 = 0xbf;
const SET_NUMBER: u8 = 0xb7;
const JUMP: u8 = 0x05;
const JUMP_IF_GREATER: u8 = 0x2d;
const JUMP_UNLESS_NUMBER: u8 = 0x55;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// Source field of [`LOAD_MAP`] which says that the instruction's number is the descriptor of a
/// map.
const OF_MAP: u8 = 1;
/// Offset of the frame's start in the program's argument (`struct xdp_md`).
const START: i16 = 0;
/// Offset of the frame's end in the program's argument.
const END: i16 = 4;
/// Offset of the receive queue's index in the program's argument.
const QUEUE: i16 = 16;

/// Returns the program, which gives two kinds of frames to the socket: those with the destination
/// address `mac`, and ARP packets that ask for `address`.
fn instructions(map: &OwnedFd, mac: MacAddress, address: Ipv4Addr) -> Vec<Instruction> {
    let MacAddress([a, b, c, d, e, f]) = mac;
    let [w, x, y, z] = address.octets();
    // Each pair of bytes with its offset in the frame.
    let station = [(0, [a, b]), (2, [c, d]), (4, [e, f])];
    let request = [
        (ETHERTYPE_AT, ARP),
        (TARGET_AT, [w, x]),
        (TARGET_AT + 2, [y, z]),
    ];
    let differs = |(at, pair): (i16, [u8; 2]), skipped| {
        [
            instruction(LOAD_HALF, (5, 2), at, 0),
            instruction(
                JUMP_UNLESS_NUMBER,
                (5, 0),
                skipped,
                u16::from_ne_bytes(pair).into(),
            ),
        ]
    };
    let redirect = [
        instruction(LOAD_MAP, (1, OF_MAP), 0, map.as_raw_fd()),
        0, // upper half of the number
        instruction(LOAD_WORD, (2, 6), QUEUE, 0),
        instruction(SET_NUMBER, (3, 0), 0, XDP_PASS),
        instruction(CALL, (0, 0), 0, BPF_REDIRECT_MAP),
        instruction(EXIT, (0, 0), 0, 0),
    ];
    let pass = [
        instruction(SET_NUMBER, (0, 0), 0, XDP_PASS),
        instruction(EXIT, (0, 0), 0, 0),
    ];
    // Build the program from its end: the operand of a jump is the number of instructions that the
    // jump skips, so these instructions must be known before the jump.
    let mut program: Vec<Instruction> = [&redirect[..], &pass].concat();
    let before = |program: &mut Vec<Instruction>, more: &[Instruction]| {
        program.splice(..0, more.iter().copied());
    };
    let to_pass = |program: &[Instruction]| (program.len() - pass.len()) as i16;
    for pair in request.into_iter().rev() {
        let skipped = to_pass(&program);
        before(&mut program, &differs(pair, skipped));
    }
    let asks = (2 * request.len()) as i16;
    before(&mut program, &[instruction(JUMP, (0, 0), asks, 0)]);
    for (rank, pair) in station.into_iter().rev().enumerate() {
        // If the pair differs, jump over the tests of later pairs and over the jump to `redirect`.
        before(&mut program, &differs(pair, 2 * rank as i16 + 1));
    }
    let skipped = to_pass(&program);
    before(
        &mut program,
        &[
            instruction(SET, (6, 1), 0, 0),
            instruction(LOAD_WORD, (2, 1), START, 0),
            instruction(LOAD_WORD, (3, 1), END, 0),
            instruction(SET, (4, 2), 0, 0),
            instruction(ADD_NUMBER, (4, 0), 0, LEAST),
            instruction(JUMP_IF_GREATER, (4, 3), skipped, 0),
        ],
    );
    program
}
