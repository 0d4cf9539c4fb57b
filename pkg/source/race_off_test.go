//go:build !race

package source_test

const streamedRows = 1_000_000
