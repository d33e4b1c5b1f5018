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
	c.rules()
	c.waysOut()
	c.machine(m)
	return c.out
}

// Broken is Validate without the search for nearest values, which takes a thousand times as long: for somebody who
// judges many experiments and mends none. What is named as nearest may break another rule and is left out.
func (e Experiment) Broken(m Machine) []Violation {
	c := checker{e: e}
	c.rules()
	c.machine(m)
	for i := range c.out {
		c.out[i].Nearest = nil
	}
	return c.out
}

// OutOfRange is the part of Validate that looks at one value at a time: it can be said even where other values
// are not known. Which values would work depends on the others, so that none are named.
func (e Experiment) OutOfRange() []Violation {
	c := checker{e: e}
	c.ranges()
	c.words()
	for i := range c.out {
		c.out[i].Nearest = nil
	}
	return c.out
}

// rules checks everything but the machine.
func (c *checker) rules() {
	c.ranges()
	c.words()
	c.shapes()
	c.divisibility()
	c.places()
	c.parallel()
	c.link()
	c.documentToken()
	c.cycles()
	c.sparse()
	c.evaluation()
	c.starts()
	c.hosts()
	c.placeKeys()
}

// ruleRange ends the name of the rule about one number.
const ruleRange = " is in range"

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

// ranges checks every number and choice against the registry.
func (c *checker) ranges() {
	for _, k := range keys {
		if !k.Means(c.e.Model.Variant) {
			continue
		}
		switch p := k.field(&c.e).(type) {
		case *int:
			c.number(k, float64(*p))
		case *uint64:
			c.number(k, float64(int64(*p)))
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
	if m := c.e.Model; k.Name == "rank-attn" && m.RankAttn == m.Rank || k.Name == "rank-mlp" && m.RankMLP == m.Rank {
		return // told once, of rank
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
		if near == "" {
			near = short(k.Min)
		}
	}
	c.out = append(c.out, Violation{Key: k.Name, Value: k.get(&c.e), Rule: k.Name + ruleRange,
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
	if slices.ContainsFunc(c.e.Tags, func(tag string) bool { return len([]rune(tag)) > 64 }) {
		c.add("tags", "a tag has at most 64 characters", "hold one that is longer than 64 characters")
	}
	if c.e.Train.Data == "" {
		c.add("data", "data is named", "must name a file, a folder, or embedded", DataEmbedded)
	}
}

// shapes checks what does not depend on the scheme. Every rule is checked whose own values are in range.
func (c *checker) shapes() {
	m, s := c.e.Model, c.e.Step
	if m.Variant != Full && !c.has("d", "ff", "rank") {
		c.rank("rank-attn", m.RankAttn, m.D, "d")
		c.rank("rank-mlp", m.RankMLP, min(m.D, m.FF), "d and ff")
	}
	if tokens := s.MicroBatch * s.Seq; !c.has("micro-batch", "seq") && tokens > maxTokens {
		c.add("micro-batch", "a micro-batch has at most 2^22 tokens", fmt.Sprintf("of %d sequences of %d tokens has %d tokens, more than %d", s.MicroBatch, s.Seq, tokens, maxTokens),
			strconv.Itoa(maxTokens/s.Seq))
	}
	if c.has("d", "heads") || m.D%m.Heads == 0 && m.D/m.Heads%2 == 0 {
		return
	}
	const rule = "heads divides d, heads are even"
	if m.D%2 != 0 {
		c.add("d", rule, "is odd, and the rotary embedding needs heads of an even width")
		return
	}
	c.add("heads", rule, fmt.Sprintf("must divide d (%d) into heads of an even width", m.D))
}

func (c *checker) rank(key string, r, most int, of string) {
	if r > most && !c.has(key) {
		c.add(key, "a rank is at most the width", fmt.Sprintf("is larger than %s (%d): a product of factors has no higher rank", of, most))
	}
}

// dim is a width that a scheme splits over its ranks.
type dim struct {
	key string
	n   int
}

// split lists the widths that tp must divide, METHOD.md §4: btp t | H, d, f, V; vanilla t | r, V; full-rank t | H, f, V.
func (e Experiment) split() []dim {
	m := e.Model
	switch e.Parallel.Scheme {
	case BTP:
		return []dim{{"heads", m.Heads}, {"d", m.D}, {"ff", m.FF}, {"vocab", m.Vocab}}
	case Vanilla:
		return []dim{{"rank-attn", m.RankAttn}, {"rank-mlp", m.RankMLP}, {"vocab", m.Vocab}}
	case FullRank:
		return []dim{{"heads", m.Heads}, {"ff", m.FF}, {"vocab", m.Vocab}}
	}
	return nil
}

func (c *checker) divisibility() {
	if c.has("tp", "rank") {
		return
	}
	var broken []string
	g := 0
	for _, d := range c.e.split() {
		if d.n > 0 {
			g = gcd(g, d.n)
		}
		if d.n > 0 && d.n%c.e.Parallel.TP != 0 && !c.outOfRange(d.key) {
			broken = append(broken, fmt.Sprintf("%s (%d)", d.key, d.n))
		}
	}
	if len(broken) > 0 {
		c.add("tp", "tp divides what it splits", fmt.Sprintf("under %s tp must divide %s", c.e.Parallel.Scheme, and(broken)), divisors(c.e.Parallel.TP, g)...)
	}
}

// outOfRange reports whether a key's value alone is wrong already.
func (c *checker) outOfRange(key string) bool {
	return slices.ContainsFunc(c.out, func(v Violation) bool { return v.Key == key && strings.HasSuffix(v.Rule, ruleRange) })
}
