//! Squares of 64 x 64 bits, transposed in registers.

use std::arch::x86_64::*;
use std::array::from_fn;

/// The words of a transposed square, in the order of the registers.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Square(pub(super) [u64; 64]);

impl Default for Square {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Square {
    /// Returns the words of all squares.
    pub(super) fn words(squares: &[Self]) -> &[u64] {
        // SAFETY: a square consists of exactly 64 words.
        unsafe { std::slice::from_raw_parts(squares.as_ptr().cast(), squares.len() * 64) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(super) fn store(&mut self, registers: [__m512i; 8]) {
        let eights: &mut [[u64; 8]] = self.0.as_chunks_mut().0;
        for (words, register) in eights.iter_mut().zip(registers) {
            // SAFETY: eight words are as long as a register, and the store needs no alignment.
            unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), register) };
        }
    }
}

/// Returns the index of a column's word in a [`Square`]: three rounds of interleaving inside lanes of 16
/// bytes leave the columns 16 l + 2 r and 16 l + 2 r + 1 in lane l of register r.
#[inline(always)]
pub(super) const fn place(column: usize) -> usize {
    (column / 2 % 8) * 8 + column / 16 * 2 + column % 2
}

/// Returns the column whose word has an index in a [`Square`]: the inverse of [`place`].
#[inline(always)]
pub(super) const fn column_at(index: usize) -> usize {
    index % 8 / 2 * 16 + index / 8 * 2 + index % 2
}

/// Transposes the square of 64 rows: bit r of the word of column c is bit c of row r.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
pub(super) fn transpose(row: impl Fn(usize) -> u64) -> [__m512i; 8] {
    columns(from_fn(|group| {
        let words: [u64; 8] = from_fn(|number| row(8 * group + number));
        // SAFETY: eight words are as long as a register, and the load needs no alignment.
        tile(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
    }))
}

/// Transposes eight rows of 64 bits: byte c of the result has bit c of each row.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
pub(super) fn tile(rows: __m512i) -> __m512i {
    /// Moves byte c of row 7 - j, of eight rows, to byte 8 c + j: the product below takes the rows of a tile
    /// in reversed order.
    const TILES: [u8; 64] = {
        let mut index = [0; 64];
        let mut byte = 0;
        while byte < 64 {
            index[byte] = (8 * (7 - byte % 8) + byte / 8) as u8;
            byte += 1;
        }
        index
    };
    // SAFETY: the array has 64 bytes, and the load needs no alignment.
    let tiles = unsafe { _mm512_loadu_si512(TILES.as_ptr().cast()) };
    // Byte r selects bit r of each row of a tile.
    let units = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
    _mm512_gf2p8affine_epi64_epi8::<0>(units, _mm512_permutexvar_epi8(tiles, rows))
}

/// Returns the words of the columns of a square, in the order of [`place`]. Register g has the rows 8 g to 8
/// g + 7 as [`tile`] leaves them.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn columns(bytes: [__m512i; 8]) -> [__m512i; 8] {
    // For each pair of registers, the bytes of one column side by side.
    let twos: [[__m512i; 2]; 4] = from_fn(|pair| {
        let (a, b) = (bytes[2 * pair], bytes[2 * pair + 1]);
        [_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)]
    });
    let fours: [[__m512i; 4]; 2] = from_fn(|half| {
        from_fn(|part| {
            let (a, b) = (twos[2 * half][part / 2], twos[2 * half + 1][part / 2]);
            if part % 2 == 0 { _mm512_unpacklo_epi16(a, b) } else { _mm512_unpackhi_epi16(a, b) }
        })
    });
    from_fn(|part| {
        let (a, b) = (fours[0][part / 2], fours[1][part / 2]);
        if part % 2 == 0 { _mm512_unpacklo_epi32(a, b) } else { _mm512_unpackhi_epi32(a, b) }
    })
}

/// Transposes eight rows of eight words: word r of register c of the result is word c of row r.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn words_of(rows: [__m512i; 8]) -> [__m512i; 8] {
    // Words c and c + 1 of four pairs of rows, for even and odd c.
    let halves: [[__m512i; 4]; 2] = [
        from_fn(|pair| _mm512_unpacklo_epi64(rows[2 * pair], rows[2 * pair + 1])),
        from_fn(|pair| _mm512_unpackhi_epi64(rows[2 * pair], rows[2 * pair + 1])),
    ];
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    // For each of them, the lanes 0 and 2, and the lanes 1 and 3, of two pairs.
    let lanes: [[[__m512i; 2]; 2]; 2] = from_fn(|half| {
        let of = halves[half];
        [
            from_fn(|two| _mm512_shuffle_i64x2::<EVEN>(of[2 * two], of[2 * two + 1])),
            from_fn(|two| _mm512_shuffle_i64x2::<ODD>(of[2 * two], of[2 * two + 1])),
        ]
    });
    from_fn(|word| {
        let [a, b] = lanes[word % 2][word / 2 % 2];
        if word < 4 { _mm512_shuffle_i64x2::<EVEN>(a, b) } else { _mm512_shuffle_i64x2::<ODD>(a, b) }
    })
}
