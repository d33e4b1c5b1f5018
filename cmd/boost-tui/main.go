// Command boost-tui is the whole program: the terminal UI, its headless twins, and the roles that it plays
// on the nodes of a job (agent, rank).
//
// The package parses and prints; everything it knows comes from the packages below it. Start reading at
// newRoot in root.go; each command has a file of its own.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second signal ends the program at once: whoever started a run notices that it is gone.
	context.AfterFunc(ctx, stop)
	// A reader of stdout that leaves is a failed write (see pipe), not the end of a program that may look after a run.
	// Caught, not ignored: what is ignored the processes of a run would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	code := execute(ctx, streams{in: os.Stdin, out: &pipe{File: os.Stdout}, err: os.Stderr, abandon: os.Exit}, os.Args[1:])
	stop()
	os.Exit(code)
}
