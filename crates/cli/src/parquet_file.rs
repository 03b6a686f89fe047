//! Records as an Apache Parquet file.
//!
//! Rule: a column has the same type and name as in every other format; a missing value is null. The
//! file is built in memory, because there are few records.

use std::sync::Arc;

use fullpipe_lab::{Column, Records, Values};
use parquet::{
    basic::{ConvertedType, Repetition, Type as Physical},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::{Type, TypePtr},
};

/// Returns the bytes of the file.
///
/// # Errors
/// Fails if the Parquet library fails.
pub fn encode(records: &Records) -> Result<Vec<u8>, ParquetError> {
    let fields: Vec<_> = records
        .columns
        .iter()
        .map(field)
        .collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("records").with_fields(fields);
    let mut file = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema.build()?), properties)?;
    let mut group = writer.next_row_group()?;
    for column in &records.columns {
        let mut out = group.next_column()?.ok_or_else(|| {
            ParquetError::General("the file has fewer columns than the records".to_string())
        })?;
        match &column.values {
            Values::Text(values) => {
                let values: Vec<_> = values.iter().map(|at| ByteArray::from(&**at)).collect();
                let column = out.typed::<ByteArrayType>();
                column.write_batch(&values, None, None)?;
            }
            Values::Whole(values) => {
                let (values, levels) = split(values, |at| at as i64);
                let column = out.typed::<Int64Type>();
                column.write_batch(&values, Some(&levels), None)?;
            }
            Values::Decimal(values) => {
                let (values, levels) = split(values, |at| at);
                let column = out.typed::<DoubleType>();
                column.write_batch(&values, Some(&levels), None)?;
            }
        }
        out.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(file)
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, repetition, converted) = match column.values {
        Values::Text(_) => (
            Physical::BYTE_ARRAY,
            Repetition::REQUIRED,
            ConvertedType::UTF8,
        ),
        Values::Whole(_) => (
            Physical::INT64,
            Repetition::OPTIONAL,
            ConvertedType::UINT_64,
        ),
        Values::Decimal(_) => (Physical::DOUBLE, Repetition::OPTIONAL, ConvertedType::NONE),
    };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(repetition)
        .with_converted_type(converted);
    Ok(Arc::new(field.build()?))
}

/// Returns the values that are not missing. The second list has a 1 for each record with a value,
/// and a 0 for each record without one.
fn split<T: Copy, V>(values: &[Option<T>], as_value: fn(T) -> V) -> (Vec<V>, Vec<i16>) {
    let there = values.iter().flatten().map(|value| as_value(*value));
    let levels = values.iter().map(|value| i16::from(value.is_some()));
    (there.collect(), levels.collect())
}
