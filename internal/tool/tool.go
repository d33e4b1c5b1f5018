// Package tool asks programs of this machine. Whatever a program does, asking it takes no more time and memory than its answer may.
package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// waitDelay is how long what a program has started may hold its output open when it has ended.
const waitDelay = time.Second

// ErrTooMuch says that a program printed more than an answer has.
var ErrTooMuch = errors.New("it prints without an end")

// Output keeps the first Limit bytes that are written to it.
type Output struct {
	Limit int    // bytes
	Full  func() // called with the first byte beyond them; nil: nothing is
	Over  bool   // there were more

	buf bytes.Buffer
}

// Write never fails: who writes may go on, or is ended by Full.
func (o *Output) Write(p []byte) (int, error) {
	n := min(len(p), o.Limit-o.buf.Len())
	o.buf.Write(p[:n])
	if n < len(p) && !o.Over {
		if o.Over = true; o.Full != nil {
			o.Full()
		}
	}
	return len(p), nil
}

func (o *Output) String() string { return o.buf.String() }

// Own puts a program into a group of its own, so that what it starts is killed with it when its context ends, and a key
// pressed at a terminal is not its business.
func Own(cmd *exec.Cmd) {
	cmd.WaitDelay = waitDelay
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// Ask runs a program and gives what it prints, stderr too. One that takes longer than patience, or prints more than limit bytes, is
// killed, and the error says which: ErrTooMuch, or context.DeadlineExceeded.
func Ask(ctx context.Context, patience time.Duration, limit int, path string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	out := &Output{Limit: limit, Full: stop}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = out, out // one writer: its writes do not meet
	Own(cmd)
	err := cmd.Run()
	switch {
	case out.Over:
		err = fmt.Errorf("%s: %w", path, ErrTooMuch)
	case ctx.Err() != nil:
		err = fmt.Errorf("%s: no answer within %v: %w", path, patience, ctx.Err())
	case err != nil:
		err = fmt.Errorf("%s: %w", path, err)
	}
	return out.String(), err
}

// RunGently runs a program that has something to put right before it ends: when its context does, it is asked to, and killed when it
// has not after so long. Nothing that it has started in its group is left. When this process is killed, so is the program.
func RunGently(cmd *exec.Cmd, patience time.Duration) error {
	Own(cmd)
	cmd.WaitDelay = patience
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return runBound(cmd, syscall.SIGKILL)
}

// Again runs this program again, for a role that an init function plays who finds it in the arguments. Whoever ends this process by
// force ends the child, too: it gets the signal last then. When ctx ends it is killed, and at its own end whatever it has started in its
// group and left.
func Again(ctx context.Context, set func(*exec.Cmd), last syscall.Signal, args ...string) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Args[0] = "boost-tui"
	set(cmd)
	Own(cmd)
	return runBound(cmd, last)
}

// runBound runs a program that Own has put into a group: it gets the signal last when this process ends by force, and what is left of
// its group is killed when it has ended.
func runBound(cmd *exec.Cmd, last syscall.Signal) error {
	cmd.SysProcAttr.Pdeathsig = last
	// The signal comes when the thread ends that started the program, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error says that there is nobody
	}
	return err
}
