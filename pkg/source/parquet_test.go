package source_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// parquetBytes writes rows under a schema of leaf nodes by name, several row groups of two rows.
func parquetBytes(t testing.TB, nodes parquet.Group, rows ...map[string]parquet.Value) string {
	t.Helper()
	schema := parquet.NewSchema("bill", nodes)
	var b bytes.Buffer
	w := parquet.NewWriter(&b, schema, parquet.MaxRowsPerRowGroup(2), parquet.Compression(&parquet.Snappy))
	for _, r := range rows {
		row := make(parquet.Row, len(schema.Columns()))
		for i, path := range schema.Columns() {
			v := r[path[0]]
			level := 0
			if nodes[path[0]].Optional() && !v.IsNull() {
				level = 1
			}
			row[i] = v.Level(0, level, i)
		}
		_, err := w.WriteRows([]parquet.Row{row})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

func readParquet(t testing.TB, content string, spec source.Spec) ([]model.Entry, model.Seal, error) {
	t.Helper()
	spec.Kind, spec.Parquet = source.KindParquet, &source.Parquet{Path: "f.parquet"}
	return readAll(t, spec, folder(t, map[string]string{"f.parquet": content}), request())
}

var (
	text = parquet.String()
	str  = func(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }
)

func TestParquetGivesEntries(t *testing.T) {
	t.Parallel()
	content := parquetBytes(t, parquet.Group{
		"key": text, "amount": parquet.Decimal(2, 18, parquet.Int64Type), "fee": parquet.Optional(parquet.Decimal(4, 38, parquet.FixedLenByteArrayType(16))),
		"id": parquet.Uint(64), "occurred_at": parquet.Timestamp(parquet.Millisecond), "unused": parquet.List(text), "rate": parquet.Decimal(3, 9, parquet.Int32Type),
	},
		map[string]parquet.Value{"key": str("支付|0070"), "amount": parquet.Int64Value(1050), "id": parquet.Int64Value(-1), "occurred_at": parquet.Int64Value(1790784000123), "fee": parquet.FixedLenByteArrayValue(twos(-600)), "rate": parquet.Int32Value(6)},
		map[string]parquet.Value{"key": str("b"), "amount": parquet.Int64Value(-5), "id": parquet.Int64Value(123456789012345678), "occurred_at": parquet.Int64Value(1790784000000), "rate": parquet.Int32Value(-6)},
		map[string]parquet.Value{"key": str("c"), "amount": parquet.Int64Value(0), "id": parquet.Int64Value(3), "occurred_at": parquet.Int64Value(1790784000000), "rate": parquet.Int32Value(0)},
	)
	entries, seal, err := readParquet(t, content, source.Spec{Columns: columns("id", "fee", "occurred_at", "rate")})
	require.NoError(t, err)
	require.Len(t, entries, 3)
	e := entries[0]
	require.Equal(t, "支付|0070", e.Key)
	require.Equal(t, "18446744073709551615", e.ID)
	require.Equal(t, "10.5", e.Amount.String())
	require.Equal(t, "-0.06", e.Fee.Decimal.String())
	require.Equal(t, "0.006", e.Attrs["rate"])
	require.Equal(t, time.Date(2026, 9, 30, 16, 0, 0, 123e6, time.UTC), e.OccurredAt)
	require.Equal(t, "f.parquet", e.File)
	require.Equal(t, "123456789012345678", entries[1].ID)
	require.False(t, entries[1].Fee.Valid)
	require.Equal(t, uint64(3), entries[2].Line)
	require.Equal(t, "CNY 3 entries 10.45", seal.Totals.String())
	require.Equal(t, int64(len(content)), seal.Sources[0].Bytes)
}

func twos(n int64) []byte {
	b := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(n)).Bytes()
	return b[len(b)-16:]
}

func TestParquetMoneyTypes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		node  parquet.Node
		value parquet.Value
		want  string
	}{
		"decimal int32":  {parquet.Decimal(2, 9, parquet.Int32Type), parquet.Int32Value(-115), "-1.15"},
		"decimal int64":  {parquet.Decimal(8, 18, parquet.Int64Type), parquet.Int64Value(1), "0.00000001"},
		"decimal bytes":  {parquet.Decimal(2, 38, parquet.ByteArrayType), parquet.ByteArrayValue([]byte{0xfe, 0x0c}), "-5"},
		"decimal fixed":  {parquet.Decimal(2, 18, parquet.FixedLenByteArrayType(8)), parquet.FixedLenByteArrayValue([]byte{0, 0, 0, 0, 0, 0, 1, 0xf4}), "5"},
		"integer":        {parquet.Int(64), parquet.Int64Value(7), "7"},
		"small integer":  {parquet.Int(16), parquet.Int32Value(-7), "-7"},
		"big unsigned":   {parquet.Uint(32), parquet.Int32Value(-1), "4294967295"},
		"plain integer":  {parquet.Leaf(parquet.Int64Type), parquet.Int64Value(7), "7"},
		"text":           {text, str("0.10"), "0.1"},
		"bytes":          {parquet.Leaf(parquet.ByteArrayType), str("0.10"), "0.1"},
		"optional bytes": {parquet.Optional(text), str("0.10"), "0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := parquetBytes(t, parquet.Group{"key": text, "amount": c.node}, map[string]parquet.Value{"key": str("a"), "amount": c.value})
			entries, _, err := readParquet(t, content, source.Spec{Columns: columns()})
			require.NoError(t, err)
			require.Equal(t, c.want, entries[0].Amount.String())
		})
	}
}

