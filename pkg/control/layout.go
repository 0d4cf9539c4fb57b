package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// LayoutVersion is the layout of what lies in NATS, keys, values and streams, that this program reads and writes. It is
// raised when an older program would misread what a newer one writes there, and not for what an older one may pass over.
const LayoutVersion = 1

// layoutKey is the entry in the metadata of the bucket's stream that holds the layout. Metadata and not a key: it is
// there before the first key is, is part of every backup of the stream, and is written by whoever may lay the bucket out,
// who need not be allowed to write keys. Programs of before it was there leave it alone.
const layoutKey = "daybreak.layout"

// ErrLayoutNewer is returned when the bucket was written by a newer program. Nothing was changed.
var ErrLayoutNewer = errors.New("NATS holds data of a newer version of this program")

// Layout reads which layout the bucket has, without changing anything: 0 when there is no bucket, 1 when it bears no
// stamp, as programs of before the stamp left it. A layout above [LayoutVersion] is returned with [ErrLayoutNewer].
func Layout(ctx context.Context, js jetstream.JetStream, bucket string) (version int, stamped bool, err error) {
	stream, err := js.Stream(ctx, "KV_"+bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("control bucket %s: reading its layout: %w", bucket, err)
	}
	text, stamped := stream.CachedInfo().Config.Metadata[layoutKey]
	if !stamped {
		return 1, false, nil
	}
	if version, err = strconv.Atoi(text); err != nil || version < 1 {
		return 0, true, fmt.Errorf("control bucket %s: its metadata says %s=%q, which is no layout: %w", bucket, layoutKey, text, ErrLayoutNewer)
	}
	if version > LayoutVersion {
		return version, true, fmt.Errorf("control bucket %s has layout %d, this program knows layout %d at most: use the program that "+
			"wrote it, or a newer one (daybreak version), or restore a backup of before the upgrade: %w", bucket, version, LayoutVersion, ErrLayoutNewer)
	}
	return version, true, nil
}

// Stamp writes the layout of this program to a bucket that bears none or an older one. It is harmless when repeated or
// done by several processes at once.
func Stamp(ctx context.Context, js jetstream.JetStream, bucket string) error {
	version, stamped, err := Layout(ctx, js, bucket)
	if err != nil || stamped && version == LayoutVersion {
		return err
	}
	stream, err := js.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return fmt.Errorf("control bucket %s: %w", bucket, err)
	}
	cfg := stream.CachedInfo().Config
	cfg.Metadata = maps.Clone(cfg.Metadata)
	if cfg.Metadata == nil {
		cfg.Metadata = map[string]string{}
	}
	cfg.Metadata[layoutKey] = strconv.Itoa(LayoutVersion)
	if _, err := js.UpdateStream(ctx, cfg); err != nil {
		return fmt.Errorf("control bucket %s: noting its layout: %w", bucket, err)
	}
	return nil
}
