package results

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// What was taken beside an emulated link says so wherever it is shown.
func TestEmulatedLinkIsMarked(t *testing.T) {
	const link = "bw=1GB/s"
	f := newFake(t, []string{"tp", "norm"}, "size", "tiny", "variant", "cola", "scheme", "btp", "steps", "60", "link", link)
	for _, p := range [][2]string{{"1", "online"}, {"1", "sync"}, {"2", "online"}, {"2", "sync"}} {
		f.run(f.point(p[0]+p[1], "tp", p[0], "norm", p[1]), dose{wall: 0.3, loss: 2})
	}
	table := f.measure(nil)
	for _, width := range []int{0, 40, 80} {
		if text := textOf(t, table, width); !strings.HasPrefix(strings.TrimSpace(text), "emulated link") || strings.Count(text, link) != 4 || !strings.Contains(strings.Join(strings.Fields(text), " "), "not this machine's") {
			t.Errorf("at %d:\n%s", width, text)
		}
	}
	var md, csv bytes.Buffer
	ok(t, table.Markdown(&md))
	ok(t, table.CSV(&csv))
	if strings.Count(md.String(), link) != 4 || !strings.Contains(md.String(), "emulated link:") {
		t.Errorf("%s", md.String())
	}
	if !strings.Contains(csv.String(), ",emulated_link,") || strings.Count(csv.String(), link) != 4 {
		t.Errorf("%s", csv.String())
	}
	for _, width := range []int{0, 40} {
		var text bytes.Buffer
		ok(t, table.Configurations().Text(&text, width))
		if strings.Count(text.String(), link) != 4 {
			t.Errorf("at %d:\n%s", width, text.String())
		}
	}
	csv.Reset()
	ok(t, table.Configurations().CSV(&csv))
	if !strings.Contains(csv.String(), ",emulated_link,") || strings.Count(csv.String(), link) != 4 {
		t.Errorf("%s", csv.String())
	}
	if data, err := json.Marshal(table.Configurations()); err != nil || strings.Count(string(data), `"emulated_link":"`+link) != 4 {
		t.Errorf("%v: %s", err, data)
	}
	_, rows := decoded(t, table)
	if rows[0]["emulated_link"] != link {
		t.Errorf("%v", rows[0])
	}
	h, err := table.Heat("tp", "norm", StepTime)
	ok(t, err)
	if notes := strings.Join(h.Notes(), "\n"); !h.Cells[0][0].Emulated || !strings.Contains(notes, "emulated link:") {
		t.Errorf("%+v: %s", h.Cells[0][0], notes)
	}
	if h, err = table.Heat("tp", "norm", PeakMemory); err != nil || h.Cells[0][0].Emulated {
		t.Errorf("memory is marked (%v)", err)
	}
}

func TestNothingIsMarkedWithoutALink(t *testing.T) {
	table := usual(t).measure(nil)
	var csv bytes.Buffer
	ok(t, table.CSV(&csv))
	if strings.Contains(textOf(t, table, 0), "emulated") || !strings.Contains(csv.String(), ",emulated_link,") {
		t.Error("something is marked, or the CSV file has no column")
	}
}
