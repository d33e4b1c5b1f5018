package compare_test

import (
	"strings"
	"testing"

	"boost-tui/tui/msg"
	"boost-tui/tui/testkit"
)

// References are picked anew until somebody chooses; what was chosen is shown
// as such, and the same key on the same run, or 0, takes it back.
func TestTheTitleTellsWhoChoseTheReferences(t *testing.T) {
	for _, size := range testkit.Sizes() {
		old := three(t)[0]
		old.ID, old.Steps, old.Wall = "20261129-130001-tiny-full-full-rank-tp4-olds", 12, 0.1
		runs := append([]testkit.RunDir{old}, three(t)...)
		d, store := start(t, size[0], size[1], runs...)
		has(t, d.Text(), "B #abcd", "references picked")
		if strings.Contains(d.Text(), "#olds") {
			t.Fatalf("%v: an old run is a reference:\n%s", size, d.Text())
		}
		d.Send(msg.References{Baseline: store.Infos[0].ID})
		has(t, d.Text(), "B #olds", "baseline chosen")
		d.Press("home", "b") // the row under the cursor is the chosen one
		has(t, d.Text(), "references picked")
		d.Press("home", "b", "v")
		has(t, d.Text(), "references chosen")
		d.Press("0")
		has(t, d.Text(), "B #abcd", "references picked")
		if strings.Contains(d.Text(), "#olds") {
			t.Errorf("%v: 0 keeps the old reference:\n%s", size, d.Text())
		}
	}
}
