//! A row group of a trace file.
//!
//! ```text
//! for each column:
//!     words, and numbers of which few differ: a dictionary of what occurs, and the place of each row's value in it
//!     offsets and truths: the values as they are
//!     others: Parquet's own writer, by the properties of the file
//! ```
//!
//! Parquet's writer hashes every value of a column with a dictionary, and makes a compressor for each column of each
//! group. Most columns of most traces have a few values: so their pages are made here, with one compressor.

use std::io::Write;

use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::reader::ChunkReader;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{
    SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite,
};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;

use super::BATCH_ROWS;
use super::batch::Columns;
use crate::io::{Operation, WriteHint};

/// Level of zstd. Our choice: higher levels gain a few per cent and cost several times the time.
const ZSTD_LEVEL: i32 = 3;

/// The compression of all pages.
pub(super) fn compression() -> Result<Compression, ParquetError> {
    Ok(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
}

/// A compressor of pages, for one row group after another.
pub(super) fn compressor() -> Result<Compressor<'static>, ParquetError> {
    Ok(Compressor::new(ZSTD_LEVEL)?)
}

/// Writes columns to a file as a row group; no rows make no group.
pub(super) fn write<F: Write + Send>(
    file: &mut SerializedFileWriter<F>,
    columns: &Columns,
    compressor: &mut Compressor<'static>,
) -> Result<(), ParquetError> {
    if columns.len() == 0 {
        return Ok(());
    }
    let described = file.schema_descr().columns().to_vec();
    let mut group = Group {
        described,
        writer: file.next_row_group()?,
        compressor,
        place: 0,
    };
    group.values::<Int64Type, _>(&columns.time_ns, |time_ns| time_ns as i64)?;
    group.words(&columns.operation, &Operation::ALL.map(Operation::name))?;
    group.plain(&columns.offset_bytes)?;
    group.longs(&columns.length_bytes)?;
    group.integers(&columns.context)?;
    group.integers(&columns.file)?;
    group.words(&columns.hint, &WriteHint::ALL.map(WriteHint::name))?;
    group.truths(&columns.hint_granted)?;
    group.integers(&columns.tenant)?;
    group.writer.close()?;
    Ok(())
}

/// A row group being written, column by column.
struct Group<'a, F: Write + Send> {
    described: Vec<ColumnDescPtr>,
    writer: SerializedRowGroupWriter<'a, F>,
    compressor: &'a mut Compressor<'static>,
    /// The number of the next column.
    place: usize,
}

/// A column as a dictionary and a code for each row.
struct Coded<'a> {
    /// The values that occur, in Parquet's plain encoding.
    dictionary: Vec<u8>,
    values: usize,
    /// The code of each row; where there is one value, none is looked at.
    codes: &'a [u8],
    rows: usize,
    statistics: Statistics,
}

/// The bytes of a data page, and its rows.
type DataPage = (Vec<u8>, usize);

