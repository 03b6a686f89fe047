//! Tests of the choice among default routers, and of the largest length of the list.

use super::*;

fn router(last: u16, preference: RouterPreference) -> DefaultRouter {
    DefaultRouter {
        address: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last),
        preference,
        until: Instant::from_secs(10),
    }
}

#[test]
fn a_router_that_answers_comes_before_preference_and_habit() {
    use RouterPreference::{High, Low, Medium};
    let mut routers = Routers::new();
    let [one, two, three] = [router(1, Medium), router(2, Medium), router(3, High)];
    for router in [one, two] {
        assert!(routers.learn(router, Instant::ZERO));
    }
    let choose = |routers: &Routers, present, failed: &[DefaultRouter]| {
        let has_failed = |ip| failed.iter().any(|router| router.address == ip);
        routers.choose(present, has_failed)
    };
    assert_eq!(choose(&routers, None, &[]), Some(one.address));
    let present = Some(two.address);
    assert_eq!(choose(&routers, present, &[]), present);
    assert_eq!(choose(&routers, present, &[two]), Some(one.address));
    assert_eq!(choose(&routers, present, &[one, two]), present);
    routers.learn(three, Instant::ZERO);
    assert_eq!(choose(&routers, present, &[]), Some(three.address));
    assert_eq!(choose(&routers, present, &[three]), present);
    routers.learn(router(3, Low), Instant::ZERO);
    assert_eq!(choose(&routers, None, &[]), Some(one.address));
}

#[test]
fn a_full_list_keeps_the_routers_that_it_has() {
    let mut routers = Routers::new();
    for last in 0..100 {
        let learned = routers.learn(router(last, RouterPreference::High), Instant::ZERO);
        assert_eq!(learned, usize::from(last) < MOST);
    }
    assert_eq!(routers.as_slice().len(), MOST);
    routers.expire(Instant::from_secs(10));
    assert!(routers.as_slice().is_empty());
}
