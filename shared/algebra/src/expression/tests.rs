//! Expressions are read correctly, and texts that are not expressions are rejected.

use super::*;
use crate::Word;
use crate::word::{Turn, generator_orders};
use proptest::prelude::*;

const DEGREE: usize = 6;

fn generators() -> Vec<(&'static str, Permutation)> {
    let read = |(name, cycles)| (name, Permutation::parse(cycles, DEGREE).unwrap());
    // The last name looks like a power of the third generator, but is a different permutation.
    [("a", "(1,2)"), ("b", "(1,2,3,4,5,6)"), ("V1", "(2,4,6)"), ("V1^2", "(1,3,5)")].map(read).to_vec()
}

fn read(text: &str) -> Result<String, String> {
    let generators = generators();
    let named: Vec<Named> = generators.iter().map(|(name, action)| Named { name, action }).collect();
    let element = parse(text, DEGREE, &named);
    element.map(|element| element.to_string()).map_err(|error| error.to_string())
}

#[test]
fn product_of_the_article_has_order_105() {
    // "How to count the number of positions of Rubik's cube", HaskellForMaths, 2009: the product f*l.
    let cycles = [
        ("f", "(1,3,9,7)(2,6,8,4)(17,41,33,29)(18,44,32,26)(19,47,31,23)"),
        ("l", "(21,23,29,27)(22,26,28,24)(1,31,59,11)(4,34,56,14)(7,37,53,17)"),
    ];
    let [f, l] = cycles.map(|(name, cycles)| (name, Permutation::parse(cycles, 59).unwrap()));
    let named = [Named { name: f.0, action: &f.1 }, Named { name: l.0, action: &l.1 }];
    let product = parse("f*l", 59, &named).unwrap();
    assert_eq!(
        product.to_nested_lists(),
        "[[1,3,9,37,53,17,41,33,27,21,23,19,47,59,11],[2,6,8,34,56,14,4],[7,31,29],[18,44,32,28,24,22,26]]"
    );
    assert_eq!(product.order(), Some(105));
    assert!(parse("(f*l)^105", 59, &named).unwrap().is_identity());
    assert_eq!(parse("l^-1 f'", 59, &named).unwrap(), product.inverse());
}

/// A name may have a typographic apostrophe. Errors have offsets in the text as written.
#[test]
fn names_take_precedence_over_typographic_apostrophes() {
    let action = Permutation::parse("(1,2,3)", 3).unwrap();
    let other = Permutation::parse("(1,2)", 3).unwrap();
    let named = [Named { name: "a", action: &action }, Named { name: "a\u{2019}", action: &other }];
    assert_eq!(parse("a\u{2019}", 3, &named).unwrap(), other);
    let error = parse("a a\u{2032} c", 3, &named).unwrap_err();
    assert_eq!(error.at(), 2);
}

#[test]
fn equivalent_expressions() {
    for (one, other) in [
        ("a*b", "a b"),
        (" a  *  b ", "a b"),
        ("a(b)", "a*b"),
        ("(a)(b)", "a*b"),
        ("(a b)^2", "a b a b"),
        ("(a b)'", "b^-1 a"),
        ("b^2^3", "b^6"),
        ("b ^ -1", "b'"),
        ("b''", "b"),
        ("(a b\u{2019})\u{2032} a\u{2032}", "(a b')' a'"),
        ("a\u{2018} a\u{b4} b\u{2b9} a\u{2bc} b\u{ff07}", "a' a' b' a' b'"),
        ("()", "b^0"),
        ("a * () * b", "a b"),
        ("((((a)))^3)", "a"),
        ("b^9223372036854775807", "b"),
        ("V1^3", "()"),
        ("V1^2", "V1^2^4"),
        ("V1^2^3", "()"),
        ("(V1)^2", "V1^-1"),
        ("[a, b]", "a b a' b'"),
        ("[a: b]^2", "a b b a'"),
        ("[[a,b]: (b a)2]'", "(a b a' b' b a b a b a b' a')'"),
        ("a, b", "a b"),
        ("ab", "a b"),
        ("bab'ab2", "b a b^-1 a b^2"),
        ("ab^2", "a b b"),
        ("b2'", "b^-2"),
        ("(b a)3", "b a b a b a"),
        ("V_1^{-1}", "V1'"),
        ("V_{1}", "V1"),
        (". a .", "a"),
    ] {
        assert_eq!(read(one).unwrap(), read(other).unwrap(), "{one} = {other}");
    }
    assert_eq!(read("V1^2").unwrap(), "(1,3,5)");
    assert_eq!(read("(V1)^2").unwrap(), "(2,6,4)");
}

