//! A permutation of the points `0..degree`, stored as the list of its images.

use std::fmt;

/// A permutation of `0..degree`. The [crate documentation](crate) defines the order of composition.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Permutation {
    images: Box<[u16]>,
}

/// The reason why a list of images is not a permutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermutationError {
    /// `images[at]` is `image`, which is not below the degree.
    OutOfRange {
        /// The index in the list.
        at: usize,
        /// The image at that index.
        image: u16,
        /// The length of the list.
        degree: usize,
    },
    /// Two points have the same image.
    Repeated {
        /// The index of the second occurrence of the image.
        at: usize,
        /// The image.
        image: u16,
    },
}

impl fmt::Display for PermutationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { at, image, degree } => {
                write!(f, "image {image} at position {at} is not below the degree {degree}")
            }
            Self::Repeated { at, image } => write!(f, "image {image} at position {at} occurs twice"),
        }
    }
}

impl std::error::Error for PermutationError {}

impl Permutation {
    /// Returns the identity on `degree` points.
    ///
    /// # Panics
    /// If `degree` exceeds 65,535.
    pub fn identity(degree: usize) -> Self {
        let degree = u16::try_from(degree).expect("a degree is at most 65,535");
        Self { images: (0..degree).collect() }
    }

    /// Returns the permutation that maps `i` to `images[i]`.
    ///
    /// # Errors
    /// [`PermutationError`] if an image is out of range or occurs twice.
    pub fn from_images(images: impl Into<Box<[u16]>>) -> Result<Self, PermutationError> {
        let images = images.into();
        let degree = images.len();
        let mut seen = vec![false; degree];
        for (at, &image) in images.iter().enumerate() {
            match seen.get_mut(image as usize) {
                None => return Err(PermutationError::OutOfRange { at, image, degree }),
                Some(true) => return Err(PermutationError::Repeated { at, image }),
                Some(mark) => *mark = true,
            }
        }
        Ok(Self { images })
    }

    /// Returns the permutation that maps `i` to `image(i)`, for maps that are bijections by construction.
    ///
    /// # Panics
    /// If `image` is not a bijection of `0..degree`.
    pub fn from_fn(degree: usize, image: impl Fn(usize) -> usize) -> Self {
        let images: Vec<u16> = (0..degree).map(|i| image(i) as u16).collect();
        Self::from_images(images).expect("the caller's map is a bijection")
    }

    /// Returns the number of points.
    pub fn degree(&self) -> usize {
        self.images.len()
    }

    /// Returns the image of point `i`.
    ///
    /// # Panics
    /// If `i` is not below the degree.
    pub fn apply(&self, i: usize) -> usize {
        self.images[i] as usize
    }

    /// Returns the images of all points in order.
    pub fn images(&self) -> &[u16] {
        &self.images
    }

    /// Returns the product that applies this permutation first and `next` after it.
    ///
    /// # Panics
    /// If the two are of different degrees.
    pub fn then(&self, next: &Self) -> Self {
        assert_eq!(self.degree(), next.degree(), "permutations compose only on the same points");
        Self { images: self.images.iter().map(|&i| next.images[i as usize]).collect() }
    }

    /// Returns the permutation that undoes this one.
    pub fn inverse(&self) -> Self {
        let mut images = vec![0; self.degree()];
        for (i, &image) in self.images.iter().enumerate() {
            images[image as usize] = i as u16;
        }
        Self { images: images.into() }
    }

    /// Returns this permutation applied `exponent` times; negative exponents are powers of the inverse.
    pub fn power(&self, exponent: i64) -> Self {
        let mut images = vec![0; self.degree()];
        for cycle in self.cycles_with_fixed_points() {
            let shift = exponent.rem_euclid(cycle.len() as i64) as usize;
            for (at, &point) in cycle.iter().enumerate() {
                images[point] = cycle[(at + shift) % cycle.len()] as u16;
            }
        }
        Self { images: images.into() }
    }

    /// Returns this permutation after its points are renamed by `names`: a cycle `(i j k)` becomes
    /// `(names(i) names(j) names(k))`. The result is the product of `names⁻¹`, `self` and `names`.
    ///
    /// # Panics
    /// If the two are of different degrees.
    pub fn relabel(&self, names: &Self) -> Self {
        names.inverse().then(self).then(names)
    }

