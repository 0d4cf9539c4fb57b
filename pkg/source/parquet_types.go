package source

import (
	"encoding/hex"
	"math/big"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/shopspring/decimal"
)

type parquetDecoder = func(parquet.Value) cell

// parquetType says what a column of a parquet type holds and how a value is read. The text of a value is copied: the
// page that holds it is used again.
func parquetType(t parquet.Type) (columnType, parquetDecoder) {
	if lt := t.LogicalType(); lt != nil && lt.Value != nil {
		return parquetLogical(t, lt)
	}
	switch t.Kind() {
	case parquet.Boolean:
		return columnType{class: classBool, name: "BOOLEAN"}, func(v parquet.Value) cell { return boolCell(v.Boolean()) }
	case parquet.Int32:
		return columnType{class: classInteger, name: "INT32"}, func(v parquet.Value) cell { return wholeNumber(int64(v.Int32())) }
	case parquet.Int64:
		return columnType{class: classInteger, name: "INT64"}, func(v parquet.Value) cell { return wholeNumber(v.Int64()) }
	case parquet.Float, parquet.Double:
		return columnType{class: classFloat, name: t.String()}, nil
	case parquet.ByteArray:
		return columnType{class: classText, name: "BYTE_ARRAY"}, textCell
	}
	return columnType{class: classOther, name: t.String()}, nil
}

func textCell(v parquet.Value) cell { return cell{class: classText, text: string(v.ByteArray())} }

func parquetLogical(t parquet.Type, lt *format.LogicalType) (columnType, parquetDecoder) {
	name := lt.String()
	switch l := lt.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return columnType{class: classText, name: name}, textCell
	case *format.DecimalType:
		return parquetDecimal(t, l, name)
	case *format.IntType:
		return columnType{class: classInteger, name: name}, parquetInteger(t.Kind(), l.IsSigned)
	case *format.DateType:
		return columnType{class: classDate, name: name}, func(v parquet.Value) cell {
			return cell{class: classDate, at: time.Unix(int64(v.Int32())*86400, 0).UTC()}
		}
	case *format.TimestampType:
		return parquetTimestamp(l, name)
	case *format.UUIDType:
		return columnType{class: classText, name: name}, func(v parquet.Value) cell {
			h := hex.EncodeToString(v.ByteArray())
			if len(h) != 32 {
				return cell{class: classText, text: "\x00"} // not a UUID: refused as not being text
			}
			return cell{class: classText, text: strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")}
		}
	}
	return columnType{class: classOther, name: name}, nil
}

func parquetInteger(kind parquet.Kind, signed bool) parquetDecoder {
	switch {
	case kind == parquet.Int32 && signed:
		return func(v parquet.Value) cell { return wholeNumber(int64(v.Int32())) }
	case kind == parquet.Int32:
		return func(v parquet.Value) cell { return wholeNumber(int64(v.Uint32())) }
	case signed:
		return func(v parquet.Value) cell { return wholeNumber(v.Int64()) }
	}
	return func(v parquet.Value) cell {
		return cell{class: classInteger, num: decimal.NewFromUint64(v.Uint64())}
	}
}

// parquetDecimal reads the unscaled integer of every physical type.
func parquetDecimal(t parquet.Type, l *format.DecimalType, name string) (columnType, parquetDecoder) {
	scale := -l.Scale
	made := func(d decimal.Decimal) cell { return cell{class: classDecimal, num: d} }
	decoders := map[parquet.Kind]parquetDecoder{
		parquet.Int32:             func(v parquet.Value) cell { return made(decimal.New(int64(v.Int32()), scale)) },
		parquet.Int64:             func(v parquet.Value) cell { return made(decimal.New(v.Int64(), scale)) },
		parquet.ByteArray:         func(v parquet.Value) cell { return made(decimal.NewFromBigInt(bigEndian(v.ByteArray()), scale)) },
		parquet.FixedLenByteArray: func(v parquet.Value) cell { return made(decimal.NewFromBigInt(bigEndian(v.ByteArray()), scale)) },
	}
	decode, ok := decoders[t.Kind()]
	if !ok || l.Scale < 0 || l.Scale > 76 {
		return columnType{class: classOther, name: name}, nil
	}
	return columnType{class: classDecimal, scale: int(l.Scale), name: name}, decode
}

// bigEndian reads a two's complement.
func bigEndian(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8)) //nolint:gosec // a length
	}
	return n
}

func parquetTimestamp(l *format.TimestampType, name string) (columnType, parquetDecoder) {
	var at func(int64) time.Time
	switch l.Unit.Value.(type) {
	case *format.MilliSeconds:
		at = time.UnixMilli
	case *format.MicroSeconds:
		at = time.UnixMicro
	case *format.NanoSeconds:
		at = func(n int64) time.Time { return time.Unix(0, n) }
	default:
		return columnType{class: classOther, name: name}, nil
	}
	class := classWall
	if l.IsAdjustedToUTC {
		class = classInstant
	}
	return columnType{class: class, name: name}, func(v parquet.Value) cell {
		return cell{class: class, at: at(v.Int64()).UTC()}
	}
}
