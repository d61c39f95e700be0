//! Packed rows as byte planes, and back: 16 rows to a lane, so that a row of n bytes takes n pieces of 16
//! bytes a lane, and n shuffles a plane.

use super::vector::{LANE, Slot, Vector, Work};
use crate::byte_planes::MAX_PLANES;

/// The longest vector.
const LONGEST: usize = 64;

/// For each target, and each source, the bytes of a lane of the target that come from that source.
type Shuffles = [[[u8; LANE]; MAX_PLANES]; MAX_PLANES];

/// The shuffles between packed rows and planes.
#[derive(Debug)]
pub(super) struct Packing {
    row_bytes: usize,
    /// From pieces to planes.
    split: Shuffles,
    /// From planes to pieces.
    join: Shuffles,
}

impl Packing {
    pub(super) fn new(row_bytes: usize) -> Self {
        let mut split = [[[u8::MAX; LANE]; MAX_PLANES]; MAX_PLANES];
        let mut join = split;
        for at in 0..LANE * row_bytes {
            let (row, plane) = (at / row_bytes, at % row_bytes);
            let (piece, byte) = (at / LANE, at % LANE);
            split[plane][piece][row] = byte as u8;
            join[piece][plane][byte] = row as u8;
        }
        Self { row_bytes, split, join }
    }
}

/// Calls a function with the length of a row.
macro_rules! by_row_bytes {
    ($row_bytes:expr, $function:ident::<$vector:ty>($($argument:expr),*)) => {
        match $row_bytes {
            1 => $function::<$vector, 1>($($argument),*),
            2 => $function::<$vector, 2>($($argument),*),
            3 => $function::<$vector, 3>($($argument),*),
            _ => $function::<$vector, 4>($($argument),*),
        }
    };
}

/// Splits rows into planes.
pub(super) struct Split<'a> {
    /// Packed rows, from the first one on.
    pub(super) packed: &'a [u8],
    pub(super) rows: usize,
    /// The planes, which have room for a multiple of 64 rows.
    pub(super) planes: &'a mut [u8],
    /// Bytes from one plane to the next.
    pub(super) stride: usize,
    pub(super) packing: &'a Packing,
}

impl Work for Split<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        // SAFETY: as the caller promises.
        unsafe { by_row_bytes!(self.packing.row_bytes, split::<V::Long>(self)) }
    }
}

/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn split<V: Vector, const N: usize>(work: Split<'_>) {
    let Split { packed, rows, planes, stride, packing } = work;
    assert!(rows * N <= packed.len());
    assert!((N - 1) * stride + rows.next_multiple_of(V::BYTES) <= planes.len());
    // SAFETY: shuffles are as long as a lane, and the caller promises the instructions.
    let shuffles = unsafe { shuffles::<V, N>(&packing.split) };
    let mut end = [0; MAX_PLANES * LONGEST];
    for first in (0..rows).step_by(V::BYTES) {
        let behind = &packed[first * N..];
        let from = if behind.len() >= N * V::BYTES {
            behind.as_ptr()
        } else {
            end[..behind.len()].copy_from_slice(behind);
            end.as_ptr()
        };
        // SAFETY: the pieces of all lanes are the next `N * V::BYTES` bytes, and the planes were checked.
        unsafe {
            let mut pieces = [V::splat(0); N];
            for (number, piece) in pieces.iter_mut().enumerate() {
                *piece = V::load_lanes(from.add(number * LANE), N * LANE);
            }
            for (plane, shuffles) in shuffles.iter().enumerate() {
                sum(&pieces, shuffles).store(planes.as_mut_ptr().add(plane * stride + first));
            }
        }
    }
}

/// Joins planes to packed rows.
pub(super) struct Join<'a> {
    pub(super) planes: &'a [u8],
    /// Bytes from one plane to the next.
    pub(super) stride: usize,
    /// The packed rows, to the last one.
    pub(super) packed: &'a mut [u8],
    pub(super) packing: &'a Packing,
}

impl Work for Join<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        // SAFETY: as the caller promises.
        unsafe { by_row_bytes!(self.packing.row_bytes, join::<V::Long>(self)) }
    }
}

/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn join<V: Vector, const N: usize>(work: Join<'_>) {
    let Join { planes, stride, packed, packing } = work;
    let rows = packed.len() / N;
    assert!((N - 1) * stride + rows.next_multiple_of(V::BYTES) <= planes.len());
    // SAFETY: shuffles are as long as a lane, and the caller promises the instructions.
    let shuffles = unsafe { shuffles::<V, N>(&packing.join) };
    let mut end = [0; MAX_PLANES * LONGEST];
    for first in (0..rows).step_by(V::BYTES) {
        let behind = &mut packed[first * N..];
        let is_end = behind.len() < N * V::BYTES;
        let to = if is_end { end.as_mut_ptr() } else { behind.as_mut_ptr() };
        // SAFETY: the pieces of all lanes are the next `N * V::BYTES` bytes, and the planes were checked.
        unsafe {
            let mut rows = [V::splat(0); N];
            for (plane, rows) in rows.iter_mut().enumerate() {
                *rows = V::load(planes.as_ptr().add(plane * stride + first));
            }
            for (piece, shuffles) in shuffles.iter().enumerate() {
                sum(&rows, shuffles).store_lanes(to.add(piece * LANE), N * LANE);
            }
        }
        if is_end {
            let length = behind.len();
            behind.copy_from_slice(&end[..length]);
        }
    }
}

/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn shuffles<V: Vector, const N: usize>(bytes: &Shuffles) -> [[V; N]; N] {
    // SAFETY: shuffles are as long as a lane, and the caller promises the instructions.
    unsafe {
        let mut shuffles = [[V::splat(0); N]; N];
        for (shuffles, bytes) in shuffles.iter_mut().zip(bytes) {
            for (shuffle, bytes) in shuffles.iter_mut().zip(bytes) {
                *shuffle = V::load_copies(bytes.as_ptr());
            }
        }
        shuffles
    }
}

/// Returns the union of the bytes that the shuffles take from the sources.
#[inline(always)]
fn sum<V: Vector, const N: usize>(sources: &[V; N], shuffles: &[V; N]) -> V {
    let mut sum = sources[0].shuffle(shuffles[0]);
    for number in 1..N {
        sum = sum.or(sources[number].shuffle(shuffles[number]));
    }
    sum
}
