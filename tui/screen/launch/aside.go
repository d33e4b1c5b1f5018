package launch

import (
	"maps"
	"slices"
	"strings"

	"boost-tui/experiment"
)

// shapeKeys are the keys whose defaults follow from the size: one that was set for a size says nothing of another.
var shapeKeys = []string{"d", "layers", "heads", "ff", "vocab", "rank", "rank-attn", "rank-mlp"}

// aside is what the draft has left out and gives back as soon as it fits again: nothing that a user typed is lost by
// looking at other sizes and variants. Its map is replaced and never written to, for drafts are copied.
type aside struct {
	shapes map[string]map[string]string // by size, the shape keys that were set for it
	scheme experiment.Scheme            // set for a variant that was left; "" none
	places map[string]map[string]string // by place, the keys that were set for it
}

// otherSize exchanges the shape that was set for one size by that of another, and says so in a line; "" when neither had one.
func (a *aside) otherSize(e *experiment.Experiment, from string) string {
	to := e.Model.Size
	if from == to {
		return ""
	}
	left := map[string]string{}
	for _, key := range shapeKeys {
		if v := e.Get(key); v != "" {
			left[key] = v
		}
		mustSet(e, key, "auto")
	}
	shapes := maps.Clone(a.shapes)
	if shapes == nil {
		shapes = map[string]map[string]string{}
	}
	shapes[from] = left
	a.shapes = shapes
	var notes []string
	if len(left) > 0 {
		notes = append(notes, flags(left)+" left out: set for "+from)
	}
	if back := shapes[to]; len(back) > 0 {
		for key, v := range back {
			mustSet(e, key, v)
		}
		notes = append(notes, flags(back)+" taken back: set for "+to)
	}
	return strings.Join(notes, "; ")
}

// otherVariant leaves out a scheme that the variant does not have, and takes it back with one that has it.
func (a *aside) otherVariant(e *experiment.Experiment) string {
	scheme := &e.Parallel.Scheme
	switch {
	case *scheme != "" && !fits(e.Model.Variant, *scheme):
		a.scheme, *scheme = *scheme, ""
		return "--scheme " + string(a.scheme) + " left out: not one of " + string(e.Model.Variant)
	case *scheme == "" && a.scheme != "" && fits(e.Model.Variant, a.scheme):
		*scheme, a.scheme = a.scheme, ""
		return "--scheme " + string(*scheme) + " taken back"
	}
	return ""
}

// mustSet sets a shape key to a value that it had, or to none: neither can be refused.
func mustSet(e *experiment.Experiment, key, value string) {
	if err := e.Set(key, value); err != nil {
		panic(err)
	}
}

// flags are the values as on a command line, in the order of the keys.
func flags(values map[string]string) string {
	var out []string
	for _, key := range slices.DeleteFunc(slices.Clone(shapeKeys), func(key string) bool { return values[key] == "" }) {
		out = append(out, "--"+key+" "+values[key])
	}
	return strings.Join(out, " ")
}
