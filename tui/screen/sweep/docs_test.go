package sweep_test

import (
	"io/fs"
	"strings"
	"testing"

	"boost-tui/docs"
	"boost-tui/tui/keys"
	"boost-tui/tui/screen/sweep"
)

// The page on the screens names every key of every pane.
func TestDocsNameEveryKey(t *testing.T) {
	page, err := fs.ReadFile(docs.FS, "screens.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(page), "\n## 4 Sweep")
	if !ok {
		t.Fatal("screens.md has no part on the Sweep screen")
	}
	part, _, _ = strings.Cut(part, "\n## ")
	for _, b := range sweep.New().AllKeys() {
		for _, k := range b.Keys {
			if k != "shift+tab" && k != "=" && !strings.Contains(part, "`"+k+"`") {
				t.Errorf("key %s (%s: %s) is not explained", k, b.Group, b.Help)
			}
		}
	}
}

// P12, P20: nothing that ends something hangs on a lower-case or control key.
func TestNoUnsafeKeys(t *testing.T) {
	if bad := keys.Unsafe(sweep.New().AllKeys()); len(bad) > 0 {
		t.Error(bad)
	}
}
