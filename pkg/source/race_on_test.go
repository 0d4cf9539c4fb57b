//go:build race

package source_test

// streamedRows is less under the race detector, which makes every row ten times as dear.
const streamedRows = 200_000
