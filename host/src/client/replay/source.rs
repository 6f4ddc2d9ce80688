//! The file: opened anew for each time it is read, gzip or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::line::{Line, LineError};
use crate::client::limits::LINE_BYTES_MAX;

/// What a gzip file begins with (RFC 1952, section 2.3.1), whatever it is called.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Bytes read from the file at once.
const READ_BYTES: usize = 128 * 1024;

/// A file that can be read again and again.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("{path}: {reason}")]
    Unreadable { path: String, reason: io::Error },
    #[error("{path}: must be a regular file, as it is read twice")]
    NotRegular { path: String },
}

/// The lines of a file, in order.
pub struct Lines {
    reader: Box<dyn BufRead + Send>,
    buffer: Vec<u8>,
    /// Of the line read last.
    number: u64,
}

impl Source {
    pub fn new(path: &Path) -> Result<Self, SourceError> {
        let source = Self { path: path.to_owned() };
        let metadata = std::fs::metadata(path).map_err(|e| source.unreadable(e))?;
        if !metadata.is_file() {
            return Err(SourceError::NotRegular { path: source.name() });
        }
        Ok(source)
    }

    /// The file as a person named it.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub fn lines(&self) -> Result<Lines, SourceError> {
        let file = File::open(&self.path).map_err(|e| self.unreadable(e))?;
        Lines::read(file).map_err(|e| self.unreadable(e))
    }

    fn unreadable(&self, reason: io::Error) -> SourceError {
        SourceError::Unreadable { path: self.name(), reason }
    }
}

impl Lines {
    fn read(file: impl Read + Send + 'static) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(READ_BYTES, file);
        let reader: Box<dyn BufRead + Send> = if file.fill_buf()?.starts_with(&GZIP_MAGIC) {
            Box::new(BufReader::with_capacity(READ_BYTES, MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        };
        Ok(Self { reader, buffer: Vec::new(), number: 0 })
    }

    fn next_line(&mut self) -> Result<Option<Line>, LineError> {
        self.buffer.clear();
        let most = LINE_BYTES_MAX as u64 + 1;
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut self.buffer);
        self.number += 1;
        if read.map_err(|e| LineError::new(self.number, e))? == 0 {
            return Ok(None);
        }
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        }
        if self.buffer.len() > LINE_BYTES_MAX {
            return Err(LineError::new(self.number, format!("has more than {LINE_BYTES_MAX} bytes")));
        }
        Line::parse(self.number, &self.buffer).map(Some)
    }
}

/// Ends for good after a fault: what follows it cannot be trusted to be lines.
impl Iterator for Lines {
    type Item = Result<Line, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.next_line().transpose();
        if line.as_ref().is_none_or(Result::is_err) {
            self.reader = Box::new(io::empty());
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    const LINE: &str = r#"{"conversationId":"c","senderId":"u","ts":1,"text":"x"}"#;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    /// The number of good lines, and the fault that follows them.
    fn read(bytes: Vec<u8>) -> (usize, Option<String>) {
        let mut good = 0;
        for line in Lines::read(io::Cursor::new(bytes)).unwrap() {
            match line {
                Ok(line) => {
                    good += 1;
                    assert_eq!(line.number, good as u64);
                }
                Err(error) => return (good, Some(error.to_string())),
            }
        }
        (good, None)
    }

    #[test]
    fn plain_and_gzip_are_told_apart_by_content() {
        let text = format!("{LINE}\n{LINE}\r\n{LINE}");
        assert_eq!(read(text.clone().into()), (3, None));
        assert_eq!(read(gzip(&text)), (3, None));
        let members = [gzip(&format!("{LINE}\n")), gzip(&text)].concat();
        assert_eq!(read(members), (4, None));
        assert_eq!(read(Vec::new()), (0, None));
    }

    #[test]
    fn a_fault_is_named_by_its_line_and_is_the_end() {
        let (good, fault) = read(format!("{LINE}\n\n{LINE}\n").into());
        assert_eq!((good, fault.unwrap().split(':').next()), (1, Some("line 2")));
        let mut lines = Lines::read(io::Cursor::new(format!("x\n{LINE}\n"))).unwrap();
        assert!(lines.next().unwrap().is_err());
        assert!(lines.next().is_none());
    }

    #[test]
    fn a_gzip_file_that_breaks_off_is_no_shorter_file() {
        let mut bytes = gzip(&format!("{LINE}\n{LINE}\n"));
        bytes.truncate(bytes.len() - 4);
        let (_, fault) = read(bytes);
        assert!(fault.is_some());
    }

    #[test]
    fn a_line_without_end_is_not_read_whole() {
        let (good, fault) = read(vec![b' '; 4 * LINE_BYTES_MAX]);
        assert_eq!((good, fault), (0, Some(format!("line 1: has more than {LINE_BYTES_MAX} bytes"))));
    }

    #[test]
    fn only_what_can_be_read_twice_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(Source::new(dir.path()), Err(SourceError::NotRegular { .. })));
        assert!(matches!(Source::new(&dir.path().join("x")), Err(SourceError::Unreadable { .. })));
    }
}
