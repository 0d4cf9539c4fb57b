// Package text reads text files without leniency: charsets, lines, delimited records, JSON and points in time.
//
// It knows nothing of books and bills. What it promises to the layers above:
//
//   - Bytes that do not belong to the charset are an [*Error] with their place, so the replacement character never appears
//     unless the file itself holds it.
//   - A line or an element of JSON holds at most 4 MiB and a field 1 MiB, however long the input is; nothing else is kept.
//   - Nothing is skipped in silence: no blank line between records, no stray quote, no lone carriage return.
//   - Lines are physical lines, columns count characters, both from 1.
//   - An instant is exact: a wall clock that a clock change skips is an error, one that occurs twice is the first, one
//     outside 1990 to 2149 is refused as a zero date or a wrong unit.
package text
