use super::rules;
use crate::cluster::free_space::short;
use crate::cluster::state::Rules;

#[test]
fn copies_multiply_needed_space() {
    let twice = Rules { replicas: 2, ..rules(4) };
    assert_eq!(short(100, &[60, 60], &rules(4)), None);
    let said = short(100, &[60, 60], &twice).unwrap();
    assert!(said.contains("may need 200 B on the workers' disks, of which 120 B are free"), "{said}");
    let shared = Rules { shared_store: true, ..rules(4) };
    assert!(short(100, &[60, 60], &shared).is_some());
    assert_eq!(short(100, &[160, 160], &shared), None);
}