/// `R_2` is a name of its own here, and a formula writes `S_1` for `S1`.
#[test]
fn names_with_underscores_take_precedence() {
    let named = |name: &str| {
        let cycles = match name {
            "R" => "(1,2,3,4,5)",
            "R_2" => "(1,2)",
            "S1" => "(2,3)",
            // As the power of a move that is its own inverse, "R_2'" has no name.
            "R2'" => "(1,4,2,5,3)",
            _ => return Ok(None),
        };
        Ok(Some(Permutation::parse(cycles, 5).unwrap()))
    };
    let read = |text| {
        let product = sequence(text, &Permutation::identity(5), &mut { named });
        product.map(|product| product.unwrap().to_string())
    };
    assert_eq!(read("R_2'").unwrap(), "(1,2)");
    assert_eq!(read("R_{2}'").unwrap(), read("R2'").unwrap());
    assert_eq!(read("S_1 R_2'").unwrap(), read("S1 R_2").unwrap());
    assert!(read("R_3x").is_err());
}

#[test]
fn errors_name_place_and_reason() {
    for (text, says) in [
        ("", "at offset 0: expected a move or '(', found the end"),
        ("  ", "at offset 2: expected a move or '(', found the end"),
        ("a*", "at offset 2: expected a move or '(', found the end"),
        ("a**b", "at offset 2: expected a move or '(', found '*'"),
        ("*a", "at offset 0: expected a move or '(', found '*'"),
        ("^2", "at offset 0: expected a move or '(', found '^'"),
        ("(a*)", "at offset 3: expected a move or '(', found ')'"),
        ("a)", "at offset 1: unmatched ')'"),
        ("b (a (b)", "at offset 2: this '(' is not closed"),
        ("(", "at offset 1: expected a move or '(', found the end"),
        ("a^", "at offset 2: expected a number, found the end"),
        ("a^-b", "at offset 3: expected a number, found 'b'"),
        ("a^+1", "at offset 2: expected a number, found '+'"),
        ("a^99999999999999999999", "at offset 2: the exponent 99999999999999999999 is too large"),
        ("a*ac", "at offset 2: unknown move \"ac\". Moves: a b V1 V1^2"),
        ("[a b]", "at offset 4: expected ',' or ':', found ']'"),
        ("[a, b", "at offset 0: this '[' is not closed"),
        ("[a, b, a]", "at offset 5: expected '*', '^', a move, or the end, found ','"),
        ("a, , b", "at offset 3: expected a move or '(', found ','"),
        ("V12", "at offset 0: unknown move \"V12\". Moves: a b V1 V1^2"),
        ("a^{2", "at offset 4: expected '}', found the end"),
        ("(a]", "at offset 2: expected ')', found ']'"),
        ("[a, b)", "at offset 5: expected ']', found ')'"),
        ("é", "at offset 0: unknown move \"é\". Moves: a b V1 V1^2"),
        ("V1^2x", "at offset 4: unknown move \"x\". Moves: a b V1 V1^2"),
        ("2", "at offset 0: unknown move \"2\". Moves: a b V1 V1^2"),
    ] {
        assert_eq!(read(text).unwrap_err(), says, "{text:?}");
    }
}

