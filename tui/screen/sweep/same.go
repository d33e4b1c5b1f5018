package sweep

import (
	"slices"

	"boost-tui/sweeps/space"
)

// same reports whether two drafts ask for the same.
func same(a, b draft) bool {
	return sameSpace(a, b) && a.Options == b.Options
}

// sameSpace reports whether two drafts spell out to the same points.
func sameSpace(a, b draft) bool {
	x, y := a.spec(), b.spec()
	return x.Name == y.Name && x.Twins == y.Twins && max(1, x.Repeats) == max(1, y.Repeats) &&
		slices.Equal(x.Set, y.Set) && slices.Equal(x.Constraints, y.Constraints) && slices.EqualFunc(x.Axes, y.Axes, sameAxis)
}

func sameAxis(a, b space.Axis) bool {
	return a.When == b.When && slices.Equal(a.Keys, b.Keys) && slices.EqualFunc(a.Values, b.Values, slices.Equal[[]string])
}
