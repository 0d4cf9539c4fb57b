package source

import (
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// queryType says what a column of a ClickHouse type holds.
func queryType(name string) columnType {
	inner := name
	for _, wrapper := range []string{"LowCardinality(", "Nullable("} {
		if rest, ok := strings.CutPrefix(inner, wrapper); ok {
			inner = strings.TrimSuffix(rest, ")")
		}
	}
	base, args, _ := strings.Cut(strings.TrimSuffix(inner, ")"), "(")
	t := columnType{name: name}
	switch base {
	case "String", "FixedString", "UUID", "Enum8", "Enum16", "IPv4", "IPv6":
		t.class = classText
	case "Int8", "Int16", "Int32", "Int64", "Int128", "Int256", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128", "UInt256":
		t.class = classInteger
	case "Decimal", "Decimal32", "Decimal64", "Decimal128", "Decimal256":
		t.class = classDecimal
		digits := args[strings.LastIndexByte(args, ',')+1:]
		t.scale, _ = strconv.Atoi(strings.TrimSpace(digits))
	case "Float32", "Float64", "BFloat16":
		t.class = classFloat
	case "DateTime", "DateTime64":
		t.class = classInstant
	case "Date", "Date32":
		t.class = classDate
	case "Bool":
		t.class = classBool
	}
	return t
}

// queryCell turns a scanned value into a cell.
func queryCell(t columnType, v reflect.Value) (cell, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return cell{class: t.class, null: true}, nil
		}
		if _, isBig := reflect.TypeAssert[*big.Int](v); !isBig {
			v = v.Elem()
		}
	}
	c := cell{class: t.class}
	switch x := v.Interface().(type) {
	case string:
		c.text = x
		if strings.Contains(t.name, "FixedString(") {
			c.text = strings.TrimRight(x, "\x00")
		}
	case decimal.Decimal:
		c.num = x
	case time.Time:
		c.at = x.UTC()
		if t.class == classDate {
			y, m, d := x.Date()
			c.at = time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
		}
	case bool:
		return boolCell(x), nil
	case *big.Int:
		c.num = decimal.NewFromBigInt(x, 0)
	case big.Int:
		c.num = decimal.NewFromBigInt(&x, 0)
	case fmt.Stringer: // UUID, IPv4, IPv6
		c.text = x.String()
	default:
		switch {
		case v.CanInt():
			c.num = decimal.NewFromInt(v.Int())
		case v.CanUint():
			c.num = decimal.NewFromUint64(v.Uint())
		default:
			return c, fmt.Errorf("a value of type %s cannot be read", t.name)
		}
	}
	return c, nil
}
