// Package scenario writes made-up books with known faults: the demonstration, the acceptance tests and the benchmarks
// run on them. Everything follows from a seed, so a book that showed a fault can be written again.
//
// A book has jobs of different temper. Each lists what was planted, in the words of the diffs that must come out, and
// what was planted that must not: a late counterpart inside the carry window, a difference within the tolerance, a
// status that reads otherwise on the two sides but means the same, a payment captured in two parts.
//
// The expectations are written down while the rows are, not computed from them: the package knows nothing of how
// Daybreak compares.
package scenario
