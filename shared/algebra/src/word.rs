//! Words in generators: sequences of powers of generators.

use crate::Permutation;

/// A power of one generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    /// The index of the generator.
    pub generator: usize,
    /// The exponent, not 0.
    pub exponent: i64,
}

/// A product of powers of generators, read from left to right like all products. A word is freely reduced:
/// neighbouring turns are of different generators.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Word {
    turns: Vec<Turn>,
}

/// Returns the order of each generator, the modulus of its exponents. An order that exceeds 63 bits, which
/// takes a degree of several hundred, is replaced by `i64::MAX`; the exponents of words stay far below that.
pub fn generator_orders(generators: &[Permutation]) -> Vec<i64> {
    let order = |g: &Permutation| g.order().and_then(|order| i64::try_from(order).ok());
    generators.iter().map(|g| order(g).unwrap_or(i64::MAX)).collect()
}

/// Returns the name of a power with an exponent other than 0. If the base ends in a letter, the name is
/// written as on cubes: `R2`, `R'`, `R2'`. Otherwise the name is written as on boards: `V1^2`, `V1'`,
/// `V1^-2`. If that would [not be read](begins_with) as a power of the base, the result is `R^2`, or
/// `(R)^2`: if there is also a generator `R2`, the text `R2'` is the inverse of that generator.
pub fn power_name<'n>(base: &str, exponent: i64, known: impl Iterator<Item = &'n str> + Clone) -> String {
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
    let is_of_base = |text: &String| begins_with(text, base, known.clone());
    names.into_iter().find(is_of_base).unwrap_or_else(|| format!("({base})^{exponent}"))
}

/// Returns whether the first generator of a text, which begins with the name `base`, is read as `base`: the
/// longest of the `known` names with which a text begins is read.
pub fn begins_with<'n>(text: &str, base: &str, mut known: impl Iterator<Item = &'n str>) -> bool {
    known.all(|other| other.len() <= base.len() || !text.starts_with(other))
}

impl Word {
    /// Returns the empty word, whose product is the identity.
    pub fn identity() -> Self {
        Self::default()
    }

    /// Returns the turns in order.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Returns the number of turns.
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// Returns whether this word is empty.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Returns the number of generators and inverses in this word: a turn with exponent 2 counts twice.
    pub fn letters(&self) -> u64 {
        self.turns.iter().map(|turn| turn.exponent.unsigned_abs()).sum()
    }

    /// Appends a turn. Exponents of one generator add up modulo its order, to a number of at most half the
    /// order and above minus half the order. A turn with exponent 0 is dropped. `generator_orders` are
    /// those of the generators, as [`generator_orders`] returns them.
    ///
    /// # Panics
    /// If `generator_orders` has no entry for the generator.
    pub fn push(&mut self, turn: Turn, generator_orders: &[i64]) {
        let order = generator_orders[turn.generator];
        let before = self.turns.pop_if(|last| last.generator == turn.generator);
        // Both numbers are below the order, which fits 63 bits, so the sum fits 64 bits.
        let sum = before.map_or(0, |last| last.exponent.rem_euclid(order) as u64)
            + turn.exponent.rem_euclid(order) as u64;
        let exponent = (sum % order as u64) as i64;
        let exponent = if exponent > order / 2 { exponent - order } else { exponent };
        if exponent != 0 {
            self.turns.push(Turn { exponent, ..turn });
        }
    }

    /// Returns the word of the product of this word and `next`.
    pub fn then(&self, next: &Self, generator_orders: &[i64]) -> Self {
        let mut product = self.clone();
        next.turns.iter().for_each(|&turn| product.push(turn, generator_orders));
        product
    }

    /// Returns the word of the inverse element.
    pub fn inverse(&self, generator_orders: &[i64]) -> Self {
        let mut inverse = Self::identity();
        for &turn in self.turns.iter().rev() {
            inverse.push(Turn { exponent: -turn.exponent, ..turn }, generator_orders);
        }
        inverse
    }

    /// Returns the element that this word represents.
    ///
    /// # Panics
    /// If a generator of this word is missing from `generators`, or is not of degree `degree`.
    pub fn product(&self, degree: usize, generators: &[Permutation]) -> Permutation {
        self.turns.iter().fold(Permutation::identity(degree), |product, turn| {
            product.then(&generators[turn.generator].power(turn.exponent))
        })
    }

    /// Writes this word as an expression in the names of the generators, such as `V1*H2'*H3^2`. Each power
    /// has the name given by [`power_name`], given the other `known` names; the empty word is
    /// `()`.
    ///
    /// # Panics
    /// If a generator of this word has no name.
    pub fn written(&self, names: &[&str], known: &[&str]) -> String {
        if self.turns.is_empty() {
            return "()".into();
        }
        let mut text = String::new();
        for turn in &self.turns {
            if !text.is_empty() {
                text.push('*');
            }
            text.push_str(&power_name(names[turn.generator], turn.exponent, known.iter().copied()));
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
        let generator_orders = generator_orders(&generators());
        let mut word = Word::identity();
        turns
            .iter()
            .for_each(|&(generator, exponent)| word.push(Turn { generator, exponent }, &generator_orders));
        word
    }

    #[test]
    fn words_are_freely_reduced() {
        let names = ["a", "b", "c"];
        assert_eq!(word(&[(1, 4), (1, 3)]).written(&names, &names), "b");
        assert_eq!(word(&[(1, 3)]).written(&names, &names), "b3");
        assert_eq!(word(&[(1, 4)]).written(&names, &names), "b2'");
        assert_eq!(word(&[(2, 2), (0, -1)]).written(&names, &names), "c'*a");
        // Once the turns between two others cancel, the two others meet.
        assert_eq!(word(&[(1, 1), (2, 1), (2, 2), (1, -1)]), Word::identity());
        assert_eq!(Word::identity().written(&names, &names), "()");
        assert_eq!(word(&[(1, i64::MIN)]).turns(), word(&[(1, i64::MIN % 6)]).turns());
        assert_eq!((word(&[(1, 3), (0, 1)]).len(), word(&[(1, 3), (0, 1)]).letters()), (2, 4));
    }

    proptest! {
        #[test]
        fn word_products_match_element_products(
            a in proptest::collection::vec((0_usize..3, any::<i64>()), 0..20),
            b in proptest::collection::vec((0_usize..3, any::<i64>()), 0..20),
        ) {
            let (generators, product) = (generators(), |word: &Word| word.product(6, &generators()));
            let generator_orders = generator_orders(&generators);
            let plain = a.iter().fold(Permutation::identity(6), |p, &(g, e)| p.then(&generators[g].power(e)));
            let (a, b) = (word(&a), word(&b));
            prop_assert_eq!(product(&a), plain);
            prop_assert_eq!(product(&a.then(&b, &generator_orders)), product(&a).then(&product(&b)));
            prop_assert_eq!(product(&a.inverse(&generator_orders)), product(&a).inverse());
            prop_assert_eq!(a.then(&a.inverse(&generator_orders), &generator_orders), Word::identity());
            prop_assert!(a.turns().windows(2).all(|pair| pair[0].generator != pair[1].generator));
        }
    }
}
