// Package source reads the books of one side and one business day, wherever they lie, as [model.Entry] values.
//
// # What a source promises
//
// [Source.Read] yields every entry of the day in a fixed order and ends with a [model.Seal]: how many entries there were,
// what they sum to per currency, and name, size and SHA-256 of every file read. An error means that nothing of what was
// yielded may be used: the caller throws its landing away. A source is never read in part: a row that cannot be
// understood, a missing column, a cut file or a file that changed under the reader is an error that says where
// (file:line:column) and what to do. Row errors are collected, so that one look shows the first twenty of a file.
//
// [ErrNotThere] alone means "wait": no file matches yet. A file with a header and no rows is an empty day; a file of zero
// bytes is an error, because it says nothing.
//
// # How a file is peeled
//
// Four layers, each with its own check, none guessed from a file name:
//
//  1. container: plain, gzip, zstd or zip, told by the first bytes. A container must be complete (trailer, CRC) and what
//     comes out of it is bounded by bytes really written. Names inside a zip choose an entry and are never used as paths.
//  2. charset: a byte order mark, else what the spec names, else strict UTF-8. Bytes that do not belong to the charset are
//     an error with their line, so the replacement character never appears.
//  3. records: RFC 4180 without leniency. Lines are physical lines, a field holds at most 1 MiB, nothing is skipped
//     unless the spec says so.
//  4. columns: by header name, exactly. Each must be there once.
//
// # What text means
//
// Keys, ids, statuses and attributes are taken as they stand, without trimming. Amounts are what [model.ParseAmount]
// accepts, without trimming. A currency is trimmed and upper-cased. An id or key like 4.2E+27 has been through a
// spreadsheet and is refused, because its digits are lost. An instant without offset is a wall clock of the source's
// zone, else of the job's: one that a clock change skips is an error, one that occurs twice is taken as the first.
// Instants before 1990 or after 2149 are refused, for they are zero dates or wrong units. A date alone is the first
// instant of that day; 0000-00-00 is no instant.
//
// # Typed inputs
//
// Parquet columns and query results carry types, and what would lose digits is refused by name: binary floats for money,
// ids or attributes, and bare integers for instants unless time_format says what they count.
//
// Cells of a workbook carry types one by one. A number is the text that is stored: one of more than 15 digits or with an
// exponent is refused wherever it is wanted, because a spreadsheet made its digits. A number with the format of a date is
// a wall clock, to the second, and neither an amount nor an id. Hidden rows and columns are data; merged cells, errors and
// formulas without a stored result are refused. Its places are file!sheet:row:column. A bill that was saved as a workbook
// is told as what it was, and refused.
//
// Memory does not grow with the number of rows: every kind is read as a stream. Of a workbook the table of its shared
// texts is held, within a bound.
package source
