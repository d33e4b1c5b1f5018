package protocol

import (
	"encoding/json"
	"testing"
)

func TestPreflightRoundTrips(t *testing.T) {
	dir := t.TempDir()
	p := Preflight{Nodes: []Node{{Name: "n1"}, {Name: "n2"}}, Paths: []Path{{A: 0, B: 1, Links: []Link{{2, 1 << 20, 1e-3}}}},
		Checks: []Check{{What: "clock", Verdict: VerdictOK}, {What: "files", Node: "n2", Verdict: VerdictSlow}}}
	if err := WritePreflight(dir, p); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPreflight(dir)
	if err != nil || got.Verdict != VerdictSlow || len(got.Nodes) != 2 || got.Paths[0].Links[0].Bus() < 1e9 {
		t.Errorf("%v %+v", err, got)
	}
	for _, text := range []string{"", "{}", `{"schema":2}`, `{"schema":1,"paths":[{"a":0,"b":1}]}`, `{"schema":1,"nodes":[{}],"paths":[{"a":-1,"b":0}]}`, `[]`} {
		if _, err := ParsePreflight([]byte(text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

func FuzzParsePreflight(f *testing.F) {
	f.Add([]byte(`{"schema":1,"nodes":[{"name":"a"}],"paths":[{"a":0,"b":0}],"checks":[{"verdict":"ok"}]}`))
	f.Add([]byte(`{"schema":1,"all":[{"ranks":0,"bytes":-1,"s":-0.5}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePreflight(data)
		if err != nil {
			return
		}
		for _, l := range p.All {
			if l.Bus() < 0 && l.Bytes >= 0 {
				t.Fatalf("%+v: %v", l, l.Bus())
			}
		}
		if _, err := json.Marshal(p); err != nil {
			t.Fatal(err)
		}
	})
}
