package xlsx

import (
	"strconv"
	"strings"
)

// CellName is the name of a cell as spreadsheets show it, such as AB12.
func CellName(row, column int) string { return ColumnName(column) + strconv.Itoa(row) }

// ColumnName is the letters of a column, A for 1.
func ColumnName(column int) string {
	var b []byte
	for n := column; n > 0; n = (n - 1) / 26 {
		b = append([]byte{byte('A' + (n-1)%26)}, b...)
	}
	return string(b)
}

// parseName reads AB12, also with the dollars of a fixed reference.
func parseName(name string) (row, column int, ok bool) {
	name = strings.ReplaceAll(name, "$", "")
	i := 0
	for ; i < len(name) && i < 4; i++ {
		c := name[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			break
		}
		column = column*26 + int(c-'A') + 1
	}
	digits := name[i:]
	if digits == "" || len(digits) > 8 || strings.Trim(digits, "0123456789") != "" {
		return 0, 0, false
	}
	row, err := strconv.Atoi(digits)
	return row, column, err == nil && column > 0 && column <= ColumnsMax && row > 0 && row <= RowsMax
}

// area reads A1:B2, or the one cell A1.
func area(ref string) (Area, bool) {
	from, to, both := strings.Cut(ref, ":")
	if !both {
		to = from
	}
	var a Area
	var ok1, ok2 bool
	a.FromRow, a.FromColumn, ok1 = parseName(from)
	a.ToRow, a.ToColumn, ok2 = parseName(to)
	return a, ok1 && ok2 && a.FromRow <= a.ToRow && a.FromColumn <= a.ToColumn
}
