package ssh

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// fakeSSH is a program in the place of ssh.
func fakeSSH(t *testing.T, body string) Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ssh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Config{Program: path}
}

// Login shells, scripts and an ssh that print without an end cost neither time nor memory.
func TestWhatPrintsWithoutAnEnd(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, c := range map[string]Config{
		"a line":       fakeSSH(t, "exec cat /dev/zero"),
		"lines":        fakeSSH(t, "exec yes"),
		"behind hello": fakeSSH(t, "echo '"+here+"'; exec cat /dev/zero"),
		"lines behind": fakeSSH(t, "echo '"+here+"'; exec yes"),
	} {
		begun := time.Now()
		l := &Link{Host: "h", config: c}
		_, err := l.Look(t.Context(), Question{})
		if e := new(Error); !errors.As(err, &e) || e.Kind != Failed {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if fakeSSH(t, "exec yes OpenSSH_6.0").IsOld(ctx) || ctx.Err() != nil {
		t.Error("an ssh that tells its version without an end")
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("it took %d bytes", grown)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReadLineIsBounded(t *testing.T) {
	if line, err := readLine(bufio.NewReaderSize(endless{}, preamble)); !errors.Is(err, errEndless) || len(line) > preamble {
		t.Errorf("%d bytes, %v", len(line), err)
	}
}
