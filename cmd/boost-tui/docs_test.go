package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"boost-tui/docs"
	"boost-tui/experiment"
	"boost-tui/tui/screen"
	"boost-tui/tui/screen/compare"
	"boost-tui/tui/screen/launch"
	"boost-tui/tui/screen/live"
	"boost-tui/tui/screen/runs"
)

// The pages name keys, shapes and commands for people; these tests keep them true.

func page(t *testing.T, name string) string {
	t.Helper()
	data, err := fs.ReadFile(docs.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDocsNameEveryKeyAndPreset(t *testing.T) {
	text := page(t, "experiment.md")
	for _, k := range experiment.Keys() {
		if k.Section != "" && !strings.Contains(text, "`"+k.Name+"`") {
			t.Errorf("experiment.md does not explain the key %s", k.Name)
		}
	}
	for _, p := range experiment.Presets() {
		row := fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |", p.Name, p.D, p.Layers, p.Heads, p.FF, p.Vocab, p.Rank)
		if !strings.Contains(text, row) {
			t.Errorf("experiment.md has no row %q", row)
		}
	}
}

// links gives the targets of the links in a page, pictures of screens left out.
func links(text string) []string {
	var out []string
	for i, block := range strings.Split(text, "```") {
		if i%2 == 1 {
			continue
		}
		for _, part := range strings.Split(block, "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			target, _, _ = strings.Cut(target, "#")
			if target != "" && !strings.Contains(target, "://") {
				out = append(out, target)
			}
		}
	}
	return out
}

// A link between pages, or from the README, leads somewhere.
func TestDocsLinks(t *testing.T) {
	pages, err := fs.Glob(docs.FS, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pages {
		for _, target := range links(page(t, name)) {
			if _, err := os.Stat("../../docs/" + target); err != nil {
				t.Errorf("%s links to %s: %v", name, target, err)
			}
		}
	}
}

// Every page is linked from the README, and the README's links lead somewhere.
func TestReadmeLinks(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := fs.Glob(docs.FS, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pages {
		if !strings.Contains(string(data), "(docs/"+name+")") {
			t.Errorf("README.md does not link docs/%s", name)
		}
	}
	for _, target := range links(string(data)) {
		if _, err := os.Stat("../../" + target); err != nil {
			t.Errorf("README.md links to %s: %v", target, err)
		}
	}
}

// The pages are what a run without data trains on, so they must be enough of it.
func TestDocsAreEnoughToTrainOn(t *testing.T) {
	pages, err := fs.Glob(docs.FS, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, name := range pages {
		total += len(page(t, name))
	}
	const enough = 60_000
	if total < enough {
		t.Errorf("%d bytes in %d pages, want %d", total, len(pages), enough)
	}
}

// The page on the screens names every key that a screen binds.
func TestDocsNameEveryKeyOfTheScreens(t *testing.T) {
	parts := strings.Split(page(t, "screens.md"), "\n## ")
	for title, s := range map[string]screen.Screen{"1 Launch": launch.New(), "2 Live": live.New(), "3 Compare": compare.New(), "5 Runs": runs.New()} {
		i := slices.IndexFunc(parts, func(p string) bool { return strings.HasPrefix(p, title) })
		if i < 0 {
			t.Errorf("no part %q", title)
			continue
		}
		for _, b := range s.Keys() {
			for _, k := range b.Keys {
				if k != "shift+tab" && k != "=" && !strings.Contains(parts[i], "`"+k+"`") {
					t.Errorf("%s: key %s (%s%s) is not explained", title, k, b.Hint, b.Help)
				}
			}
		}
	}
}

// The page on sweeps names every command, and every flag that is not a key of an experiment.
func TestDocsNameEveryCommandOfSweeps(t *testing.T) {
	text := page(t, "sweeps.md")
	sweep := newSweep(&app{})
	flags := func(c *cobra.Command) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if _, key := experiment.KeyOf(f.Name); !key && f.Name != "help" && !strings.Contains(text, "--"+f.Name) && !strings.Contains(text, "`"+f.Name+"`") {
				t.Errorf("%s --%s is not explained", c.Name(), f.Name)
			}
		})
	}
	flags(sweep)
	for _, c := range sweep.Commands() {
		if !strings.Contains(text, "`sweep "+c.Name()) {
			t.Errorf("sweep %s is not explained", c.Name())
		}
		flags(c)
	}
}
