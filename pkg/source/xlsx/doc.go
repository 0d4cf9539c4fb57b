// Package xlsx reads Excel workbooks (Office Open XML, also with macros) as rows of typed cells, one row at a time.
//
// It exists because what a bill needs of a cell is what libraries for workbooks take away when they read row by row: its
// type, the text of its number as it is stored, and whether its format is that of a date. Reading a cell's type from them
// means to hold the whole sheet.
//
// # What it promises
//
//   - A number is the text in the file. It is never made a float, and never displayed: 31.149999999999999 is just that.
//   - A text is the text in the file, with the escapes of the format (_x000D_) undone and without phonetic hints.
//   - A number whose format is that of a date is one, see [Book.Wall]: a wall clock, to the second, without a zone.
//   - Hidden rows, columns and filtered rows are data as all others are. What is merged is told, see [Rows.Merged].
//   - Rows and cells come in the order of the sheet; those that do not, or lie beyond what Excel has, are an error, so
//     that no cell is given twice.
//   - A part that is used is read to its end, so that its checksum counts. What damages the XML is an error.
//   - Nothing is written anywhere: there are no temporary files.
//
// # What bounds it
//
// The opener that [Open] is given bounds how much comes out of the container. Beyond that one token of XML holds at most 4
// MiB and one text 1 MiB, elements lie at most 64 deep, a row holds at most 16384 cells, and the table of shared texts,
// which has to be held, 256 MiB. So memory is the shared texts and one row, whatever the file says.
package xlsx
