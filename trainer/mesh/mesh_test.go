package mesh

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestOrderIsTPThenDPThenPP(t *testing.T) {
	m := Mesh{TP: 2, DP: 3, PP: 2}
	for _, c := range []struct {
		rank int
		want Coordinate
	}{
		{0, Coordinate{}}, {1, Coordinate{TP: 1}}, {2, Coordinate{DP: 1}}, {5, Coordinate{TP: 1, DP: 2}},
		{6, Coordinate{PP: 1}}, {11, Coordinate{TP: 1, DP: 2, PP: 1}},
	} {
		got, err := m.Coordinate(c.rank)
		if err != nil || got != c.want {
			t.Errorf("rank %d is at %v (%v), want %v", c.rank, got, err, c.want)
		}
	}
	if g, _ := m.Group(TP, 9); !slices.Equal(g, []int{8, 9}) {
		t.Errorf("tp group of 9: %v", g)
	}
	if g, _ := m.Group(DP, 3); !slices.Equal(g, []int{1, 3, 5}) {
		t.Errorf("dp group of 3: %v", g)
	}
	if g, _ := m.Group(PP, 3); !slices.Equal(g, []int{3, 9}) {
		t.Errorf("pp group of 3: %v", g)
	}
	if g, _ := m.ModelGroup(3); !slices.Equal(g, []int{2, 3, 8, 9}) {
		t.Errorf("model group of 3: %v", g)
	}
}

func TestProperties(t *testing.T) {
	for tp := 1; tp <= 4; tp++ {
		for pp := 1; pp <= 3; pp++ {
			for dp := 1; dp <= 4; dp++ {
				checkMesh(t, Mesh{TP: tp, PP: pp, DP: dp})
			}
		}
	}
}

func checkMesh(t *testing.T, m Mesh) {
	t.Helper()
	if err := m.Validate(); err != nil {
		t.Fatalf("%+v: %v", m, err)
	}
	for rank := range m.World() {
		c, err := m.Coordinate(rank)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := m.Rank(c); err != nil || back != rank {
			t.Fatalf("%+v: rank %d -> %v -> %d (%v)", m, rank, c, back, err)
		}
	}
	for _, a := range []Axis{TP, DP, PP} {
		seen := map[int]int{}
		for _, g := range m.Groups(a) {
			if len(g) != m.Size(a) || !slices.IsSorted(g) {
				t.Fatalf("%+v: %s group %v", m, a, g)
			}
			for i, r := range g {
				seen[r]++
				c, _ := m.Coordinate(r)
				if at := c.Along(a); at != i {
					t.Fatalf("%+v: %s group %v: rank %d has coordinate %d", m, a, g, r, at)
				}
				if own, _ := m.Group(a, r); !slices.Equal(own, g) {
					t.Fatalf("%+v: members of %v disagree: %v", m, g, own)
				}
			}
		}
		if len(seen) != m.World() {
			t.Fatalf("%+v: %s groups cover %d of %d ranks", m, a, len(seen), m.World())
		}
		for r, n := range seen {
			if n != 1 {
				t.Fatalf("%+v: rank %d is in %d %s groups", m, r, n, a)
			}
		}
	}
}

func TestGroupNames(t *testing.T) {
	for _, m := range []Mesh{One, {TP: 4, PP: 1, DP: 1}, {TP: 2, PP: 3, DP: 2}, {TP: 1, PP: 2, DP: 3}} {
		for _, a := range []Axis{TP, DP, PP} {
			for i, g := range m.Groups(a) {
				want := a.String()
				if len(m.Groups(a)) > 1 {
					want = fmt.Sprintf("%s.%d", a, i)
				}
				for _, r := range g {
					if got, err := m.GroupName(a, r); err != nil || got != want {
						t.Errorf("%+v: the %s group of rank %d is %q, want %q (%v)", m, a, r, got, want, err)
					}
				}
			}
		}
	}
	if _, err := One.GroupName(TP, 1); err == nil {
		t.Error("a rank outside has a group")
	}
}

func TestValidate(t *testing.T) {
	err := Mesh{TP: 0, PP: -1, DP: 2}.Validate()
	if err == nil || !strings.Contains(err.Error(), "tp is 0") || !strings.Contains(err.Error(), "pp is -1") {
		t.Errorf("every bad dimension is named: %v", err)
	}
	if err := (Mesh{TP: math.MaxInt32, PP: 2, DP: 1}).Validate(); err == nil {
		t.Error("an overflowing world is refused")
	}
	for _, bad := range []int{-1, 4} {
		if _, err := (Mesh{TP: 2, PP: 1, DP: 2}).Group(TP, bad); err == nil {
			t.Errorf("rank %d has no group", bad)
		}
	}
	if _, err := One.Rank(Coordinate{TP: 1}); err == nil {
		t.Error("a coordinate outside is refused")
	}
}
