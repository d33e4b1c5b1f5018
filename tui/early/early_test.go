package early_test

import (
	"testing"

	"boost-tui/tui/early"
)

func TestDark(t *testing.T) {
	for value, want := range map[string]bool{"": true, "15;0": true, "0;15": false, "0;7": false, "12;8": true, "0;default;15": false, "x;y": true, "15": true} {
		if got := early.Dark(value); got != want {
			t.Errorf("Dark(%q) = %v", value, got)
		}
	}
}
