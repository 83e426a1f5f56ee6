//! A row group of a trace file.
//!
//! ```text
//! for each column:
//!     words, and numbers that are all the same: a dictionary of what occurs, and the place of each row's value in it
//!     others: Parquet's own writer, by the properties of the file
//! ```
//!
//! Parquet's writer looks up the hash of every value of a column with a dictionary. Most columns of most traces have
//! one value, and words are numbers here already: so their pages are made without a look-up.

use std::io::Write;

use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::reader::ChunkReader;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{
    SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite,
};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;

use super::batch::Columns;
use crate::io::{Operation, WriteHint};

/// Level of zstd. Our choice: higher levels gain a few per cent and cost several times the time.
const ZSTD_LEVEL: i32 = 3;

/// The compression of all pages.
pub(super) fn compression() -> Result<Compression, ParquetError> {
    Ok(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
}

/// Writes columns to a file as a row group; no rows make no group.
pub(super) fn write<F: Write + Send>(
    file: &mut SerializedFileWriter<F>,
    columns: &Columns,
) -> Result<(), ParquetError> {
    if columns.len() == 0 {
        return Ok(());
    }
    let described = file.schema_descr().columns().to_vec();
    let mut group = Group {
        described,
        writer: file.next_row_group()?,
        compressor: Compressor::new(ZSTD_LEVEL)?,
        place: 0,
    };
    group.longs(&columns.time_ns)?;
    group.words(&columns.operation, &Operation::ALL.map(Operation::name))?;
    group.longs(&columns.offset_bytes)?;
    group.longs(&columns.length_bytes)?;
    group.integers(&columns.context)?;
    group.integers(&columns.file)?;
    group.words(&columns.hint, &WriteHint::ALL.map(WriteHint::name))?;
    group.values::<BoolType>(&columns.hint_granted)?;
    group.integers(&columns.tenant)?;
    group.writer.close()?;
    Ok(())
}

/// A row group being written, column by column.
struct Group<'a, F: Write + Send> {
    described: Vec<ColumnDescPtr>,
    writer: SerializedRowGroupWriter<'a, F>,
    compressor: Compressor<'static>,
    /// The number of the next column.
    place: usize,
}

/// A column as a dictionary and a code for each row.
struct Coded<'a> {
    /// The values that occur, in Parquet's plain encoding.
    dictionary: Vec<u8>,
    values: u32,
    /// The code of each row; where there is one value, all are 0.
    codes: &'a [u8],
    rows: usize,
    statistics: Statistics,
}

impl<F: Write + Send> Group<'_, F> {
    fn longs(&mut self, values: &[u64]) -> Result<(), ParquetError> {
        if let Some(value) = only(values) {
            let statistics =
                Statistics::int64(Some(value as i64), Some(value as i64), None, Some(0), false);
            return self.constant(value.to_le_bytes().to_vec(), values.len(), statistics);
        }
        // Parquet's unsigned numbers are the same bits.
        let values: Vec<i64> = values.iter().map(|value| *value as i64).collect();
        self.values::<Int64Type>(&values)
    }

    fn integers(&mut self, values: &[u32]) -> Result<(), ParquetError> {
        if let Some(value) = only(values) {
            let statistics =
                Statistics::int32(Some(value as i32), Some(value as i32), None, Some(0), false);
            return self.constant(value.to_le_bytes().to_vec(), values.len(), statistics);
        }
        let values: Vec<i32> = values.iter().map(|value| *value as i32).collect();
        self.values::<Int32Type>(&values)
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
        self.coded(&Coded {
            dictionary,
            values: found.len() as u32,
            codes: &placed,
            rows: codes.len(),
            statistics: Statistics::byte_array(least, most, None, Some(0), false),
        })
    }

    fn constant(
        &mut self,
        value: Vec<u8>,
        rows: usize,
        statistics: Statistics,
    ) -> Result<(), ParquetError> {
        self.coded(&Coded {
            dictionary: value,
            values: 1,
            codes: &[],
            rows,
            statistics,
        })
    }

    /// Writes values by Parquet's own writer.
    fn values<T: DataType>(&mut self, values: &[T::T]) -> Result<(), ParquetError> {
        self.place += 1;
        let column = self.writer.next_column()?;
        let mut column = column.ok_or(ParquetError::EOF("the schema has fewer columns".into()))?;
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()
    }

    fn coded(&mut self, column: &Coded<'_>) -> Result<(), ParquetError> {
        let described = self.described[self.place].clone();
        self.place += 1;
        let mut chunk = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut chunk);
        let dictionary = Page::DictionaryPage {
            buf: self.compressor.compress(&column.dictionary)?.into(),
            num_values: column.values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let dictionary =
            pages.write_page(CompressedPage::new(dictionary, column.dictionary.len()))?;
        let codes = packed(column);
        let data = Page::DataPage {
            buf: self.compressor.compress(&codes)?.into(),
            num_values: column.rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let data = pages.write_page(CompressedPage::new(data, codes.len()))?;
        let page = |page_type, encoding| PageEncodingStats {
            page_type,
            encoding,
            count: 1,
        };
        let bytes = (dictionary.uncompressed_size + data.uncompressed_size) as i64;
        let metadata = ColumnChunkMetaData::builder(described)
            .set_compression(compression()?)
            .set_encodings(vec![
                Encoding::PLAIN,
                Encoding::RLE,
                Encoding::RLE_DICTIONARY,
            ])
            .set_page_encoding_stats(vec![
                page(PageType::DICTIONARY_PAGE, Encoding::PLAIN),
                page(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY),
            ])
            .set_num_values(column.rows as i64)
            .set_total_compressed_size((dictionary.compressed_size + data.compressed_size) as i64)
            .set_total_uncompressed_size(bytes)
            .set_dictionary_page_offset(Some(dictionary.offset as i64))
            .set_data_page_offset(data.offset as i64)
            .set_statistics(column.statistics.clone())
            .build()?;
        let closed = ColumnCloseResult {
            bytes_written: dictionary.bytes_written + data.bytes_written,
            rows_written: column.rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        self.writer
            .append_column(&readable(chunk.into_inner()?), closed)
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

/// The value that all are; `None` where they differ.
fn only<T: Copy + PartialEq>(values: &[T]) -> Option<T> {
    let first = *values.first()?;
    values.iter().all(|value| *value == first).then_some(first)
}

/// The codes of a column as a data page has them (Parquet, "RLE Dictionary"): the bits of a code, then one run.
fn packed(column: &Coded<'_>) -> Vec<u8> {
    let bits = u32::BITS - (column.values - 1).leading_zeros();
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
