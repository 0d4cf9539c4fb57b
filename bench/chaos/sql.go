package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// sql asks the engine, on a way without faults. Numbers come as text, exact.
func (w *world) sql(ctx context.Context, query string) ([]object, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	const settings = "/?default_format=JSONEachRow&output_format_json_quote_64bit_integers=1&output_format_json_quote_decimals=1&wait_end_of_query=1"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.people.url()+settings, bytes.NewReader([]byte(query)))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		return nil, fmt.Errorf("the engine says %s: %s", resp.Status, text)
	}
	out := []object{}
	dec := json.NewDecoder(resp.Body)
	dec.UseNumber()
	for {
		var o object
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
}
