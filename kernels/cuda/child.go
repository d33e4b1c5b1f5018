package cuda

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"boost-tui/internal/tool"
)

// childWord is the first argument of a process of this program that plays one role and nothing else.
const childWord = "cuda-child"

// Roles of a child: it opens libraries that may take a process down, or it holds a compiler and what that starts.
const (
	examineRole = "examine"
	holdRole    = "hold"
)

// Who is started as a child plays its role here, before anything else of the program begins. No command does it, so that every
// program that links this package can start a child of itself, a test's too.
func init() {
	if len(os.Args) < 4 || os.Args[1] != childWord {
		return
	}
	switch os.Args[2] {
	case examineRole:
		os.Exit(examined(os.Args[3:]))
	case holdRole:
		os.Exit(held(os.Args[3:]))
	}
}

// runChild runs this program as a child that plays a role.
func runChild(ctx context.Context, set func(*exec.Cmd), last syscall.Signal, role string, args ...string) error {
	return tool.Again(ctx, set, last, append([]string{childWord, role}, args...)...)
}

// held runs a program, in the child's group. A compiler is a program that starts others, which would go on when it is killed alone:
// at the signal that the parent is gone the whole group goes.
func held(args []string) int {
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGTERM)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case <-gone:
		if syscall.Getpgrp() == os.Getpid() { // not the group of somebody who typed this
			_ = syscall.Kill(0, syscall.SIGKILL)
		}
		return 1
	case err := <-over:
		if code := cmd.ProcessState.ExitCode(); code >= 0 {
			return code
		}
		fmt.Fprintln(os.Stderr, err) // a signal
		return 1
	}
}
