package space

import (
	"context"
	"slices"
	"strings"

	"boost-tui/experiment"
)

// label names every point and everything that was pruned by the values that tell it from others.
func (b *builder) label(ctx context.Context) error {
	n := namer{base: b.p.base, keys: map[string]experiment.Key{}}
	for _, name := range b.x.Keys {
		n.keys[name], _ = experiment.KeyOf(name)
	}
	points, err := n.names(ctx, len(b.x.Points), func(i int) []Assign { return b.x.Points[i].Set }, b.mine)
	if err != nil {
		return err
	}
	pruned, err := n.names(ctx, len(b.x.Pruned), func(i int) []Assign { return b.x.Pruned[i].Set }, b.prunedMine)
	if err != nil {
		return err
	}
	for i := range points {
		b.x.Points[i].Label = n.label(points[i])
	}
	for i := range pruned {
		b.x.Pruned[i].Point = n.label(pruned[i])
		if pruned[i].twin {
			b.x.Pruned[i].Point += " (twin)"
		}
	}
	return nil
}

// namer makes labels.
type namer struct {
	base     experiment.Experiment
	keys     map[string]experiment.Key
	variants []experiment.Variant // of low-rank points
	schemes  []experiment.Scheme
}

// name is what a label is made of.
type name struct {
	variant experiment.Variant
	scheme  experiment.Scheme
	tail    string // the other values
	twin    bool
}

// names looks at n sets of values, of which the first mine[i] are told.
func (n *namer) names(ctx context.Context, count int, set func(int) []Assign, mine []int) ([]name, error) {
	out := make([]name, count)
	for i := range out {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e, err := Point{Set: set(i)}.Experiment(n.base)
		if err != nil {
			return nil, err
		}
		v, s := e.Model.Variant, e.Parallel.Scheme
		if v.LowRank() {
			if !slices.Contains(n.variants, v) {
				n.variants = append(n.variants, v)
			}
			if !slices.Contains(n.schemes, s) {
				n.schemes = append(n.schemes, s)
			}
		}
		out[i] = name{v, s, n.tail(&e, set(i), mine[i]), mine[i] < len(set(i))}
	}
	return out, nil
}

// tail is "tp 2 rank 32": the values of the axes, in their order, that mean something. Of what makes a twin, beyond the
// first mine, only what undoes a setting of the whole space is told: the space may have a point without that.
func (n *namer) tail(e *experiment.Experiment, set []Assign, mine int) string {
	var words []string
	for i, a := range set {
		k, axis := n.keys[a.Key]
		if i >= mine {
			k, axis = experiment.KeyOf(a.Key)
			axis = axis && k.Get(e) != k.Get(&n.base)
		}
		again := slices.ContainsFunc(set[:i], func(b Assign) bool { return b.Key == a.Key })
		if !axis || again || a.Key == "variant" || a.Key == "scheme" || meaningless(e, a.Key) {
			continue
		}
		if a.Key != "size" {
			words = append(words, a.Key)
		}
		words = append(words, k.Say(e))
	}
	return strings.Join(words, " ")
}

// label puts variant and scheme before the rest where low-rank points differ in them. The other variants name
// their only scheme themselves.
func (n *namer) label(of name) string {
	var words []string
	switch {
	case !of.variant.LowRank():
		words = append(words, string(of.variant))
		if fit := of.variant.Schemes(); !slices.Contains(fit, of.scheme) {
			words = append(words, string(of.scheme)) // that is what is wrong with it
		}
	default:
		if len(n.variants) > 1 {
			words = append(words, string(of.variant))
		}
		if len(n.schemes) > 1 {
			words = append(words, string(of.scheme))
		}
	}
	if of.tail != "" {
		words = append(words, of.tail)
	}
	if len(words) == 0 {
		return string(of.variant) + " " + string(of.scheme)
	}
	return strings.Join(words, " ")
}
