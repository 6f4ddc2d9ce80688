//! Randomness that can be repeated: `IM_SEED` gives the seed, and a test prints the one it uses.

use fastrand::Rng;
use std::env;

/// The generator of the test `name`.
pub fn rng(name: &str) -> Rng {
    let seed = match env::var("IM_SEED") {
        Ok(text) => text.parse().expect("IM_SEED is a whole number"),
        Err(_) => fastrand::u64(..),
    };
    println!("{name}: repeat with IM_SEED={seed}");
    Rng::with_seed(seed)
}

/// Text of up to `chars_max` characters from all of Unicode, control characters included, NUL not.
pub fn text(rng: &mut Rng, chars_max: usize) -> String {
    let count = rng.usize(..=chars_max);
    (0..count)
        .map(|_| match rng.u8(..4) {
            0 => rng.char('\u{1}'..='\u{7f}'),
            1 => rng.char('\u{80}'..='\u{ffff}'),
            2 => rng.char('\u{10000}'..='\u{10ffff}'),
            _ => rng.alphanumeric(),
        })
        .collect()
}
