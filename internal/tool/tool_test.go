package tool

import (
	"context"
	"errors"
	"os"
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
