// Package house holds the rules of this code base that no compiler checks, as tests: which room may import which, where
// the clock, the environment and the end of the process may be touched, and that money is never a float.
//
// Files are parsed and not asked of the go command, whose answers are cached.
package house
