package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite golden files")

// result is what a command line gave.
type result struct {
	code        int
	stdout, err string
}

// try runs a command line in this process.
func try(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := execute(t.Context(), streams{in: strings.NewReader(""), out: &out, err: &errs}, args)
	return result{code, out.String(), errs.String()}
}

// oneJSON decodes exactly one JSON value.
func oneJSON(t *testing.T, text string, into any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(into); err != nil {
		t.Fatalf("stdout is no JSON: %v\n%s", err, text)
	}
	if dec.More() {
		t.Fatalf("stdout holds more than one JSON value:\n%s", text)
	}
}

func goldenFile(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test -update writes it", err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", path, got)
	}
}

func TestHelp(t *testing.T) {
	var all strings.Builder
	all.WriteString(try(t, "--help").stdout)
	var each func(c *cobra.Command, words []string)
	each = func(c *cobra.Command, words []string) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		words = append(slices.Clone(words), c.Name())
		r := try(t, append(words, "--help")...)
		if r.code != exitOK || r.err != "" {
			t.Errorf("%v --help: exit %d, %s", words, r.code, r.err)
		}
		all.WriteString("\n----\n" + r.stdout)
		for _, sub := range c.Commands() {
			each(sub, words)
		}
	}
	for _, c := range newRoot(&app{}).Commands() {
		each(c, nil)
	}
	goldenFile(t, "help.txt", all.String())
}

func TestWrongUsageExits2AndLeavesStdoutEmpty(t *testing.T) {
	for _, args := range []string{"", "nonsense", "--nonsense", "version extra", "completion", "completion tcsh", "version --runs"} {
		r := try(t, strings.Fields(args)...)
		if r.code != exitUsage || r.stdout != "" || r.err == "" {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, r.code, r.stdout, r.err)
		}
	}
}

func TestVersionJSON(t *testing.T) {
	var v version
	r := try(t, "version", "--json")
	oneJSON(t, r.stdout, &v)
	if v.Go == "" || v.Platform == "" || r.err != "" {
		t.Errorf("%+v, stderr %q", v, r.err)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := try(t, "completion", shell); r.code != exitOK || !strings.Contains(r.stdout, "boost-tui") {
			t.Errorf("%s: exit %d, %d bytes", shell, r.code, len(r.stdout))
		}
	}
}

func TestCodes(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	plain := os.ErrNotExist
	for _, c := range []struct {
		name    string
		ctx     context.Context
		err     error
		started bool
		want    int
	}{
		{"done", t.Context(), nil, true, exitOK},
		{"command line", t.Context(), plain, false, exitUsage},
		{"work", t.Context(), plain, true, exitFailed},
		{"input", t.Context(), usage(plain), true, exitUsage},
		{"check", t.Context(), silently(exitCheck, "x"), true, exitCheck},
		{"signal", cancelled, plain, true, exitInterrupted},
		{"signal while a check failed", cancelled, silently(exitCheck, "x"), true, exitCheck},
	} {
		if got := codeOf(c.ctx, c.err, c.started); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
