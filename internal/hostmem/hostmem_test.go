package hostmem

import "testing"

func TestRead(t *testing.T) {
	total, available := Read()
	if total < 1<<27 || available < 1 || available > total {
		t.Errorf("total %d, available %d", total, available)
	}
}

func TestLimits(t *testing.T) {
	for limit, want := range map[string]int64{"max\n": 100, "50\n": 50, "9223372036854771712": 100, "0": 100, "": 100} {
		if got := lower(100, limit); got != want {
			t.Errorf("limit %q: %d, want %d", limit, got, want)
		}
	}
	if lower(0, "7") != 7 {
		t.Error("an unknown memory takes the limit")
	}
	if n := entry("active_file 1\ninactive_file 42\n", "inactive_file"); n != 42 {
		t.Errorf("entry %d", n)
	}
}
