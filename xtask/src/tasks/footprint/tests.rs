//! Tests of the reading of symbols and of the comparison of pages.

use super::{flash, page, ram};

#[test]
fn a_symbol_counts_for_the_crate_and_module_that_its_name_begins_with() {
    for (name, part) in [
        ("<fullpipe::stack::Stack>::new", "fullpipe::stack"),
        (
            "<fullpipe_tcp::connection::tcb::Connection>::end",
            "fullpipe_tcp::connection",
        ),
        (
            "<alloc::vec::Vec<fullpipe::slab::SlabSlot<u8>>>::from_iter",
            "alloc",
        ),
        ("<fullpipe_wire::tcp::TcpHeader>::parse", "fullpipe_wire"),
        ("__aeabi_memcpy", "other"),
    ] {
        assert_eq!(flash::part(name), part, "{name}");
    }
}

#[test]
fn symbols_in_ram_do_not_count_as_flash() {
    let code = flash::symbol("000000b0 00000010 t reset").expect("code");
    assert_eq!((code.bytes, code.name.as_str()), (16, "reset"));
    assert_eq!(flash::symbol("20000000 00010008 b HEAP"), None);
}

#[test]
fn a_page_differs_in_a_word_or_in_a_figure_by_more_than_two_per_cent() {
    let page = "| flash, everything | 100000 | 98304 |";
    for (other, differs) in [
        ("| flash, everything | 101900 | 98304 |", false),
        ("| flash, everything | 102500 | 98304 |", true),
        ("| flash, embedded | 100000 | 98304 |", true),
        ("", true),
    ] {
        assert_eq!(
            !page::differences(page, other).is_empty(),
            differs,
            "{other}"
        );
    }
}

#[test]
fn the_parts_of_ram_are_parsed_from_the_program_s_lines() {
    let emulated = ram::parse("pool: 7056\nblocks: 144\ndepth of turn: 900\nend\n").expect("parts");
    assert_eq!(emulated.parts[0], ("pool".to_owned(), 7056));
    assert_eq!((emulated.parts.len(), emulated.depth), (2, 900));
}

#[test]
fn a_stack_of_this_machine_reports_its_pool_first() {
    let parts = ram::on_this_machine("nuttx").expect("a preset");
    assert_eq!(parts[0], ("pool".to_owned(), 36 * 196));
}
