package main

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A signal ends every command that looks after nothing, also one that hangs where nothing looks at signals.
func TestSignalsEndACommandThatHangs(t *testing.T) {
	p := newProgram(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		for _, command := range []string{"plan", "run"} { // both read the file before they start anything
			cmd := p.command(command, "--config", "-")
			if _, err := cmd.StdinPipe(); err != nil { // nobody ever writes into it
				t.Fatal(err)
			}
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(200 * time.Millisecond) // it hangs by now; a signal before that ends it too
			took := p.endsBy(cmd, sig)
			if took > patience+5*time.Second || cmd.ProcessState.ExitCode() != exitInterrupted && !cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
				t.Errorf("%s: %s after %s: %v\n%s", command, sig, took, cmd.ProcessState, errs.String())
			}
		}
	}
}

// endsBy sends a signal and waits for the end, for a while.
func (p program) endsBy(cmd *exec.Cmd, sig os.Signal) time.Duration {
	p.t.Helper()
	begin := time.Now()
	if err := cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
	last := time.AfterFunc(15*time.Second, func() { _ = cmd.Process.Kill() })
	defer last.Stop()
	_ = cmd.Wait() // the state says it
	return time.Since(begin)
}
