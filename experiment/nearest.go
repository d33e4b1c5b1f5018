package experiment

import (
	"slices"
	"strconv"
)

// Bounds of how many values of a key are judged by all rules on each side of the one that was refused: of the
// violation's own key, and of each other.
const (
	tries      = 96
	triesOther = 32
)

// waysOut gives every violation the nearest values that mend it and break nothing else. Where its own key has none,
// the reason says which other key has.
func (c *checker) waysOut() {
	if len(c.out) == 0 {
		return
	}
	s := search{e: c.e, open: c.e.open(), broken: c.out}
	for i, v := range c.out {
		near := s.mending(v, v.Key, v.Nearest)
		if len(near) == 0 {
			c.out[i].Reason += s.elsewhere(v)
		}
		c.out[i].Nearest = near
	}
}

// search looks for values that mend a violation.
type search struct {
	e      Experiment // resolved
	open   Experiment // the same with all open that follows from the rest, as a user would have said it
	broken []Violation
}

// mending lists the values of a key that mend v: the given ones where they all do, else the nearest that are found.
func (s search) mending(v Violation, key string, given []string) []string {
	k, ok := KeyOf(key)
	if !ok {
		return nil
	}
	works := slices.DeleteFunc(slices.Clone(given), func(text string) bool { return !s.mends(v, k, text) })
	if len(works) == len(given) && len(works) > 0 {
		return works
	}
	if n, ok := k.field(&s.e).(*int); ok {
		works = nil
		from := *n
		if from == saidZero {
			from = 0
		}
		unit := s.unit(key)
		for _, step := range []int{-unit, unit} {
			if text, ok := s.next(v, k, from, step); ok {
				works = append(works, text)
			}
		}
	} else if text := s.usual(k); len(works) == 0 && text != "" && s.mends(v, k, text) {
		works = []string{text}
	}
	return works
}

// usual is what an open key is where nobody says it.
func (s search) usual(k Key) string {
	e := s.open
	if !k.Open || k.set(&e, auto) != nil {
		return ""
	}
	e, err := e.resolveAs(s.e)
	if err != nil {
		return ""
	}
	return k.get(&e)
}

// next finds the nearest value below or above from, in steps of a unit.
func (s search) next(v Violation, k Key, from, step int) (string, bool) {
	lo, hi, unit := int(k.Min), s.most(k), max(step, -step)
	from = min(max(from, lo-1), hi+1)
	at := from / unit * unit
	if step > 0 && at <= from || step < 0 && at >= from {
		at += step
	}
	most := tries
	if k.Name != v.Key {
		most = triesOther
	}
	for judged := 0; judged < most && at >= lo && at <= hi; at += step {
		if k.Name == "heads" && s.e.Model.D > 0 && s.e.Model.D%at != 0 {
			continue
		}
		if text := strconv.Itoa(at); s.mends(v, k, text) {
			return text, true
		}
		judged++
	}
	return "", false
}

// most is the largest value of a key that other keys allow, as far as that is known beforehand.
func (s search) most(k Key) int {
	m, t, hi := s.e.Model, s.e.Step, int(k.Max)
	limit := func(n int) {
		if n >= int(k.Min) {
			hi = min(hi, n)
		}
	}
	switch k.Name {
	case "seq":
		limit(maxTokens / max(t.MicroBatch, 1))
	case "micro-batch":
		limit(maxTokens / max(t.Seq, 1))
	case "rank", "rank-mlp":
		limit(min(m.D, m.FF))
	case "rank-attn", "heads":
		limit(m.D)
	}
	return hi
}

// unit is what the sound values of a key are multiples of, as far as that is known beforehand; 1 is always right.
func (s search) unit(key string) int {
	m, p := s.e.Model, s.e.Parallel
	tp := 1
	if p.TP > 1 && p.TP <= maxRanks && slices.ContainsFunc(s.e.split(), func(d dim) bool { return d.key == key }) {
		tp = p.TP
	}
	switch key {
	case "d":
		if m.Heads >= 1 && m.Heads <= maxWidth {
			return min(lcm(2*m.Heads, tp), maxWidth)
		}
		return 2
	case "ff", "vocab", "heads", "rank-attn", "rank-mlp":
		return tp
	case "rank":
		if p.Scheme == Vanilla && p.TP > 1 && p.TP <= maxRanks {
			return p.TP
		}
	}
	return 1
}

// mends reports whether the value ends the violation and adds none, both where all else stays as it is and where what
// follows from the value follows it. Where only the latter can be, it counts.
func (s search) mends(v Violation, k Key, text string) bool {
	return s.mendsIn(s.open, v, k, text) && (s.mendsIn(s.e, v, k, text) || !s.said(k))
}

// said reports whether other values of the experiment may follow from this key.
func (s search) said(k Key) bool {
	return k.Name != "rank" && k.Name != "device" && k.Name != "variant"
}

func (s search) mendsIn(e Experiment, v Violation, k Key, text string) bool {
	if k.set(&e, text) != nil {
		return false
	}
	e, err := e.resolveAs(s.e)
	if err != nil {
		return false
	}
	c := checker{e: e}
	c.rules()
	return !slices.ContainsFunc(c.out, func(w Violation) bool {
		return w.Key == v.Key && w.Rule == v.Rule || !w.Warning && !slices.ContainsFunc(s.broken, func(b Violation) bool { return b.Key == w.Key && b.Rule == w.Rule })
	})
}

// elsewhere says which other key mends a violation whose own key cannot.
func (s search) elsewhere(v Violation) string {
	for _, key := range []string{"d", "heads", "ff", "rank", "rank-attn", "rank-mlp", "vocab", "tp", "seq", "micro-batch"} {
		if key == v.Key {
			continue
		}
		if near := s.mending(v, key, nil); len(near) > 0 {
			return "; no " + v.Key + " does here: change " + key + " to " + list(near)
		}
	}
	return "; no single value mends it: change " + v.Key + " together with what it must fit"
}

// open is the experiment with all open that follows from the rest.
func (e Experiment) open() Experiment {
	auto := e.Step.Device == DeviceAuto
	if auto && e.Step.DType == BF16 {
		e.Step.DType = "" // as ResolveForPlan will have it again
	}
	return e.Minimal()
}

// resolveAs resolves as another experiment was: for a plan, or for a run.
func (e Experiment) resolveAs(other Experiment) (Experiment, error) {
	if other.Step.Device == DeviceAuto {
		return e.ResolveForPlan()
	}
	return e.Resolve()
}

// divisors are the closest divisors of g below and above n.
func divisors(n, g int) []string {
	var out []string
	for i := min(n, g); i >= 1; i-- {
		if g%i == 0 {
			out = append(out, strconv.Itoa(i))
			break
		}
	}
	for i := n + 1; i <= min(g, maxRanks); i++ {
		if g%i == 0 {
			return append(out, strconv.Itoa(i))
		}
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int) int { return a / gcd(a, b) * b }
