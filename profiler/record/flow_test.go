package record

import "testing"

func TestFlowOf(t *testing.T) {
	for group, want := range map[string]Flow{
		"tp":       {"tp", -1, -1},
		"tp.12":    {"tp", -1, -1},
		"pp 0>1":   {"pp", 0, 1},
		"pp.3 2>1": {"pp", 2, 1},
		"":         {"", -1, -1},
		".1":       {".1", -1, -1},
		"a b":      {"a b", -1, -1},
		"pp -1>2":  {"pp -1>2", -1, -1},
		"v1.x":     {"v1.x", -1, -1},
	} {
		if got := FlowOf(group); got != want || got.Transfer() != (want.From >= 0) {
			t.Errorf("%q: %+v, want %+v", group, got, want)
		}
	}
}
