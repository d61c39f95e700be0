//! Words in generators: what to do, one turn after the other.

use crate::Permutation;

/// A power of one generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    /// The index of the generator.
    pub generator: usize,
    /// Its exponent, not 0.
    pub exponent: i64,
}

/// A product of powers of generators, read from left to right like all products, and freely reduced:
/// neighbours are of different generators.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Word {
    turns: Vec<Turn>,
}

/// The order of each generator, by which exponents are counted modulo; where it exceeds 63 bits, which takes
/// a degree of several hundred, the largest number of 63 bits, to which no word counts.
pub fn orders(generators: &[Permutation]) -> Vec<i64> {
    let order = |g: &Permutation| g.order().and_then(|order| i64::try_from(order).ok());
    generators.iter().map(|g| order(g).unwrap_or(i64::MAX)).collect()
}

/// The name of a power, not 0: `R2`, `R'`, `R2'` as on cubes where the name ends in a letter, `V1^2`, `V1'`,
/// `V1^-2` as on boards elsewhere, and `(R)^2` if that is the name of something else.
pub fn power_name(base: &str, exponent: i64, is_taken: impl Fn(&str) -> bool) -> String {
    if exponent == 1 {
        return base.into();
    }
    let prime = if exponent < 0 { "'" } else { "" };
    let times = match exponent.unsigned_abs() {
        1 => String::new(),
        times => times.to_string(),
    };
    let is_cube = base.ends_with(|c: char| c.is_alphabetic());
    let short = (is_cube || exponent == -1).then(|| format!("{base}{times}{prime}"));
    let names = short.into_iter().chain([format!("{base}^{exponent}")]);
    names.into_iter().find(|name| !is_taken(name)).unwrap_or_else(|| format!("({base})^{exponent}"))
}

impl Word {
    /// The empty word, whose product is the identity.
    pub fn identity() -> Self {
        Self::default()
    }

    /// Its turns in order.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The number of turns.
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// Whether it is the empty word.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The number of generators and inverses in it: a turn with exponent 2 counts twice.
    pub fn letters(&self) -> u64 {
        self.turns.iter().map(|turn| turn.exponent.unsigned_abs()).sum()
    }

    /// Appends a turn. Exponents are brought between half the order of the generator and its negative, and
    /// what cancels vanishes.
    pub fn push(&mut self, turn: Turn, orders: &[i64]) {
        let order = orders[turn.generator];
        let before = self.turns.pop_if(|last| last.generator == turn.generator);
        // Of numbers below the order the sum fits.
        let sum = before.map_or(0, |last| last.exponent.rem_euclid(order) as u64)
            + turn.exponent.rem_euclid(order) as u64;
        let exponent = (sum % order as u64) as i64;
        let exponent = if exponent > order / 2 { exponent - order } else { exponent };
        if exponent != 0 {
            self.turns.push(Turn { exponent, ..turn });
        }
    }

    /// This word first, `next` after it.
    pub fn then(&self, next: &Self, orders: &[i64]) -> Self {
        let mut product = self.clone();
        next.turns.iter().for_each(|&turn| product.push(turn, orders));
        product
    }

    /// The word of the inverse element.
    pub fn inverse(&self, orders: &[i64]) -> Self {
        let mut inverse = Self::identity();
        for &turn in self.turns.iter().rev() {
            inverse.push(Turn { exponent: -turn.exponent, ..turn }, orders);
        }
        inverse
    }

    /// The element of degree `degree` that it makes of these generators.
    ///
    /// # Panics
    /// If it is not a word in so many generators of this degree.
    pub fn product(&self, degree: usize, generators: &[Permutation]) -> Permutation {
        self.turns.iter().fold(Permutation::identity(degree), |product, turn| {
            product.then(&generators[turn.generator].power(turn.exponent))
        })
    }

    /// As an expression in the generators' names, `V1*H2'*H3^2`, [each power](power_name) under its one name;
    /// the empty word is `()`.
    ///
    /// # Panics
    /// If it is not a word in so many generators.
    pub fn written(&self, names: &[&str]) -> String {
        if self.turns.is_empty() {
            return "()".into();
        }
        let mut text = String::new();
        for turn in &self.turns {
            if !text.is_empty() {
                text.push('*');
            }
            text.push_str(&power_name(names[turn.generator], turn.exponent, |name| names.contains(&name)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn generators() -> Vec<Permutation> {
        ["(1,2)", "(1,2,3,4,5,6)", "(2,4,6)"].map(|g| Permutation::parse(g, 6).unwrap()).to_vec()
    }

    fn word(turns: &[(usize, i64)]) -> Word {
        let orders = orders(&generators());
        let mut word = Word::identity();
        turns.iter().for_each(|&(generator, exponent)| word.push(Turn { generator, exponent }, &orders));
        word
    }

    #[test]
    fn words_are_freely_reduced_and_exponents_small() {
        let names = ["a", "b", "c"];
        assert_eq!(word(&[(1, 4), (1, 3)]).written(&names), "b");
        assert_eq!(word(&[(1, 3)]).written(&names), "b3");
        assert_eq!(word(&[(1, 4)]).written(&names), "b2'");
        assert_eq!(word(&[(2, 2), (0, -1)]).written(&names), "c'*a");
        // What stands around something that vanishes meets.
        assert_eq!(word(&[(1, 1), (2, 1), (2, 2), (1, -1)]), Word::identity());
        assert_eq!(Word::identity().written(&names), "()");
        assert_eq!(word(&[(1, i64::MIN)]).turns(), word(&[(1, i64::MIN % 6)]).turns());
        assert_eq!((word(&[(1, 3), (0, 1)]).len(), word(&[(1, 3), (0, 1)]).letters()), (2, 4));
    }

    proptest! {
        #[test]
        fn products_of_words_are_products_of_elements(
            a in proptest::collection::vec((0_usize..3, any::<i64>()), 0..20),
            b in proptest::collection::vec((0_usize..3, any::<i64>()), 0..20),
        ) {
            let (generators, product) = (generators(), |word: &Word| word.product(6, &generators()));
            let orders = orders(&generators);
            let plain = a.iter().fold(Permutation::identity(6), |p, &(g, e)| p.then(&generators[g].power(e)));
            let (a, b) = (word(&a), word(&b));
            prop_assert_eq!(product(&a), plain);
            prop_assert_eq!(product(&a.then(&b, &orders)), product(&a).then(&product(&b)));
            prop_assert_eq!(product(&a.inverse(&orders)), product(&a).inverse());
            prop_assert_eq!(a.then(&a.inverse(&orders), &orders), Word::identity());
            prop_assert!(a.turns().windows(2).all(|pair| pair[0].generator != pair[1].generator));
        }
    }
}
