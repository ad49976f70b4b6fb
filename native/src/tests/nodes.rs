//! Branches, and what is found out about their families.

use super::*;
use crate::node::{Again, Family, Node};

fn family(conditions: &[u32], order: &[u32]) -> Family {
    Family::new(conditions.to_vec(), order.to_vec(), None)
}

fn child(family: &Arc<Family>, place: u32, bound: Score) -> Node {
    Node {
        bound,
        family: family.clone(),
        child: Some(place),
        least: 0,
        most: 100,
        length: family.conditions.len() + 2,
        again: None,
    }
}

#[test]
fn what_is_found_out_about_a_family_holds_for_those_it_replaced() {
    let first = Arc::new(family(&[7], &[1, 2]));
    let mut below = family(&[7, 1], &[2]);
    below.parent = Some(first.clone());
    let below = Arc::new(below);
    let second = first.replaced(family(&[7], &[3, 1, 2]));
    let third = second.replaced(family(&[7], &[4, 3, 1, 2]));
    for older in [&first, &second, &third] {
        assert!(Arc::ptr_eq(&older.newest(), &third));
    }
    let unrelated = Arc::new(family(&[8], &[1, 2]));
    third.lower(40);
    third.knows_ties(2);
    for (node, is_capped) in [
        (child(&first, 0, 90), true),
        (child(&below, 0, 90), true),
        (child(&second, 1, 90), true),
        (child(&third, 1, 90), true),
        (child(&unrelated, 0, 90), false),
    ] {
        assert_eq!(node.capped(None), if is_capped { 40 } else { 90 });
        assert_eq!(node.ties_are_known(2, None), is_capped);
        assert!(!node.ties_are_known(3, None));
    }
    // What is true of fewer children need not be true of more.
    second.lower(10);
    assert_eq!(child(&first, 0, 90).capped(None), 10);
    assert_eq!(child(&third, 1, 90).capped(None), 40);
    drop(third);
    assert!(Arc::ptr_eq(&first.newest(), &first));
}

#[test]
fn a_cap_says_nothing_of_short_rules() {
    let one = Arc::new(family(&[7], &[1, 2, 3]));
    one.lower(40);
    // Two conditions by now: rules of three may be worth as much as the bound.
    let node = child(&one, 0, 90);
    assert_eq!(node.capped(Some(3)), 90);
    assert_eq!(node.capped(Some(2)), 40);
    // Once expanded, of those of three conditions some children are left, and what they are worth is known.
    let again = |children| Again {
        opened: None,
        offered: 60,
        children,
    };
    let with_some = node.put_off(80, 4, again(Some(55)));
    assert_eq!(with_some.best_short(Some(3)), Some(55));
    assert_eq!(with_some.capped(Some(3)), 55);
    let with_none = node.put_off(80, 4, again(None));
    assert_eq!(with_none.best_short(Some(3)), None);
    assert_eq!(with_none.capped(Some(3)), 40);
    // A lower bound may be that of a child, which has one condition more; not where none is left that is worth as much.
    assert_eq!(with_some.clone().lowered(50).length, 3);
    assert_eq!(with_none.lowered(50).length, 4);
    assert_eq!(with_some.lowered(70).length, 4);
}
