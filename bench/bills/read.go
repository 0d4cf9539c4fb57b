package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
	"daybreak/pkg/source/bill/formats"
)

// readOne reads a file in this process and reports on standard output.
func readOne(ctx context.Context, as, file string) error {
	began := time.Now()
	r := reading{}
	var err error
	switch as {
	case "peer":
		r.Rows, r.Total, err = readPeer(file)
	case "inspect":
		var seen source.Inspection
		seen, err = source.Inspect(ctx, file, source.InspectOptions{})
		if err == nil && len(seen.Problems) > 0 {
			r.Refused = seen.Problems[0].What
		}
		r.Rows = seen.Rows
	default:
		r.Rows, r.Total, err = readSource(ctx, as, file)
		if errors.Is(err, source.ErrInput) {
			r.Refused, err = err.Error(), nil
		}
	}
	if err != nil {
		return err
	}
	r.Took = time.Since(began)
	r.Peak, err = peakOfSelf()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// readSource pulls the file as a worker does, and drops the entries.
func readSource(ctx context.Context, as, file string) (uint64, string, error) {
	spec := source.Spec{Kind: source.KindBill, Bill: &source.Bill{Path: file, Format: formats.Auto}}
	if as == "csv" {
		column := source.ParseColumn
		spec = source.Spec{Kind: source.KindCSV, CSV: &source.CSV{Path: file}, Columns: source.Columns{
			Key: column("商户订单号"), ID: column("微信订单号"), Amount: column("amount"), Currency: column("货币种类"), Status: column("交易状态"),
			OccurredAt: column("交易时间"), Fee: column("手续费"),
			Attrs: map[string]source.Column{"refund_no": column("商户退款单号"), "trade_type": column("交易类型"), "bank": column("付款银行")},
		}}
	}
	src, err := source.Open(spec, source.Env{Root: filepath.Dir(file)})
	if err != nil {
		return 0, "", err
	}
	req := source.Request{Job: "bench", Side: model.Channel, Day: model.NewDay(2026, 10, 1), Zone: time.FixedZone("+08", 8*3600)}
	seal, err := src.Read(ctx, req, func(model.Entry) error { return nil })
	return seal.Totals.Count(), seal.Totals["CNY"].Amount.String(), err
}

// readPeer is what people write today: encoding/csv and one column of money.
func readPeer(file string) (rows uint64, total string, err error) {
	f, err := os.Open(file) //nolint:gosec // made by this program
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = f.Close() }()
	in := csv.NewReader(bufio.NewReaderSize(f, 1<<20))
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		return 0, "", err
	}
	at := slices.Index(header, "amount")
	sum := decimal.Decimal{}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, sum.String(), nil
		}
		if err != nil {
			return 0, "", err
		}
		d, err := decimal.NewFromString(record[at])
		if err != nil {
			return 0, "", err
		}
		sum = sum.Add(d)
		rows++
	}
}

// peakOfSelf is the most memory that this process has held, in bytes, as Linux says.
func peakOfSelf() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kib), "kB")), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("/proc/self/status does not tell VmHWM")
}
