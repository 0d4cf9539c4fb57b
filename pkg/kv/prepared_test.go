package kv

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestPreparedMakesNoBucket(t *testing.T) {
	s := setup(t)
	o := Options{Bucket: "other", Prepared: true, Logger: quiet()}
	_, err := Open(t.Context(), js(s), o)
	require.ErrorIs(t, err, ErrNotLaidOut)
	there, err := Look(t.Context(), js(s), o)
	require.NoError(t, err)
	require.False(t, there)

	_, err = js(s).CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "other", History: 1})
	require.NoError(t, err)
	_, err = Open(t.Context(), js(s), o)
	require.ErrorIs(t, err, ErrNotLaidOut, "a bucket without TTLs cannot hold leases")

	again := open(t, js(s), func(o *Options) { o.Prepared = true })
	l, err := again.Acquire(t.Context(), "x", "me")
	require.NoError(t, err)
	require.NoError(t, l.Release(t.Context()))
}
