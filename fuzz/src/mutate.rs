//! Seeds and their mutants. The random sequence is fixed, so every run is the same.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::Target;

/// The maximum length of a mutant, in bytes.
const LONGEST: usize = 2_048;

/// Returns the seeds of a target with their file names.
///
/// # Errors
///
/// Fails if the target's folder in `corpus/` is missing or cannot be read.
pub fn seeds(target: &Target) -> io::Result<Vec<(String, Vec<u8>)>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let mut seeds = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        seeds.push((name, fs::read(entry.path())?));
    }
    seeds.sort();
    Ok(seeds)
}

/// Returns an endless sequence of mutants. Each has gone through some of ten kinds of change.
pub fn mutants(target: &Target, seeds: Vec<Vec<u8>>) -> impl Iterator<Item = Vec<u8>> {
    let mut chances = Chances(0x9e37_79b9_7f4a_7c15);
    let tokens = target.tokens;
    std::iter::repeat_with(move || {
        let mut mutant = chances.one_of(&seeds).cloned().unwrap_or_default();
        for _ in 0..=chances.below(6) {
            change(&mut mutant, &seeds, tokens, &mut chances);
        }
        mutant.truncate(LONGEST);
        mutant
    })
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], tokens: &[&str], chances: &mut Chances) {
    let at = chances.below(bytes.len() + 1);
    let end = at + chances.below((bytes.len() - at).min(16) + 1);
    match chances.below(10) {
        0 => bytes.insert(at, chances.byte()),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let piece = bytes[at..end].to_vec();
            let to = chances.below(bytes.len() + 1);
            bytes.splice(to..to, piece);
        }
        3 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << chances.below(8);
            }
        }
        4 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = chances.byte();
            }
        }
        5 => {
            // Appends the tail of another seed.
            let other = chances.one_of(seeds).cloned().unwrap_or_default();
            let from = chances.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        6 => {
            // Repeats one piece many times.
            let piece = bytes[at..end].repeat(chances.below(200));
            bytes.splice(at..at, piece);
        }
        _ => {
            let token = chances.one_of(tokens).copied().unwrap_or_default();
            bytes.splice(at..end.min(at + chances.below(2)), token.bytes());
        }
    }
}

/// A pseudo-random sequence (xorshift, by Marsaglia).
struct Chances(u64);

impl Chances {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from((self.next() >> 11) % bound).unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[3]
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }
}