func TestParquetInstants(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 9, 30, 16, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		node   parquet.Node
		value  parquet.Value
		format string
	}{
		"adjusted, ms": {parquet.Timestamp(parquet.Millisecond), parquet.Int64Value(midnight.UnixMilli()), ""},
		"adjusted, µs": {parquet.Timestamp(parquet.Microsecond), parquet.Int64Value(midnight.UnixMicro()), ""},
		"adjusted, ns": {parquet.Timestamp(parquet.Nanosecond), parquet.Int64Value(midnight.UnixNano()), ""},
		"wall clock":   {parquet.TimestampAdjusted(parquet.Millisecond, false), parquet.Int64Value(midnight.Add(8 * time.Hour).UnixMilli()), ""},
		"date":         {parquet.Date(), parquet.Int32Value(int32(day)), ""},
		"text":         {text, str("2026-10-01 00:00:00"), ""},
		"unix_ms":      {parquet.Int(64), parquet.Int64Value(midnight.UnixMilli()), "unix_ms"},
		"unix":         {parquet.Leaf(parquet.Int32Type), parquet.Int32Value(int32(midnight.Unix())), "unix"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := parquetBytes(t, parquet.Group{"key": text, "amount": text, "occurred_at": c.node},
				map[string]parquet.Value{"key": str("a"), "amount": str("1"), "occurred_at": c.value})
			entries, _, err := readParquet(t, content, source.Spec{Columns: columns("occurred_at"), TimeFormat: c.format})
			require.NoError(t, err)
			require.Equal(t, midnight, entries[0].OccurredAt)
		})
	}
}

func TestWrongParquet(t *testing.T) {
	t.Parallel()
	row := map[string]parquet.Value{"key": str("a"), "amount": str("1"), "id": str("x"), "occurred_at": str("2026-10-01")}
	with := func(name string, node parquet.Node, v parquet.Value) string {
		nodes, values := parquet.Group{"key": text, "amount": text, "id": text, "occurred_at": text}, map[string]parquet.Value{}
		maps.Copy(values, row)
		nodes[name], values[name] = node, v
		return parquetBytes(t, nodes, values)
	}
	const advice = "a binary float does not hold the digits that were written; write the column as DECIMAL or text"
	plain := parquet.Leaf(parquet.DoubleType)
	for name, c := range map[string]struct{ content, want string }{
		"float money":     {with("amount", plain, parquet.DoubleValue(1.15)), `f.parquet: column "amount" is DOUBLE and cannot be an amount: ` + advice},
		"float id":        {with("id", parquet.Leaf(parquet.FloatType), parquet.FloatValue(1)), `f.parquet: column "id" is FLOAT and cannot be an id: ` + advice},
		"float key":       {with("key", plain, parquet.DoubleValue(1)), `f.parquet: column "key" is DOUBLE and cannot be a key: ` + advice},
		"fractional id":   {with("id", parquet.Decimal(2, 9, parquet.Int32Type), parquet.Int32Value(1)), `f.parquet: column "id" is DECIMAL(9,2) and cannot be an id: want text or integers`},
		"a date as id":    {with("id", parquet.Date(), parquet.Int32Value(1)), `f.parquet: column "id" is DATE and cannot be an id: want text or integers`},
		"money of dates":  {with("amount", parquet.Date(), parquet.Int32Value(1)), `f.parquet: column "amount" is DATE and cannot be an amount: want a decimal, an integer or text`},
		"bare integer":    {with("occurred_at", parquet.Leaf(parquet.Int64Type), parquet.Int64Value(1790784000000)), `f.parquet: column "occurred_at" is INT(64,true) and cannot be an instant: want a timestamp, a date or text; of integers say with time_format whether they are unix or unix_ms`},
		"INT96":           {with("occurred_at", parquet.Leaf(parquet.Int96Type), parquet.Value{}), `f.parquet: column "occurred_at" is INT96 and cannot be an instant: want a timestamp, a date or text; of integers say with time_format whether they are unix or unix_ms`},
		"column missing":  {parquetBytes(t, parquet.Group{"Key": text, "amount": text}), `f.parquet: columns missing "key", "id", "occurred_at"; found: "Key", "amount"`},
		"empty key":       {with("key", parquet.Optional(text), parquet.Value{}), `f.parquet:1:key: column "key": key is empty, but the match key needs it`},
		"null amount":     {with("amount", parquet.Optional(text), parquet.Value{}), `f.parquet:1:amount: column "amount": the amount is empty: not an exact amount`},
		"money too fine":  {with("amount", parquet.Decimal(9, 18, parquet.Int64Type), parquet.Int64Value(1)), `f.parquet:1:amount: column "amount": amount "0.000000001": more than 8 fractional digits: not an exact amount`},
		"text not UTF-8":  {with("key", text, str("\xb6\xa9")), `f.parquet:1:key: column "key": not text: the bytes are not UTF-8, or hold NUL`},
		"spreadsheet id":  {with("id", text, str("4.2E+27")), `f.parquet:1:id: column "id": "4.2E+27" is a number as a spreadsheet rounds it: its digits are lost; export the column as text`},
		"zero date":       {with("occurred_at", parquet.Timestamp(parquet.Millisecond), parquet.Int64Value(0)), `f.parquet:1:occurred_at: column "occurred_at": instant "1970-01-01T00:00:00Z" is in the year 1970: a zero date or a wrong unit (unix or unix_ms?)`},
		"CSV":             {"key,amount\n", `f.parquet: the file is not parquet: it begins "key,"`},
		"zero bytes":      {"", "f.parquet: the file is empty: an empty day is a parquet file without rows"},
		"cut":             {with("key", text, str("a"))[:60], "f.parquet: the parquet file has no end: it is cut; deliver the whole file again"},
		"encrypted":       {"PARE1234567890", "f.parquet: the parquet file is encrypted: deliver it plain"},
		"nested":          {parquetBytes(t, parquet.Group{"key": parquet.Group{"a": text}, "amount": text, "id": text, "occurred_at": text}), `f.parquet: column "key" is nested or repeated and cannot be a key: want text or integers`},
		"repeated amount": {parquetBytes(t, parquet.Group{"key": text, "amount": parquet.Repeated(text), "id": text, "occurred_at": text}), `f.parquet: column "amount" is nested or repeated and cannot be an amount: want a decimal, an integer or text`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readParquet(t, c.content, source.Spec{Columns: columns("id", "occurred_at")})
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, source.ErrInput)
		})
	}
}

