package filter_test

import (
	"strings"
	"testing"
	"unicode"

	"boost-tui/internal/filter"
)

// record is a run with few fields.
type record map[string]filter.Value

func (r record) Field(name string) (filter.Value, bool) { v, ok := r[name]; return v, ok }
func (r record) Words() string                          { return r["id"].Text + " nightly" }

var fields = filter.Fields{Names: []string{"id", "scheme", "tp", "started", "loss", "label", "rank", "memory", "step"},
	More: func(name string) bool { return name == "rare" }}

var sample = record{"id": filter.Text("0802-BTP-c3"), "scheme": filter.Text("btp"), "tp": filter.Number(4), "started": filter.Number(3 * 3600),
	"label": filter.Text("btp tp 4 rank 32"), "rank": {}, "memory": filter.Number(3 << 29), "step": filter.Number(0.0227), "rare": filter.Text("yes")}

func TestMatch(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, "btp": true, "NIGHT": true, "other": false, "-other": true, "-btp": false,
		"scheme:bt": true, "scheme=bt": false, "scheme=btp": true, "SCHEME==BTP": true, "-scheme:van": true,
		"scheme!=van": true, "scheme!=btp": false, "-scheme!=btp": true,
		"tp>=4": true, "tp>4": false, "tp<8": true, "tp<=3": false, "tp=4": true, "tp:4": true, "tp!=4": false, "tp!=4.0": false, "tp!=2": true, "tp=4.0": true,
		"started<1d": true, "started>2h": true, "started>1d": false, "started<10m": false, "started=3h": true,
		"memory=1.5GiB": true, "memory>1536mib": false, "memory<2000000kib": true, "step<23ms": true, "step>22600us": true, "step<22ms": false,
		"loss>0": false, "-loss>0": true, "loss!=1": true, "loss=1": false, "rank!=32": true, "rank<64": false, "rank=": true, "rank!=": false,
		"btp tp>=4 -scheme:van": true, "btp tp>4": false, "-": true, "!": false, "rare=yes": true, "rare!=yes": false,
		`label:"tp 4"`: true, `label:"tp 2"`: false, `label="btp tp 4 rank 32"`: true, `-"tp 4"`: true, `label:"tp 4`: true, `""`: true, `"b"tp`: true,
		"tp >= 4": true, "tp > 4 btp": false, "btp tp < 5": true, "-tp = 4": false, "scheme != van": true, "scheme : btp": false, ": btp": false, ":": false,
	} {
		q, err := filter.Parse(line, fields)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if got := q.Match(sample); got != want {
			t.Errorf("%q matches: %v, want %v", line, got, want)
		}
		if q.Empty() != (strings.Trim(line, `"`) == "") {
			t.Errorf("%q is empty: %v", line, q.Empty())
		}
	}
}

// A field may have a unit of its own, in which numbers are that stand alone; whoever names a unit means that one.
func TestUnitOfAField(t *testing.T) {
	inMillis := fields
	inMillis.Unit = func(name string) float64 {
		if name == "step" {
			return 1e-3
		}
		return 1
	}
	for line, want := range map[string]bool{"step<23": true, "step<22": false, "step<23ms": true, "step<1s": true, "step=22.7": true, "tp>=4": true, "tp<1": false} {
		if q, err := filter.Parse(line, inMillis); err != nil || q.Match(sample) != want {
			t.Errorf("%q: %v, want %v", line, err, want)
		}
	}
}

func TestErrorsNameWhatIsThere(t *testing.T) {
	for line, want := range map[string]string{"nope:1": "id scheme tp", "nope!=1": `"nope"`, "tp>x": "needs a number", "tp>": "needs a number", "tp>nan": "needs a number", "tp<ms": "needs a number", ">=4": "no field stands before", "=": "tp=2", "-!=4": "no field"} {
		q, err := filter.Parse(line+" btp", fields)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
		if !q.Match(sample) {
			t.Errorf("%q: the rest of the line does not work", line)
		}
	}
}

// A term and the term with a "-" before it never agree.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"tp>=4 -tag:x", "a:b:c", "<>=", "-", ":", "started>1e999d", "\x00", `label:"a b" "`, "tp!=4", "!=x", "step<1ms"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		q, _ := filter.Parse(line, fields)
		got := q.Match(sample)
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || r == '"' }) || strings.HasPrefix(line, "-") || q.Empty() {
			return
		}
		if not, err := filter.Parse("-"+line, fields); err == nil && not.Match(sample) == got {
			t.Errorf("%q and its opposite are both %v", line, got)
		}
	})
}