/// Long words without blanks: each part of them might be a name.
#[test]
fn name_lookups_are_bounded() {
    let generators = generators();
    let word = |number: usize| (0..1000).map(move |i| if (i * i + number * i) % 7 < 3 { 'a' } else { 'b' });
    let text: String = (0..20).flat_map(|number| word(number).chain([' '])).collect();
    for longest in 1..=3 {
        let (mut asked, mut told) = (0, 0);
        let mut named = |name: &str| {
            assert!(name.len() <= longest, "{name}");
            let found = generators.iter().find(|(known, _)| *known == name);
            asked += 1;
            told += usize::from(found.is_some());
            Ok(found.map(|(_, action)| action.clone()))
        };
        sequence_of(&text, &Permutation::identity(DEGREE), longest, &mut named).unwrap();
        // Each name is looked up once.
        assert_eq!(told, 2);
        assert!(asked <= 2 + (longest - 1) * (text.len() + 20), "{asked}");
    }
}

/// Only the elements of names are stored, however many other parts the words of a text have.
#[test]
fn only_names_are_stored() {
    let generators = generators();
    let word: String = (0..MAX_WORD).map(|i| if i * i % 7 < 3 { 'a' } else { 'b' }).collect();
    let mut named = |name: &str| {
        Ok(generators.iter().find(|(known, _)| *known == name).map(|(_, action)| action.clone()))
    };
    let identity = Permutation::identity(DEGREE);
    let mut parser = Parser {
        text: &word,
        at: 0,
        identity: &identity,
        longest: MAX_NAME,
        named: &mut named,
        known: HashMap::new(),
        is_formula: false,
        factors: 0,
    };
    parser.names().unwrap();
    assert_eq!((parser.at, parser.known.len()), (MAX_WORD, 2));
}

/// The time to read a name does not depend on the length of the rest: with searches through all of it these
/// texts would take minutes.
#[test]
fn long_texts_without_blanks() {
    let factors = 1 << 17;
    assert_eq!(read(&vec!["b"; factors].join("*")).unwrap(), read("b^2").unwrap());
    let depth = factors / 2;
    let nested = format!("{}a{}", "[b,".repeat(depth), "]".repeat(depth));
    assert!(read(&nested).is_ok());
    assert_eq!(beginning("aéa", 2), "aé");
    assert_eq!(beginning("aéa", 9), "aéa");
    // A word of the longest length is read, and a longer one is not.
    assert_eq!(read(&"b".repeat(MAX_WORD)).unwrap(), read("b^4").unwrap());
    for end in ["b", "é", "😀"] {
        assert!(read(&("b".repeat(MAX_WORD) + end)).unwrap_err().contains("unknown move"));
    }
}

#[test]
fn ambiguous_texts_are_rejected() {
    let moves = ["U", "R", "2U", "RU"].map(|name| (name, Permutation::parse("(1,2)", 2).unwrap()));
    let named: Vec<Named> = moves.iter().map(|(name, action)| Named { name, action }).collect();
    let read = |text| parse(text, 2, &named).map_err(|error| error.to_string());
    assert_eq!(
        read("R2U").unwrap_err(),
        "at offset 0: \"R2U\" can be read in more than one way: put blanks between the moves"
    );
    // A text that is a name is read as that name, even if it could also be read as a product.
    assert!(read("RU").is_ok() && read("R 2U").is_ok());
}

/// Moves may be listed with their powers, which are names then.
#[test]
fn names_take_precedence_over_powers() {
    let moves = [("U", "(1,2,3)"), ("U'", "(4,5)"), ("U2", "(1,3,2)"), ("R", "(1,4)"), ("R1", "(2,5)")];
    let moves = moves.map(|(name, cycles)| (name, Permutation::parse(cycles, 5).unwrap()));
    let named: Vec<Named> = moves.iter().map(|(name, action)| Named { name, action }).collect();
    let read = |text| parse(text, 5, &named).unwrap();
    for (text, product) in [
        ("RU'", "(1,4)*(4,5)"),
        ("RU2R'", "(1,4)*(1,3,2)*(1,4)"),
        ("(U'R)2", "(4,5)*(1,4)*(4,5)*(1,4)"),
        ("R1'", "(2,5)"),
        ("UR1", "(1,2,3)*(2,5)"),
    ] {
        assert_eq!(read(text), read(product), "{text}");
    }
}