    /// Returns whether every point is fixed.
    pub fn is_identity(&self) -> bool {
        self.images.iter().enumerate().all(|(i, &image)| i == image as usize)
    }

    /// Returns whether this permutation is a product of an even number of transpositions.
    pub fn is_even(&self) -> bool {
        // A cycle is even if its length is odd.
        let mut seen = vec![false; self.degree()];
        let mut is_even = true;
        for start in 0..self.degree() {
            let mut point = start;
            let mut length = 0;
            while !std::mem::replace(&mut seen[point], true) {
                point = self.apply(point);
                length += 1;
            }
            is_even ^= length > 0 && length % 2 == 0;
        }
        is_even
    }

    /// Returns the smallest positive exponent whose power is the identity: the least common multiple of the
    /// cycle lengths. `None` if the order exceeds 64 bits, which takes a degree of several hundred.
    pub fn order(&self) -> Option<u64> {
        self.cycles().iter().try_fold(1_u64, |order, cycle| {
            let length = cycle.len() as u64;
            order.checked_mul(length / gcd(order, length))
        })
    }

    /// Returns the cycles of length two and more. Each cycle starts at its smallest point, and cycles are
    /// sorted by that point.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let mut cycles = self.cycles_with_fixed_points();
        cycles.retain(|cycle| cycle.len() > 1);
        cycles
    }

    /// Returns all cycles, as [`Permutation::cycles`] does, with fixed points as cycles of length one.
    pub fn cycles_with_fixed_points(&self) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.degree()];
        let mut cycles = Vec::new();
        for start in 0..self.degree() {
            let mut cycle = Vec::new();
            let mut point = start;
            while !std::mem::replace(&mut seen[point], true) {
                cycle.push(point);
                point = self.apply(point);
            }
            if !cycle.is_empty() {
                cycles.push(cycle);
            }
        }
        cycles
    }
}

/// Returns the greatest common divisor; `gcd(a, 0)` is `a`.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of_degree(degree: usize) -> Vec<Permutation> {
        let count = (1..=degree as u128).product();
        (0..count).map(|rank| Permutation::unrank(degree, rank).unwrap()).collect()
    }

    #[test]
    fn a_product_is_read_from_left_to_right() {
        // As in the literature: (1,2)(2,3) maps 1 to 2 and then to 3.
        let a = Permutation::parse("(1,2)", 3).unwrap();
        let b = Permutation::parse("(2,3)", 3).unwrap();
        assert_eq!(a.then(&b).apply(0), 2);
        assert_eq!(a.then(&b).to_string(), "(1,3,2)");
    }

    #[test]
    fn group_laws_on_s4() {
        let all = all_of_degree(4);
        for a in &all {
            assert!(a.then(&a.inverse()).is_identity());
            assert!(a.power(a.order().unwrap() as i64).is_identity());
            assert_eq!(a.power(-1), a.inverse());
            assert_eq!(a.power(3), a.then(a).then(a));
            for b in &all {
                assert_eq!(a.then(b).is_even(), a.is_even() == b.is_even());
                assert_eq!(a.then(b).inverse(), b.inverse().then(&a.inverse()));
                assert_eq!(a.relabel(b).order(), a.order());
            }
        }
        assert_eq!(all.iter().filter(|p| p.is_even()).count(), 12);
    }

    #[test]
    fn relabelling_renames_points() {
        let p = Permutation::parse("(1,2,3)", 5).unwrap();
        let names = Permutation::parse("(1,5)(3,4)", 5).unwrap();
        assert_eq!(p.relabel(&names), Permutation::parse("(5,2,4)", 5).unwrap());
    }

    #[test]
    fn order_is_the_least_common_multiple() {
        assert_eq!(Permutation::parse("(1,2,3)(4,5)", 5).unwrap().order(), Some(6));
        assert_eq!(Permutation::parse("(1,2,3,4)(5,6)", 6).unwrap().order(), Some(4));
        assert_eq!(Permutation::identity(3).order(), Some(1));
    }

    #[test]
    fn invalid_images_are_rejected() {
        assert_eq!(
            Permutation::from_images([0, 3, 1]),
            Err(PermutationError::OutOfRange { at: 1, image: 3, degree: 3 })
        );
        assert_eq!(Permutation::from_images([0, 1, 1]), Err(PermutationError::Repeated { at: 2, image: 1 }));
    }
}
