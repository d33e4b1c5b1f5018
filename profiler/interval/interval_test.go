package interval

import (
	"slices"
	"testing"
)

func TestUnion(t *testing.T) {
	for name, c := range map[string]struct{ in, want []Interval }{
		"nothing":  {nil, nil},
		"touching": {[]Interval{{0, 5}, {5, 9}}, []Interval{{0, 9}}},
		"nested":   {[]Interval{{0, 9}, {2, 3}, {4, 12}}, []Interval{{0, 12}}},
		"unsorted": {[]Interval{{7, 8}, {0, 1}, {3, 4}}, []Interval{{0, 1}, {3, 4}, {7, 8}}},
		"empty":    {[]Interval{{3, 3}, {5, 4}, {6, 7}}, []Interval{{6, 7}}},
	} {
		got := Union(slices.Clone(c.in))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestLengthAndOverlap(t *testing.T) {
	a, b := []Interval{{0, 10}, {20, 30}, {40, 41}}, []Interval{{5, 25}, {29, 40}}
	if Length(a) != 21 || Length(b) != 31 {
		t.Errorf("lengths %d, %d", Length(a), Length(b))
	}
	if got := Overlap(a, b); got != 11 || Overlap(b, a) != got {
		t.Errorf("overlap %d, %d the other way", got, Overlap(b, a))
	}
	if Overlap(a, nil) != 0 || Overlap(nil, a) != 0 {
		t.Error("overlap with nothing")
	}
	if part, ok := (Interval{3, 9}).Clip(Interval{9, 12}); ok {
		t.Errorf("clipped to %v", part)
	}
}