func TestParquetWithoutRowsIsAnEmptyDay(t *testing.T) {
	t.Parallel()
	entries, seal, err := readParquet(t, parquetBytes(t, parquet.Group{"key": text, "amount": text}), source.Spec{Columns: columns()})
	require.NoError(t, err)
	require.Empty(t, entries)
	require.Zero(t, seal.Totals.Count())
}

// TestDamagedParquetNeverPanics cuts a file at every byte and flips every third byte of it.
func TestDamagedParquetNeverPanics(t *testing.T) {
	t.Parallel()
	content := parquetBytes(t, parquet.Group{"key": text, "amount": parquet.Decimal(2, 18, parquet.Int64Type)},
		map[string]parquet.Value{"key": str("a"), "amount": parquet.Int64Value(1)}, map[string]parquet.Value{"key": str("b"), "amount": parquet.Int64Value(2)},
		map[string]parquet.Value{"key": str("c"), "amount": parquet.Int64Value(3)})
	path := filepath.Join(t.TempDir(), "f.parquet")
	s, err := source.Open(source.Spec{Kind: source.KindParquet, Parquet: &source.Parquet{Path: path}, Columns: columns()}, source.Env{})
	require.NoError(t, err)
	read := func(b []byte) error {
		require.NoError(t, os.WriteFile(path, b, 0o600))
		_, err := s.Read(context.Background(), request(), func(model.Entry) error { return nil })
		return err
	}
	for n := range len(content) {
		require.ErrorIs(t, read([]byte(content[:n])), source.ErrInput, "cut to %d", n)
		if n%3 != 0 {
			continue
		}
		bad := []byte(content)
		bad[n] ^= 0xff
		if err := read(bad); err != nil {
			require.ErrorIs(t, err, source.ErrInput, "byte %d: %v", n, err)
		}
	}
}

func TestAPanicOfTheCallerIsItsOwn(t *testing.T) {
	t.Parallel()
	content := parquetBytes(t, parquet.Group{"key": text, "amount": text}, map[string]parquet.Value{"key": str("a"), "amount": str("1")})
	s, err := source.Open(source.Spec{Kind: source.KindParquet, Parquet: &source.Parquet{Path: "f"}, Columns: columns()}, source.Env{Root: folder(t, map[string]string{"f": content})})
	require.NoError(t, err)
	require.PanicsWithValue(t, "mine", func() {
		_, _ = s.Read(context.Background(), request(), func(model.Entry) error { panic("mine") })
	})
	full := fmt.Errorf("disk full")
	_, err = s.Read(context.Background(), request(), func(model.Entry) error { return full })
	require.Equal(t, full, err)
}
