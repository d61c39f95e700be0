//! The lexicographic rank of a permutation among all permutations of its degree.

use crate::Permutation;

/// 34! is the largest factorial below 2^128.
const MAX_RANKED_DEGREE: usize = 34;

impl Permutation {
    /// Returns the number of permutations of the same degree whose lists of images are lexicographically
    /// smaller. `None` above degree 34, where ranks exceed 128 bits.
    pub fn rank(&self) -> Option<u128> {
        let degree = self.degree();
        if degree > MAX_RANKED_DEGREE {
            return None;
        }
        let images = self.images();
        Some((0..degree).fold(0, |rank, i| {
            let smaller_after = images[i + 1..].iter().filter(|&&image| image < images[i]).count();
            rank * (degree - i) as u128 + smaller_after as u128
        }))
    }

    /// Returns the permutation of this degree and rank: the inverse of [`Permutation::rank`]. `None` above
    /// degree 34, or if `rank` is not below the factorial of the degree.
    pub fn unrank(degree: usize, mut rank: u128) -> Option<Self> {
        if degree > MAX_RANKED_DEGREE {
            return None;
        }
        let mut digits = vec![0; degree];
        for i in (0..degree).rev() {
            let base = (degree - i) as u128;
            digits[i] = (rank % base) as usize;
            rank /= base;
        }
        if rank != 0 {
            return None;
        }
        let mut left: Vec<u16> = (0..degree as u16).collect();
        let images: Vec<u16> = digits.into_iter().map(|digit| left.remove(digit)).collect();
        Some(Self::from_images(images).expect("each image is taken once"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_and_unrank_are_inverse_and_lexicographic() {
        for degree in 0..=7 {
            let count: u128 = (1..=degree as u128).product();
            let all: Vec<_> = (0..count).map(|rank| Permutation::unrank(degree, rank).unwrap()).collect();
            assert!(all.is_sorted());
            for (rank, p) in all.iter().enumerate() {
                assert_eq!(p.rank(), Some(rank as u128));
            }
            assert_eq!(Permutation::unrank(degree, count), None);
        }
    }

    #[test]
    fn last_rank_of_the_largest_degree_fits() {
        let reversed = Permutation::from_fn(34, |i| 33 - i);
        let last: u128 = (1..=34_u128).product::<u128>() - 1;
        assert_eq!(reversed.rank(), Some(last));
        assert_eq!(Permutation::unrank(34, last), Some(reversed));
        assert_eq!(Permutation::identity(35).rank(), None);
    }
}
