//! Tests with a listing that mentions a type that other programs cannot name, and with listings
//! that do not.

use super::check;

#[test]
fn a_type_that_the_api_mentions_and_does_not_list_is_found() {
    for (line, expected) in [
        ("pub fn a::Pool::new(size: Size) -> Self", Some("`Size`")),
        ("pub field a::Pool::size: Option<Size>", Some("`Size`")),
        ("pub variant a::Event::Sized(Size)", Some("`Size`")),
        (
            "required fn a::Taker::take(&self, size: Size)",
            Some("`Size`"),
        ),
        ("pub fn a::Pool::of<T: Taker>(t: T) -> Vec<Pool>", None),
        ("pub const a::Pool::NONE: Self", None),
        (
            "pub fn a::Pool::end(&self) -> Clock<Pool, { Event::Sized as usize }>",
            None,
        ),
        ("impl From<Size> for a::Pool", None),
    ] {
        let listing = [
            "pub struct a::Pool",
            "pub enum a::Event",
            "pub trait a::Taker: Send",
            "pub type a::Clock: Clock<Pool, 3>",
            line,
        ];
        let found = check(&[("docs/api/a.txt", listing.join("\n"))]);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        match expected {
            Some(name) => {
                assert_eq!(found.len(), 1, "{line}: {found:?}");
                let place = "docs/api/a.txt:5: ";
                assert!(
                    found[0].starts_with(place) && found[0].contains(name),
                    "{found:?}"
                );
            }
            None => assert_eq!(found, [""; 0], "{line}"),
        }
    }
}
