//go:build !darwin && !linux

package chdb

import "errors"

var errPlatform = errors.New("libchdb is published for Linux and macOS only")

func open(string) (uintptr, error) { return 0, errPlatform }

func bind(any, uintptr, string) error { return errPlatform }
