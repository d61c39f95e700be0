//! Compares the phases of chains of subgroups with a plain search over elements.

use super::*;

/// Returns all products of elements.
fn generated(generators: &[OrientedPermutation]) -> HashSet<OrientedPermutation> {
    let identity = OrientedPermutation::identity(generators[0].orientation_counts());
    let mut all = HashSet::from([identity.clone()]);
    let mut last = vec![identity];
    while let Some(element) = last.pop() {
        for generator in generators {
            let product = element.then(generator);
            if all.insert(product.clone()) {
                last.push(product);
            }
        }
    }
    all
}

/// Returns the numbers of elements of `group` at each distance to `subgroup` by moves in `group`.
fn plain_counts(
    model: &SolveModel,
    group: &HashSet<OrientedPermutation>,
    subgroup: &HashSet<OrientedPermutation>,
) -> Vec<usize> {
    let moves: Vec<_> = model.generators.iter().map(|generator| &generator.action).collect();
    let mut known = subgroup.clone();
    let mut level: Vec<_> = subgroup.iter().cloned().collect();
    let mut counts = Vec::new();
    while !level.is_empty() {
        counts.push(level.len());
        let rest = group.iter().filter(|element| !known.contains(element));
        let is_next = |element: &&OrientedPermutation| {
            moves.iter().any(|action| group.contains(*action) && known.contains(&element.then(action)))
        };
        level = rest.filter(is_next).cloned().collect();
        known.extend(level.iter().cloned());
    }
    assert_eq!(known.len(), group.len());
    counts
}

#[test]
fn phases_match_a_plain_search() {
    for (word, metric, chain) in [
        ("2x3", Metric::Multi, "H1,V1; V1"),
        ("2x3", Metric::Single, "V1,V2,V3"),
        ("2x3", Metric::Multi, "[H1,V1], H1 V1, V1;V1"),
        // Moves without their inverses.
        ("lx:5", Metric::Given, "L"),
        ("star:6", Metric::Given, "t2,t3;t2"),
        ("burnt-pancake:3", Metric::Given, "r1,r2"),
        ("2x2", Metric::Multi, "V1,V2; V1"),
        // Two equal groups.
        ("lx:5", Metric::Given, "L,X;L"),
    ] {
        let model = model(word, Some(metric), None);
        let found = phases(&model, chain, 1 << 30).unwrap_or_else(|error| panic!("{word} {chain}: {error}"));
        let moves: Vec<_> = model.generators.iter().map(|generator| generator.action.clone()).collect();
        let mut group = generated(&moves);
        for (at, phase) in found.iter().enumerate() {
            let generators: Vec<_> =
                phase.subgroup.iter().map(|text| model.read(text, true).unwrap()).collect();
            let subgroup = match &generators[..] {
                [] => HashSet::from([OrientedPermutation::identity(model.definition.orientation_counts())]),
                generators => generated(generators),
            };
            assert_eq!(phase.order, group.len().into());
            let counts: Vec<usize> =
                phase.counts.iter().map(|&count| count as usize * subgroup.len()).collect();
            assert_eq!(counts, plain_counts(&model, &group, &subgroup), "{word} {chain}: phase {}", at + 1);
            assert_eq!(phase.gods_number() as usize, counts.len() - 1);
            assert_eq!(phase.cosets() as usize, group.len() / subgroup.len());
            group = subgroup;
        }
        assert_eq!(group.len(), 1);
    }
}
