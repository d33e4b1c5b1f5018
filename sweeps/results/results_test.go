package results

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestFirstLook(t *testing.T) {
	f := usual(t)
	f.finish()
	table := f.measure(nil)
	data, err := json.MarshalIndent(table, "", " ")
	ok(t, err)
	t.Logf("%s", data)
	for _, w := range []int{0, 120, 80, 40} {
		var b bytes.Buffer
		ok(t, table.Text(&b, w))
		t.Logf("\n%s", b.String())
	}
	var b bytes.Buffer
	ok(t, table.Markdown(&b))
	ok(t, table.CSV(&b))
	t.Logf("\n%s", b.String())
	h, err := table.Heat("tp", "rank", "vs_full")
	ok(t, err)
	t.Logf("%+v", h)
	if !strings.Contains(string(data), `"vs_full"`) {
		t.Error("no speed-ups")
	}
}
