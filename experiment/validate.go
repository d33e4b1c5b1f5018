package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Validate names every rule that a resolved experiment breaks on the machine, each with its reason and the
// nearest values that work. Warnings are marked. An empty result means that it can run.
func (e Experiment) Validate(m Machine) []Violation {
	c := checker{e: e}
	c.ranges()
	c.words()
	if c.sound() {
		c.shapes()
		c.divisibility()
	}
	c.places()
	c.later()
	c.machine(m)
	return c.out
}

// checker collects the violations of one experiment.
type checker struct {
	e   Experiment
	out []Violation
}

func (c *checker) add(key, rule, reason string, nearest ...string) {
	c.out = append(c.out, Violation{Key: key, Value: c.e.Get(key), Rule: rule, Reason: reason, Nearest: nearest})
}

// has reports whether a key has a violation already.
func (c *checker) has(keys ...string) bool {
	return slices.ContainsFunc(c.out, func(v Violation) bool { return slices.Contains(keys, v.Key) })
}

// sound reports whether the shapes can be reasoned about at all.
func (c *checker) sound() bool {
	return !c.has("d", "layers", "heads", "ff", "vocab", "rank", "rank-attn", "rank-mlp", "variant", "scheme", "tp", "micro-batch", "seq")
}

// ranges checks every number and choice against the registry.
func (c *checker) ranges() {
	for _, k := range keys {
		switch p := k.field(&c.e).(type) {
		case *int:
			c.number(k, float64(*p))
		case *uint64:
			c.number(k, float64(*p))
		case *float64:
			c.number(k, *p)
		case *string, *Variant, *Scheme:
			if v := k.get(&c.e); k.Kind == Choice && !slices.Contains(k.Choices, v) {
				c.add(k.Name, k.Name+" is one of its values", "must be "+list(k.Choices), closest(v, k.Choices))
			}
		}
	}
	if v := c.e.Model.KeepSiLU; v != on && v != off {
		c.add("keep-silu", "keep-silu is on or off", "must be on or off", on)
	}
}

func (c *checker) number(k Key, v float64) {
	if strings.HasPrefix(k.Name, "rank") && c.e.Model.Variant == Full {
		return // no factors, no rank
	}
	near := ""
	switch {
	case v > k.Min && v < k.Max, v == k.Min && !k.OpenMin, v == k.Max && !k.OpenMax:
		return
	case v >= k.Max && !k.OpenMax:
		near = short(k.Max)
	case v <= k.Min && !k.OpenMin:
		near = short(k.Min)
	default:
		def := Default()
		near = k.get(&def)
	}
	c.out = append(c.out, Violation{Key: k.Name, Value: short(v), Rule: k.Name + " is in range",
		Reason: "must be " + k.allowedNumber(), Nearest: []string{near}})
}

// words checks what people typed.
func (c *checker) words() {
	if len([]rune(c.e.Name)) > 64 {
		c.add("name", "a name has at most 64 characters", "is longer than 64 characters", string([]rune(c.e.Name)[:64]))
	}
	if len(c.e.Tags) > 32 {
		c.add("tags", "at most 32 tags", "are more than 32")
	}
	if c.e.Train.Data == "" {
		c.add("data", "data is named", "must name a file, a folder, or embedded", DataEmbedded)
	}
}

// shapes checks what does not depend on the scheme.
func (c *checker) shapes() {
	m, s := c.e.Model, c.e.Step
	if m.Variant != Full {
		c.rank("rank-attn", m.RankAttn, m.D, "d")
		c.rank("rank-mlp", m.RankMLP, min(m.D, m.FF), "d and ff")
	}
	if tokens := s.MicroBatch * s.Seq; tokens > maxTokens {
		c.add("micro-batch", "a micro-batch has at most 2^22 tokens", fmt.Sprintf("of %d sequences of %d tokens has %d tokens, more than %d", s.MicroBatch, s.Seq, tokens, maxTokens),
			strconv.Itoa(maxTokens/s.Seq))
	}
	if m.D%m.Heads == 0 && m.D/m.Heads%2 == 0 {
		return
	}
	if m.D%2 != 0 {
		unit := 2 * m.Heads
		if c.e.Parallel.Scheme == BTP {
			unit = lcm(unit, c.e.Parallel.TP)
		}
		c.add("d", "heads divides d, heads are even", "is odd, and the rotary embedding needs heads of an even width", nearest(m.D, maxWidth, func(d int) bool { return d%unit == 0 })...)
		return
	}
	fits := func(h int) bool { return m.D%h == 0 && m.D/h%2 == 0 }
	both := func(h int) bool { return fits(h) && (c.e.Parallel.Scheme == Vanilla || h%c.e.Parallel.TP == 0) }
	near := nearest(m.Heads, m.D, both)
	if len(near) == 0 {
		near = nearest(m.Heads, m.D, fits)
	}
	c.add("heads", "heads divides d, heads are even", fmt.Sprintf("must divide d (%d) into heads of an even width", m.D), near...)
}

func (c *checker) rank(key string, r, most int, of string) {
	if r <= most {
		return
	}
	near := nearest(most, most, func(n int) bool { return c.e.Parallel.Scheme != Vanilla || n%c.e.Parallel.TP == 0 })
	if len(near) == 0 {
		near = []string{strconv.Itoa(most)}
	}
	c.add(key, "a rank is at most the width", fmt.Sprintf("is larger than %s (%d): a product of factors has no higher rank", of, most), near...)
}

// divisibility is METHOD.md §4: btp t | H, d, f, V; vanilla t | r, V; full-rank t | H, f, V.
func (c *checker) divisibility() {
	m, t := c.e.Model, c.e.Parallel.TP
	type dim struct {
		name string
		n    int
	}
	var dims []dim
	switch c.e.Parallel.Scheme {
	case BTP:
		dims = []dim{{"heads", m.Heads}, {"d", m.D}, {"ff", m.FF}, {"vocab", m.Vocab}}
	case Vanilla:
		dims = []dim{{"rank-attn", m.RankAttn}, {"rank-mlp", m.RankMLP}, {"vocab", m.Vocab}}
	case FullRank:
		dims = []dim{{"heads", m.Heads}, {"ff", m.FF}, {"vocab", m.Vocab}}
	}
	g, names := 0, []string{}
	var broken []string
	for _, d := range dims {
		g = gcd(g, d.n)
		names = append(names, d.name)
		if d.n%t != 0 {
			broken = append(broken, fmt.Sprintf("%s (%d)", d.name, d.n))
		}
	}
	if len(broken) == 0 {
		return
	}
	c.add("tp", "tp divides "+and(names), fmt.Sprintf("under %s tp must divide %s", c.e.Parallel.Scheme, and(broken)),
		nearest(t, min(g, maxRanks), func(n int) bool { return g%n == 0 })...)
}