#[test]
fn turns_are_listed_in_order() {
    let mut named = |name: &str| {
        let place = ["a", "b"].iter().position(|known| *known == name);
        Ok(place.map(|generator| Turns(vec![Turn { generator, exponent: 1 }])))
    };
    let mut read = |text| {
        let turns = sequence(text, &Turns::default(), &mut named).map_err(|error| error.to_string())?;
        let turns = turns.unwrap_or_default().0;
        Ok::<_, String>(turns.iter().map(|turn| (turn.generator, turn.exponent)).collect::<Vec<_>>())
    };
    assert_eq!(read("[a, b2] a'").unwrap(), [(0, 1), (1, 2), (0, -1), (1, -2), (0, -1)]);
    assert_eq!(read("(a b)^2").unwrap(), [(0, 1), (1, 1), (0, 1), (1, 1)]);
    assert_eq!(read("").unwrap(), []);
    assert!(read("(a b)^99999999").unwrap_err().contains("too large"));
    // Each level doubles the level below: 40 levels would give 2^40 turns.
    let nested = (0..40).fold("a".to_owned(), |inner, _| format!("[{inner}, b]"));
    assert!(read(&nested).unwrap_err().contains("more than 262144 factors"));
}

#[test]
fn nesting_depth_is_unlimited() {
    let text = format!("{}b{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(read(&text), read("b"));
    assert_eq!(
        read(&"(".repeat(100_000)).unwrap_err(),
        "at offset 100000: expected a move or '(', found the end"
    );
}

proptest! {
    #[test]
    fn words_round_trip(turns in proptest::collection::vec((0_usize..5, -6_i64..7), 0..12)) {
        let mut all = generators();
        // Beside a generator `b2`, the text `b2'` is the inverse of that generator.
        all.push(("b2", Permutation::parse("(1,4,2)", DEGREE).unwrap()));
        let named: Vec<Named> = all.iter().map(|(name, action)| Named { name, action }).collect();
        let (names, generators): (Vec<_>, Vec<_>) = all.iter().cloned().unzip();
        let generator_orders = generator_orders(&generators);
        let mut word = Word::identity();
        turns.into_iter().for_each(|(generator, exponent)| word.push(Turn { generator, exponent }, &generator_orders));
        let written = word.written(&names, &names);
        let read = parse(&written, DEGREE, &named).unwrap();
        prop_assert_eq!(read, word.product(DEGREE, &generators), "{}", written);
    }

    #[test]
    fn any_text_is_read_or_rejected(text in ".*") {
        let _ = read(&text);
    }

    #[test]
    fn errors_have_valid_offsets(text in "[abV12()*^' é,:_{}.\\[\\]-]{0,24}") {
        if let Err(message) = read(&text) {
            let at: usize = message["at offset ".len()..message.find(':').unwrap()].parse().unwrap();
            prop_assert!(text.is_char_boundary(at), "{}", message);
        }
    }
}

#[test]
fn cycles_are_factors() {
    let turn = Permutation::parse("(1,2,3,4,5)", 6).unwrap();
    let named = [Named { name: "t", action: &turn }];
    let reads = |text: &str, cycles: &str| {
        assert_eq!(parse(text, 6, &named), Ok(Permutation::parse(cycles, 6).unwrap()), "{text}");
    };
    // D. Amos, HaskellForMaths, 2009: the square and the cube of k = [[1,2,3],[4,5]].
    reads("((1,2,3)(4,5))^2", "(1,3,2)");
    reads("[[1,2,3],[4,5]]^3", "(4,5)");
    reads("[ [1,2,3], [4,5] ]'", "(1,3,2)(4,5)");
    reads("(1 2, 3)(4,5)^2", "(1,2,3)");
    reads("t^-1*(1,2,3,4,5)", "()");
    reads("[t, (1,2)]", "(1,5,2)");
    reads("(t, t)", "(1,3,5,2,4)");
    let refused = parse("t*(1,7)", 6, &named).unwrap_err();
    assert!(matches!(refused, ExpressionError::Name { at: 2, .. }), "{refused}");
    // If names are numbers, numbers are read as names.
    let named = [Named { name: "1", action: &turn }, Named { name: "2", action: &turn }];
    assert_eq!(parse("t*(1,2)", 6, &named).unwrap_err().at(), 0);
    assert_eq!(parse("(1,2)^3", 6, &named), Ok(turn.power(6)));
}
