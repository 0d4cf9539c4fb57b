// Command daybreak reconciles what a company recorded with what its payment channels billed, business day by business
// day. This package turns flags into a configuration and a configuration into running services; it is the only place
// that knows the environment, signals and exit codes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"daybreak/pkg/engine"
)

// Exit codes, see the README.
const (
	exitFine   = 0
	exitFailed = 1
	exitUsage  = 2 // the command line or the configuration is wrong; nothing was done
	exitFound  = 3 // what was asked not to be there is there
)

func main() {
	engine.RunChildIfAsked()
	os.Exit(run(os.Args[1:]))
}

// run executes one command line and returns its exit code. The first interrupt asks for an orderly end, the second is
// the operating system's own.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	// A reader that went away (daybreak diffs | head) is an error of the write and no sudden death: the engines are to be
	// closed in order. Notify and not Ignore, which the engine's child would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return runWith(ctx, &environment{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv}, args)
}

// runWith is run in a given environment.
func runWith(ctx context.Context, env *environment, args []string) int {
	ctx, env.abandon = context.WithCancelCause(ctx)
	defer env.abandon(nil)
	root := newRoot(env)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errOwnerGone) {
		err = errOwnerGone // what failed for it is no news
	}
	var coded *codedError
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, syscall.EPIPE):
		return exitFailed // whoever read has what it wanted
	case errors.As(err, &coded):
		if coded.err != nil {
			fmt.Fprintln(env.stderr, "daybreak:", coded.err)
		}
		return coded.code
	}
	fmt.Fprintln(env.stderr, "daybreak:", err)
	return exitFailed
}

// codedError ends the program with its code. Without an error, what is to be said was said.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *codedError) Unwrap() error { return e.err }

func usage(err error) error { return &codedError{exitUsage, err} }
func found() error          { return &codedError{code: exitFound} }
func failed() error         { return &codedError{code: exitFailed} }
