package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// killedEnv is set in the process that a test here kills.
const killedEnv = "BOOST_TEST_KILLED"

// Whoever kills the program while it compiles leaves no compiler at work, and the next compilation removes what it had begun.
func TestKilledCompilation(t *testing.T) {
	if os.Getenv(killedEnv) != "" {
		_, err := Compile(t.Context(), nil)
		t.Fatal(err)
	}
	dir, calls := fakeCompiler(t, "sleep 6000 & echo $$ $! >>$PIDS; wait")
	t.Setenv("PIDS", filepath.Join(dir, "pids"))
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledCompilation$")
	cmd.Env = append(os.Environ(), killedEnv+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []string
	until(t, "compilers at work", func() bool {
		data, _ := os.ReadFile(filepath.Join(dir, "pids"))
		pids = strings.Fields(string(data))
		return strings.HasSuffix(string(data), "\n") && len(pids)%2 == 0
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "end of the compilers", func() bool {
		data, _ := os.ReadFile(filepath.Join(dir, "pids")) // one may have just begun
		return !slices.ContainsFunc(strings.Fields(string(data)), alive)
	})
	cache := filepath.Join(dir, "cache", "boost-tui", "emulated")
	if left, _ := filepath.Glob(filepath.Join(cache, making+"*")); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if err := os.WriteFile(filepath.Join(dir, "g++"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(t.Context(), nil); err == nil {
		t.Error("it was compiled")
	}
	if left, _ := filepath.Glob(filepath.Join(cache, making+"*")); len(left) != 0 {
		t.Errorf("left: %v; %s", left, calls)
	}
}

// Whoever kills the program while a library hangs ends the process that opens it.
func TestKilledWhileALibraryHangs(t *testing.T) {
	if path := os.Getenv(killedEnv); path != "" {
		t.Fatalf("%+v", Examine(t.Context(), Question{Library: path, Name: Name}))
	}
	path := library(t, `-DAT_ONCE=FILE *f = fopen(getenv("PIDS"), "w"); fprintf(f, "%d\n", getpid()); fclose(f); for (;;) pause()`)
	pids := filepath.Join(t.TempDir(), "pids")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileALibraryHangs$")
	cmd.Env = append(os.Environ(), killedEnv+"="+path, "PIDS="+pids)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid string
	until(t, "library that is opened", func() bool {
		data, _ := os.ReadFile(pids)
		var whole bool
		pid, whole = strings.CutSuffix(string(data), "\n")
		return whole
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "end of the process", func() bool { return !alive(pid) })
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("no %s", what)
		}
	}
}

// alive reports whether a process is there and not only waits to be reaped.
func alive(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
