//! Reading a segment, whole or in part.

use crate::block::unpack;
use crate::error::{Read, ReadError, damaged};
use crate::index::{self, Entry, checksum};
use crate::limits::SEGMENT_BYTES_MAX;
use crate::record::Record;
use im_domain::MsgId;

/// A segment whose head and index are sound. Its blocks are checked and unpacked as they are read.
#[derive(Clone, Debug)]
pub struct Segment<'a> {
    cid: MsgId,
    blocks: Vec<Block<'a>>,
}

/// Messages of a segment that are unpacked together.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    entry: Entry,
    bytes: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Unpacks nothing; costs what there are blocks.
    ///
    /// # Errors
    /// [`ReadError`]: nothing of the segment can be read.
    pub fn open(blob: &'a [u8]) -> Result<Self, ReadError> {
        let (cid, entries, mut rest) = index::read(blob)?;
        let mut blocks = Vec::with_capacity(entries.len());
        for entry in entries {
            let (bytes, after) = rest.split_at_checked(entry.bytes as usize).ok_or(damaged("index"))?;
            blocks.push(Block { entry, bytes });
            rest = after;
        }
        Ok(Self { cid, blocks })
    }

    /// The conversation's number.
    pub fn cid(&self) -> MsgId {
        self.cid
    }

    pub fn first_id(&self) -> MsgId {
        self.blocks.first().map(Block::first_id).unwrap_or_default()
    }

    pub fn last_id(&self) -> MsgId {
        self.blocks.last().map(Block::last_id).unwrap_or_default()
    }

    /// How many messages it has: 1 to 10,000.
    pub fn messages(&self) -> usize {
        self.blocks.iter().map(Block::messages).sum()
    }

    /// Oldest first.
    pub fn blocks(&self) -> &[Block<'a>] {
        &self.blocks
    }

    /// The messages with `above < id < below`, oldest first, or from the back newest first. A block is
    /// unpacked when the walk comes to it, so a page costs one or two. One that cannot be read is one
    /// error in the place of its messages, and the walk can go on.
    pub fn range(
        &self,
        above: MsgId,
        below: MsgId,
    ) -> impl DoubleEndedIterator<Item = Result<Record, ReadError>> {
        let is_near = move |block: &&Block<'_>| block.last_id() > above && block.first_id() < below;
        let is_wanted = move |record: &Result<Record, ReadError>| {
            record.as_ref().map_or(true, |record| record.msg_id > above && record.msg_id < below)
        };
        self.blocks.iter().filter(is_near).flat_map(Block::each).filter(is_wanted)
    }

    /// All messages, oldest first.
    ///
    /// # Errors
    /// [`ReadError`] of the first block that cannot be read, or when the messages together are more
    /// than a segment may have.
    pub fn read(&self) -> Result<Vec<Record>, ReadError> {
        let mut records = Vec::with_capacity(self.messages());
        let mut bytes = 0;
        for block in &self.blocks {
            let mut read = block.read()?;
            bytes += read.iter().map(Record::bytes).sum::<usize>();
            if bytes > SEGMENT_BYTES_MAX {
                return Err(ReadError::TooLarge { what: "bytes of a segment" });
            }
            records.append(&mut read);
        }
        Ok(records)
    }
}

impl Block<'_> {
    pub fn first_id(&self) -> MsgId {
        self.entry.first_id
    }

    pub fn last_id(&self) -> MsgId {
        self.entry.last_id
    }

    /// How many messages it has: 1 to 512.
    pub fn messages(&self) -> usize {
        usize::from(self.entry.messages)
    }

    /// Its messages, oldest first.
    ///
    /// # Errors
    /// [`ReadError`]: the block is damaged; others may be sound.
    pub fn read(&self) -> Result<Vec<Record>, ReadError> {
        if checksum(self.bytes) != self.entry.checksum {
            return Err(damaged("checksum of a block"));
        }
        let records = unpack(self.bytes, self.messages())?;
        self.check_ids(&records)?;
        Ok(records)
    }

    fn check_ids(&self, records: &[Record]) -> Read<()> {
        let rises = records.is_sorted_by(|a, b| a.msg_id < b.msg_id);
        let ends = [records.first(), records.last()].map(|record| record.map(|record| record.msg_id));
        match rises && ends == [Some(self.first_id()), Some(self.last_id())] {
            true => Ok(()),
            false => Err(damaged("ids of a block")),
        }
    }

    fn each(&self) -> std::vec::IntoIter<Result<Record, ReadError>> {
        let each: Vec<_> = match self.read() {
            Ok(records) => records.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        each.into_iter()
    }
}
