package tool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAsk(t *testing.T) {
	const limit, patience = 1000, time.Second
	for name, c := range map[string]struct {
		body, out string
		want      error
	}{
		"answers":        {body: "printf a; printf b >&2", out: "ab"},
		"endless":        {body: "exec cat /dev/zero", want: ErrTooMuch},
		"endless errors": {body: "exec yes >&2", want: ErrTooMuch},
		"endless child":  {body: "cat /dev/zero & wait", want: ErrTooMuch},
		"hangs":          {body: "exec sleep 60", want: context.DeadlineExceeded},
		"hanging child":  {body: "sleep 60 & wait", want: context.DeadlineExceeded},
	} {
		begun := time.Now()
		out, err := Ask(t.Context(), patience, limit, script(t, c.body))
		if !errors.Is(err, c.want) || c.want == nil && (err != nil || out != c.out) || len(out) > limit {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
		if took := time.Since(begun); took > 10*patience {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

// A program that puts something right at the end may, one that does not end is killed, and what it started with it.
func TestRunGently(t *testing.T) {
	for name, c := range map[string]struct{ body, out string }{
		"puts right": {"trap 'printf bye; exit 0' TERM; printf hi; while :; do sleep 0.01; done", "hibye"},
		"stubborn":   {"trap '' TERM; printf hi; while :; do sleep 1; done", "hi"},
		"has child":  {"sleep 60 & printf hi; wait", "hi"},
	} {
		ctx, stop := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, script(t, c.body))
		out := &watched{Output: Output{Limit: 100}, first: stop}
		cmd.Stdout = out
		begun := time.Now()
		err := RunGently(cmd, 200*time.Millisecond)
		if err == nil && name != "puts right" || out.String() != c.out {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		stop()
	}
}

// watched says when something is written.
type watched struct {
	Output
	first func()
}

func (w *watched) Write(p []byte) (int, error) {
	w.first()
	return w.Output.Write(p)
}
