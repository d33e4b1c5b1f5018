package sweep

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"boost-tui/experiment"
	"boost-tui/sweeps"
	"boost-tui/tui/layout"
)

// forms are the ways to call a point, the longest first. All leave out what
// every point has: it tells nothing apart.
const (
	formWhole  = iota // "btp rank 16 micro-batch 4"
	formShort         // "btp r16 mb4"
	formSorted        // "mb4 r16 btp": what has the most values comes first, for it will be cut
	forms
)

// names are the points of a sweep by their IDs, in every form.
type names [forms]map[string]string

// part is a piece of a label: a key with its value, or a word by itself.
type part struct{ key, value string }

// namesOf works the names out of labels.
func namesOf(points []*sweeps.PointState) *names {
	keys := map[string]bool{}
	for _, k := range experiment.Keys() {
		keys[k.Name] = true
	}
	parts := make([][]part, len(points))
	count, values := map[part]int{}, map[string]int{} // points that have a part; values of a key
	for i, p := range points {
		parts[i] = partsOf(p.Label, keys)
		for _, x := range parts[i] {
			if count[x]++; count[x] == 1 {
				values[x.key]++
			}
		}
	}
	var out names
	for f := range out {
		out[f] = make(map[string]string, len(points))
	}
	order := apartKeys(parts, count, values)
	short := abbreviations(order)
	for i, p := range points {
		own := slices.DeleteFunc(parts[i], func(x part) bool {
			return count[x] == len(points) || x.key != "" && !slices.Contains(order, x.key)
		})
		if len(own) == 0 {
			own = partsOf(p.Label, keys)
		}
		out[formWhole][p.ID] = joined(own, nil)
		if p.Twin {
			out[formWhole][p.ID] += " (twin)"
		}
		out[formShort][p.ID] = joined(own, short)
		slices.SortStableFunc(own, func(a, b part) int { return cmp.Compare(values[b.key], values[a.key]) })
		out[formSorted][p.ID] = joined(own, short)
	}
	return &out
}

// apartKeys are the keys that tell points apart, in the order of the labels: not
// one whose only value all points have, or those with a name of its own without.
func apartKeys(parts [][]part, count map[part]int, values map[string]int) []string {
	var order []string
	for _, list := range parts {
		for _, x := range list {
			if x.key != "" && count[x] < len(parts) && !slices.Contains(order, x.key) {
				order = append(order, x.key)
			}
		}
	}
	for _, key := range slices.Clone(order) {
		if rest := slices.DeleteFunc(slices.Clone(order), func(k string) bool { return k == key }); values[key] == 1 && unique(parts, rest) {
			order = rest
		}
	}
	return order
}

// unique reports whether points with different labels have different words and
// values of keys.
func unique(parts [][]part, keys []string) bool {
	whole := make(map[string]string, len(parts))
	var b, all strings.Builder
	for _, list := range parts {
		b.Reset()
		all.Reset()
		for _, x := range list {
			all.WriteString(x.key + "\x00" + x.value + "\x00")
			if x.key == "" || slices.Contains(keys, x.key) {
				b.WriteString(x.key + "\x00" + x.value + "\x00")
			}
		}
		if other, there := whole[b.String()]; there && other != all.String() {
			return false
		}
		whole[b.String()] = all.String()
	}
	return true
}

// partsOf takes a label apart: the keys in it stand before their values.
func partsOf(label string, keys map[string]bool) []part {
	words := strings.Fields(layout.Clean(label))
	var out []part
	for i := 0; i < len(words); i++ {
		if keys[words[i]] && i+1 < len(words) {
			out = append(out, part{words[i], words[i+1]})
			i++
			continue
		}
		out = append(out, part{"", words[i]})
	}
	return out
}

// joined writes parts, with the abbreviations of their keys where there are some.
func joined(parts []part, short map[string]string) string {
	words := make([]string, len(parts))
	for i, x := range parts {
		switch key := short[x.key]; {
		case x.key == "":
			words[i] = x.value
		case key == "":
			words[i] = x.key + " " + x.value
		case unicode.IsDigit(rune(x.value[0])) || x.value[0] == '-':
			words[i] = key + x.value
		default:
			words[i] = key + "=" + x.value
		}
	}
	return strings.Join(words, " ")
}

// abbreviations are as short as can be told apart: the first letters of the
// words of a key, or the beginning of its only word; one of two letters stays.
func abbreviations(keys []string) map[string]string {
	out := make(map[string]string, len(keys))
	taken := map[string]bool{}
	for _, k := range keys {
		if len(k) <= 2 {
			out[k], taken[k] = k, true
		}
	}
	for _, k := range keys {
		if out[k] != "" {
			continue
		}
		var tries []string
		if words := strings.Split(k, "-"); len(words) > 1 {
			first := ""
			for _, w := range words {
				first += w[:min(1, len(w))]
			}
			tries = append(tries, first)
		}
		for n := range len(k) {
			tries = append(tries, k[:n+1])
		}
		at := max(0, slices.IndexFunc(tries, func(s string) bool { return !taken[s] }))
		out[k], taken[tries[at]] = tries[at], true
	}
	return out
}

// widest is the width of the widest of some points' names.
func (n *names) widest(form int, points []*sweeps.PointState) int {
	w := 0
	for _, p := range points {
		w = max(w, layout.Width(n[form][p.ID]))
	}
	return w
}

// fitting is the first form whose names of points have at most w cells, else the
// last.
func (n *names) fitting(points []*sweeps.PointState, w int) int {
	for form := range forms - 1 {
		if n.widest(form, points) <= w {
			return form
		}
	}
	return forms - 1
}
