package nvml

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stand is a folder with a library in the place of the driver's, made of a text in C.
func stand(t *testing.T, text string) {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to make a library with")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "stand.c")
	if err := os.WriteFile(source, []byte("#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", filepath.Join(dir, libraryName), source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("LD_LIBRARY_PATH", dir)
}

// A library that would take the program down is told of in a line.
func TestLibrariesThatTakeAProcessDown(t *testing.T) {
	const start = "__attribute__((constructor)) static void start(void) "
	for name, c := range map[string]struct{ text, want string }{
		"aborts": {start + "{ abort(); }", "takes a process down (exit status 2)"}, // which is how Go's runtime ends
		"exits":  {start + "{ exit(0); }", "takes a process down (it ends it)"},
		"prints": {start + `{ for (int i = 0; i < 100000; i++) puts("\033[2J"); _exit(7); }`, "takes a process down (exit status 7)"},
		"lacks a function": {"int nvmlInit_v2(void) { return 0; } int nvmlInit(void) { return 0; } int nvmlShutdown(void) { return 0; }",
			"takes a process down (exit status 127)"},
	} {
		t.Run(name, func(t *testing.T) {
			stand(t, c.text)
			if _, err := Open(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A library that hangs is waited for as long as the context lasts, and its process is gone then.
func TestLibraryThatHangs(t *testing.T) {
	stand(t, `int nvmlInit_v2(void) { char name[4096]; snprintf(name, sizeof name, "%s/started", getenv("LD_LIBRARY_PATH")); fclose(fopen(name, "w")); sleep(1000); return 0; }`)
	started := filepath.Join(os.Getenv("LD_LIBRARY_PATH"), "started")
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := Open(ctx)
		result <- err
	}()
	for {
		if _, err := os.Stat(started); err == nil {
			break
		}
		select {
		case err := <-result:
			t.Fatalf("it came back: %v", err)
		default:
		}
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "was not waited for") {
		t.Errorf("%v", err)
	}
}

// A library that says what is wrong is asked again by whoever opens it.
func TestLibraryThatRefuses(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc to make a library with")
	}
	stand(t, `int nvmlInit_v2(void) { return 18; } const char *nvmlErrorString(int code) { return code == 18 ? "another version" : ""; }`)
	if err := try(t.Context()); err != nil { // Open would keep the library in this process
		t.Errorf("%v", err)
	}
}
