package filter_test

import (
	"strings"
	"testing"

	"boost-tui/tui/widget/filter"
)

// record is a run with few fields.
type record map[string]filter.Value

func (r record) Field(name string) (filter.Value, bool) { v, ok := r[name]; return v, ok }
func (r record) Words() string                          { return r["id"].Text + " nightly" }

var known = []string{"id", "scheme", "tp", "started", "loss"}

var sample = record{"id": filter.Text("0802-BTP-c3"), "scheme": filter.Text("btp"), "tp": filter.Number(4), "started": filter.Number(3 * 3600)}

func TestMatch(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, "btp": true, "NIGHT": true, "other": false, "-other": true, "-btp": false,
		"scheme:bt": true, "scheme=bt": false, "scheme=btp": true, "-scheme:van": true,
		"tp>=4": true, "tp>4": false, "tp<8": true, "tp<=3": false, "tp=4": true, "tp:4": true,
		"started<1d": true, "started>2h": true, "started>1d": false, "started<10m": false,
		"loss>0": false, "-loss>0": true, "btp tp>=4 -scheme:van": true, "btp tp>4": false, "-": true,
	} {
		q, err := filter.Parse(line, known)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if got := q.Match(sample); got != want {
			t.Errorf("%q matches: %v, want %v", line, got, want)
		}
	}
}

func TestErrorsNameWhatIsThere(t *testing.T) {
	for line, want := range map[string]string{"nope:1": "id scheme tp", "tp>x": "needs a number", "tp>": "needs a number", "tp>nan": "needs a number"} {
		q, err := filter.Parse(line+" btp", known)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
		if !q.Match(sample) {
			t.Errorf("%q: the rest of the line does not work", line)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"tp>=4 -tag:x", "a:b:c", "<>=", "-", ":", "started>1e999d", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		q, _ := filter.Parse(line, known)
		q.Match(sample)
	})
}
