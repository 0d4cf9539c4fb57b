package kv

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	leasePrefix = "lease."
	fencePrefix = "fence."

	// keyMax keeps subjects, which also travel in headers, far below the limits
	// of the server.
	keyMax = 512
)

var keyPattern = regexp.MustCompile(`^[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*$`)

// validKey reports whether key is one or more non-empty tokens joined by dots,
// without wildcards.
func validKey(key string) error {
	if len(key) > keyMax {
		return fmt.Errorf("%w: %d bytes long, at most %d are allowed", ErrInvalidKey, len(key), keyMax)
	}
	if !keyPattern.MatchString(key) {
		return fmt.Errorf("%w: %q (tokens of letters, digits, - / _ = joined by dots)", ErrInvalidKey, key)
	}
	return nil
}

// writableKey is validKey for keys of callers: leases and fences are written by
// this package only.
func writableKey(key string) error {
	if strings.HasPrefix(key, leasePrefix) || strings.HasPrefix(key, fencePrefix) {
		return fmt.Errorf("%w: %q is reserved", ErrInvalidKey, key)
	}
	return validKey(key)
}

// searchKey turns a prefix into the filter of everything under it.
func searchKey(prefix string) (string, error) {
	if prefix == "" {
		return ">", nil
	}
	if err := validKey(prefix); err != nil {
		return "", err
	}
	return prefix + ".>", nil
}
