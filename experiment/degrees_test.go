package experiment

import "testing"

func TestDegrees(t *testing.T) {
	for _, c := range []struct {
		p    Parallel
		want string
	}{
		{Parallel{TP: 1, DP: 1, PP: 1}, "tp 1"},
		{Parallel{TP: 2}, "tp 2"}, // of an old record
		{Parallel{TP: 2, DP: 4, PP: 1, Zero: 1}, "tp 2 dp 4 zero 1"},
		{Parallel{TP: 2, DP: 1, PP: 3, SP: true}, "tp 2 pp 3 sp"},
	} {
		if got := c.p.Degrees(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.p, got, c.want)
		}
	}
	p := Parallel{TP: 2, DP: 3, PP: 2}
	for rank, want := range [][2]int{{0, 0}, {0, 0}, {0, 1}, {0, 1}, {0, 2}, {0, 2}, {1, 0}, {1, 0}, {1, 1}, {1, 1}, {1, 2}, {1, 2}} {
		if s, r := p.Place(rank); s != want[0] || r != want[1] {
			t.Errorf("rank %d is of stage %d, replica %d; want %v", rank, s, r, want)
		}
	}
}
