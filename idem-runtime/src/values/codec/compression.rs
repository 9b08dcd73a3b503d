//! Compression of large payloads by zstd.

use super::column::Column;
use crate::values::error::CodecFault;

/// The default threshold: 1 KiB.
pub const DEFAULT_THRESHOLD: usize = 1024;

/// The default limit of a decompressed payload: 16 MiB.
pub const DEFAULT_LIMIT: usize = 16 * 1024 * 1024;

/// Compresses payloads above a threshold, by zstd at level 3.
///
/// A payload that does not become shorter stays as it is.
///
/// ```
/// use idem_runtime::codec::Compression;
///
/// let compression = Compression::new().threshold(4 * 1024).limit(1024 * 1024);
/// # let _ = compression;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    threshold: usize,
    limit: usize,
}

impl Compression {
    /// Compresses payloads of more than [`DEFAULT_THRESHOLD`] bytes, and decompresses up to [`DEFAULT_LIMIT`] bytes.
    pub const fn new() -> Self {
        Self {
            threshold: DEFAULT_THRESHOLD,
            limit: DEFAULT_LIMIT,
        }
    }

    /// Sets how many bytes of JSON a payload may have before it is compressed.
    #[must_use]
    pub const fn threshold(mut self, bytes: usize) -> Self {
        self.threshold = bytes;
        self
    }

    /// Sets the most bytes that a payload may have when it is decompressed. A recorded one that states more is
    /// refused by [`CodecFault::TooLarge`](crate::error::CodecFault::TooLarge) before anything is decompressed. One
    /// that is longer when it is written is not compressed.
    #[must_use]
    pub const fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Returns the compressed payload, or `None` if it is better left as it is.
    pub(super) fn compress(self, json: &[u8]) -> Option<Vec<u8>> {
        if json.len() <= self.threshold || json.len() > self.limit {
            return None;
        }
        let frame = zstd::bulk::compress(json, LEVEL).ok()?;
        (frame.len() < json.len()).then_some(frame)
    }

    /// Decompresses a frame that states its size.
    pub(super) fn decompress(self, column: Column, frame: &[u8]) -> Result<Vec<u8>, CodecFault> {
        let what = column.name();
        let damaged = CodecFault::Damaged { what };
        let Ok(Some(size)) = zstd::zstd_safe::get_frame_content_size(frame) else {
            return Err(damaged);
        };
        let limit = self.limit;
        match usize::try_from(size) {
            Ok(size) if size <= limit => {
                let json = zstd::bulk::decompress(frame, size).map_err(|_| damaged.clone())?;
                // A frame that states more than it holds would be an error of another library's.
                if json.len() == size {
                    Ok(json)
                } else {
                    Err(damaged)
                }
            }
            _ => Err(CodecFault::TooLarge { what, size, limit }),
        }
    }
}

/// zstd's own default.
const LEVEL: i32 = 3;

impl Default for Compression {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_enough_and_repeats_is_compressed_and_comes_back() {
        let compression = Compression::new();
        let json = format!("\"{}\"", "ab".repeat(1000));
        let frame = compression.compress(json.as_bytes()).unwrap();
        assert!(frame.len() < 100, "{}", frame.len());
        let back = compression.decompress(Column::Result, &frame).unwrap();
        assert_eq!(back, json.as_bytes());
        assert!(compression.compress(&json.as_bytes()[..1024]).is_none());
        assert!(
            Compression::new()
                .limit(2000)
                .compress(json.as_bytes())
                .is_none()
        );
    }

    #[test]
    fn a_frame_is_bounded_before_it_is_decompressed() {
        let zeros = zstd::bulk::compress(&vec![0; 64 * 1024 * 1024], 3).unwrap();
        assert!(zeros.len() < 16 * 1024);
        let refused = Compression::new().decompress(Column::Failure, &zeros);
        let expected = CodecFault::TooLarge {
            what: "failure",
            size: 64 * 1024 * 1024,
            limit: DEFAULT_LIMIT,
        };
        assert_eq!(refused, Err(expected));
    }

    #[test]
    fn what_is_no_frame_or_is_cut_is_damaged() {
        let json = vec![b'1'; 5000];
        let frame = Compression::new().compress(&json).unwrap();
        let cut = &frame[..frame.len() - 1];
        for damaged in [&b""[..], b"{}", b"\x28\xb5\x2f\xfd", cut] {
            let refused = Compression::new().decompress(Column::Result, damaged);
            assert_eq!(refused, Err(CodecFault::Damaged { what: "result" }));
        }
    }
}