impl<F: Write + Send> Group<'_, F> {
    fn longs(&mut self, values: &[u64]) -> Result<(), ParquetError> {
        let Some(Codes { values: few, codes }) = Codes::of(values) else {
            return self.values::<Int64Type, _>(values, |value| value as i64);
        };
        self.coded(Coded {
            dictionary: few.iter().flat_map(|value| value.to_le_bytes()).collect(),
            values: few.len(),
            codes: &codes,
            rows: values.len(),
            statistics: range(&few),
        })
    }

    fn integers(&mut self, values: &[u32]) -> Result<(), ParquetError> {
        let Some(Codes { values: few, codes }) = Codes::of(values) else {
            return self.values::<Int32Type, _>(values, |value| value as i32);
        };
        let bound = |value: Option<&u32>| value.map(|value| *value as i32);
        let (least, most) = (bound(few.iter().min()), bound(few.iter().max()));
        self.coded(Coded {
            dictionary: few.iter().flat_map(|value| value.to_le_bytes()).collect(),
            values: few.len(),
            codes: &codes,
            rows: values.len(),
            statistics: Statistics::int32(least, most, None, Some(0), false),
        })
    }

    /// Writes numbers as they are. Offsets come from several writers in turn, so that differences are larger than what
    /// zstd leaves of the numbers. Split by bytes they would be a tenth smaller, which readers before Parquet 2.11 do
    /// not know.
    fn plain(&mut self, values: &[u64]) -> Result<(), ParquetError> {
        let pages = values.chunks(PAGE_ROWS).map(|values| {
            let mut bytes = vec![0; size_of_val(values)];
            let places = bytes.as_chunks_mut::<8>().0.iter_mut();
            places
                .zip(values)
                .for_each(|(place, value)| *place = value.to_le_bytes());
            (bytes, values.len())
        });
        self.append(None, Encoding::PLAIN, pages, range(values))
    }

    /// Writes truths, a bit each.
    fn truths(&mut self, values: &[bool]) -> Result<(), ParquetError> {
        let byte = |eight: &[bool]| {
            let bits = eight.iter().rev();
            bits.fold(0, |byte, value| byte << 1 | u8::from(*value))
        };
        let bytes = values.chunks(8).map(byte).collect();
        let (least, most) = (!values.contains(&false), values.contains(&true));
        let statistics = Statistics::boolean(Some(least), Some(most), None, Some(0), false);
        self.append(None, Encoding::PLAIN, [(bytes, values.len())], statistics)
    }

    /// Writes codes as the words they stand for.
    fn words(&mut self, codes: &[u8], words: &[&str]) -> Result<(), ParquetError> {
        let mut occurs = [false; 256];
        codes
            .iter()
            .for_each(|code| occurs[usize::from(*code)] = true);
        let (mut dictionary, mut places, mut found) = (Vec::new(), [0_u8; 256], Vec::new());
        for (code, word) in words.iter().enumerate().filter(|(code, _)| occurs[*code]) {
            dictionary.extend_from_slice(&(word.len() as u32).to_le_bytes());
            dictionary.extend_from_slice(word.as_bytes());
            places[code] = found.len() as u8;
            found.push(*word);
        }
        let bound = |word: Option<&&str>| word.map(|word| ByteArray::from(*word));
        let (least, most) = (bound(found.iter().min()), bound(found.iter().max()));
        let placed: Vec<u8> = match found.len() {
            1 => Vec::new(),
            _ => codes
                .iter()
                .map(|code| places[usize::from(*code)])
                .collect(),
        };
        self.coded(Coded {
            dictionary,
            values: found.len(),
            codes: &placed,
            rows: codes.len(),
            statistics: Statistics::byte_array(least, most, None, Some(0), false),
        })
    }

    /// Writes values by Parquet's own writer, some thousand at a time in the type that it takes: the same bits.
    fn values<T: DataType, V: Copy>(
        &mut self,
        values: &[V],
        signed: fn(V) -> T::T,
    ) -> Result<(), ParquetError> {
        self.place += 1;
        let column = self.writer.next_column()?;
        let mut column = column.ok_or(ParquetError::EOF("the schema has fewer columns".into()))?;
        for some in values.chunks(BATCH_ROWS) {
            let some: Vec<T::T> = some.iter().map(|value| signed(*value)).collect();
            column.typed::<T>().write_batch(&some, None, None)?;
        }
        column.close()
    }

    fn coded(&mut self, column: Coded<'_>) -> Result<(), ParquetError> {
        let page = (packed(&column), column.rows);
        let dictionary = (column.dictionary, column.values);
        let encoding = Encoding::RLE_DICTIONARY;
        self.append(Some(dictionary), encoding, [page], column.statistics)
    }

    /// Appends a column whose pages are made here: a dictionary with the number of its values, if it has one, and data.
    fn append(
        &mut self,
        dictionary: Option<(Vec<u8>, usize)>,
        encoding: Encoding,
        pages: impl IntoIterator<Item = DataPage>,
        statistics: Statistics,
    ) -> Result<(), ParquetError> {
        let mut chunk = Chunk {
            bytes: TrackedWrite::new(Vec::new()),
            pages: Vec::new(),
        };
        if let Some((bytes, values)) = dictionary {
            let page = Page::DictionaryPage {
                buf: self.compressor.compress(&bytes)?.into(),
                num_values: values as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            chunk.push(page, bytes.len())?;
        }
        for (bytes, rows) in pages {
            let page = Page::DataPage {
                buf: self.compressor.compress(&bytes)?.into(),
                num_values: rows as u32,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            chunk.push(page, bytes.len())?;
        }
        let described = self.described[self.place].clone();
        self.place += 1;
        let closed = chunk.closed(described, encoding, statistics)?;
        self.writer
            .append_column(&readable(chunk.bytes.into_inner()?), closed)
    }
}

/// Rows of a page of numbers as they are: Parquet's own choice.
const PAGE_ROWS: usize = 20_000;

/// A column of a row group whose pages are made here.
struct Chunk {
    bytes: TrackedWrite<Vec<u8>>,
    pages: Vec<PageWriteSpec>,
}

impl Chunk {
    fn push(&mut self, page: Page, unpacked_bytes: usize) -> Result<(), ParquetError> {
        let page = CompressedPage::new(page, unpacked_bytes);
        let written = SerializedPageWriter::new(&mut self.bytes).write_page(page)?;
        self.pages.push(written);
        Ok(())
    }

    /// The description of the column, whose data pages have this encoding.
    fn closed(
        &self,
        described: ColumnDescPtr,
        encoding: Encoding,
        statistics: Statistics,
    ) -> Result<ColumnCloseResult, ParquetError> {
        let of = |kind| self.pages.iter().filter(move |page| page.page_type == kind);
        let rows: u32 = of(PageType::DATA_PAGE).map(|page| page.num_values).sum();
        let sum = |size: fn(&PageWriteSpec) -> usize| self.pages.iter().map(size).sum::<usize>();
        let kinds = [
            (PageType::DICTIONARY_PAGE, Encoding::PLAIN),
            (PageType::DATA_PAGE, encoding),
        ];
        let counts = kinds.map(|(page_type, encoding)| PageEncodingStats {
            page_type,
            encoding,
            count: of(page_type).count() as i32,
        });
        let counts = counts.into_iter().filter(|one| one.count > 0).collect();
        let first = |kind| of(kind).next().map(|page| page.offset as i64);
        let metadata = ColumnChunkMetaData::builder(described)
            .set_compression(compression()?)
            .set_encodings(match encoding {
                Encoding::PLAIN => vec![Encoding::PLAIN, Encoding::RLE],
                coded => vec![Encoding::PLAIN, Encoding::RLE, coded],
            })
            .set_page_encoding_stats(counts)
            .set_num_values(i64::from(rows))
            .set_total_compressed_size(sum(|page| page.compressed_size) as i64)
            .set_total_uncompressed_size(sum(|page| page.uncompressed_size) as i64)
            .set_dictionary_page_offset(first(PageType::DICTIONARY_PAGE))
            .set_data_page_offset(first(PageType::DATA_PAGE).unwrap_or_default())
            .set_statistics(statistics)
            .build()?;
        Ok(ColumnCloseResult {
            bytes_written: self.pages.iter().map(|page| page.bytes_written).sum(),
            rows_written: u64::from(rows),
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        })
    }
}

/// Bytes in the form in which Parquet takes a column that is made elsewhere. A page holds such; the crate that has
/// their type is no dependency of ours.
fn readable(bytes: Vec<u8>) -> impl ChunkReader {
    let page = Page::DictionaryPage {
        buf: bytes.into(),
        num_values: 0,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    };
    page.buffer().clone()
}

/// The least and the most of unsigned numbers.
fn range(values: &[u64]) -> Statistics {
    let bound = |value: Option<&u64>| value.map(|value| *value as i64);
    let (least, most) = (bound(values.iter().min()), bound(values.iter().max()));
    Statistics::int64(least, most, None, Some(0), false)
}

/// The most values that a byte numbers.
const MOST_CODES: usize = 1 << u8::BITS;

/// Numbers of which few differ, as those that occur and the place of each row's among them.
struct Codes<T> {
    values: Vec<T>,
    /// None where there is one value.
    codes: Vec<u8>,
}

impl<T: Copy + PartialEq + Into<u64>> Codes<T> {
    /// `None` where more than [`MOST_CODES`] values occur.
    fn of(column: &[T]) -> Option<Codes<T>> {
        let first = *column.first()?;
        if column.iter().all(|value| *value == first) {
            return Some(Codes {
                values: vec![first],
                codes: Vec::new(),
            });
        }
        // Twice as many slots as values, so that there is always a free one.
        let mut slots = [None; 2 * MOST_CODES];
        let (mut values, mut codes) = (Vec::new(), Vec::with_capacity(column.len()));
        for value in column {
            // 2^64 over the golden ratio spreads neighbours and multiples.
            let hash = (*value).into().wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut slot = (hash >> 55) as usize;
            while slots[slot].is_some_and(|code: u8| values[usize::from(code)] != *value) {
                slot = (slot + 1) % slots.len();
            }
            if slots[slot].is_none() {
                slots[slot] = Some(u8::try_from(values.len()).ok()?);
                values.push(*value);
            }
            codes.extend(slots[slot]);
        }
        Some(Codes { values, codes })
    }
}

/// The codes of a column as a data page has them (Parquet, "RLE Dictionary"): the bits of a code, then one run.
fn packed(column: &Coded<'_>) -> Vec<u8> {
    let bits = usize::BITS - (column.values - 1).leading_zeros();
    let mut page = vec![bits as u8];
    if bits == 0 {
        // A run of one value, which takes no bits.
        variable_length(column.rows << 1, &mut page);
        return page;
    }
    variable_length(column.codes.len().div_ceil(8) << 1 | 1, &mut page);
    for eight in column.codes.chunks(8) {
        let places = eight.iter().zip((0_u32..).step_by(bits as usize));
        let word = places.fold(0_u64, |word, (code, place)| {
            word | u64::from(*code) << place
        });
        page.extend_from_slice(&word.to_le_bytes()[..bits as usize]);
    }
    page
}

/// Appends a number as Parquet writes those of unknown size (ULEB128): seven bits a byte, the lowest first.
fn variable_length(mut number: usize, page: &mut Vec<u8>) {
    while number > 0x7f {
        page.push(number as u8 | 0x80);
        number >>= 7;
    }
    page.push(number as u8);
}
