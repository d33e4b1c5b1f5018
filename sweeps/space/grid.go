package space

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"boost-tui/experiment"
)

// parseValues reads a list of values and ranges. ranged reports whether a range was among them.
func parseValues(k experiment.Key, text string) (values []string, ranged bool, err error) {
	for _, item := range strings.Split(text, ",") {
		lo, rest, isRange := strings.Cut(item, "..")
		if !isRange || k.Kind != experiment.Int && k.Kind != experiment.Float {
			v, err := value(k, item)
			if err != nil {
				return nil, false, err
			}
			values = append(values, v)
		} else {
			more, err := span(k, strings.TrimSpace(item), strings.TrimSpace(lo), strings.TrimSpace(rest))
			if err != nil {
				return nil, false, err
			}
			values, ranged = append(values, more...), true
		}
		if len(values) > MaxPoints {
			return nil, false, tooMany(float64(len(values)))
		}
	}
	return values, ranged, nil
}

// grammar ends the errors about ranges.
const grammar = "ranges are lo..hi, lo..hi+step, lo..hi*factor, lo..hi/n and lo..hi/nlog"

// span reads a range: its ends, and how to go from one to the other.
func span(k experiment.Key, item, lo, rest string) ([]string, error) {
	hi, op, arg := cutOperator(rest)
	fail := func(format string, args ...any) ([]string, error) {
		return nil, fmt.Errorf("range %s of %s: %s; %s", quoted(item), k.Name, fmt.Sprintf(format, args...), grammar)
	}
	from, err := number(k, lo)
	if err != nil {
		return fail("its start %s %v", quoted(lo), err)
	}
	to, err := number(k, hi)
	if err != nil {
		return fail("its end %s %v", quoted(hi), err)
	}
	if to < from {
		return fail("it starts above its end")
	}
	r := ladder{from: from, to: to, step: 1, whole: k.Kind == experiment.Int}
	switch op {
	case '+':
		if r.step, err = number(k, arg); err != nil || r.step <= 0 {
			return fail("its step %s is no %s above 0", quoted(arg), k.Kind)
		}
	case '*':
		if r.factor, err = real(arg); err != nil || r.factor <= 1 {
			return fail("its factor %s is no number above 1", quoted(arg))
		}
	case '/':
		arg, r.log = strings.CutSuffix(arg, "log")
		if r.n, err = strconv.Atoi(strings.TrimSpace(arg)); err != nil || r.n < 2 {
			return fail("%s is no count of values of at least 2", quoted(arg))
		}
	}
	if (r.factor > 0 || r.log) && from <= 0 {
		return fail("a range by factors starts above 0")
	}
	if n := r.count(); n > MaxPoints {
		return nil, fmt.Errorf("range %s of %s: %w", quoted(item), k.Name, tooMany(n))
	}
	return r.values(), nil
}

// cutOperator splits the end of a range from what follows it. The + of an exponent is part of the number.
func cutOperator(rest string) (hi string, op byte, arg string) {
	for i := 1; i < len(rest); i++ {
		c := rest[i]
		if c == '*' || c == '/' || c == '+' && rest[i-1] != 'e' && rest[i-1] != 'E' {
			return strings.TrimSpace(rest[:i]), c, strings.TrimSpace(rest[i+1:])
		}
	}
	return rest, 0, ""
}

// exact is how large whole numbers are told apart in floating point.
const exact = 1 << 53

// number reads an end of a range.
func number(k experiment.Key, text string) (float64, error) {
	if k.Kind == experiment.Int {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > exact || n < -exact {
			return 0, fmt.Errorf("is no whole number, or beyond 2^53")
		}
		return float64(n), nil
	}
	return real(text)
}

func real(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("is no finite number")
	}
	return f, nil
}

// ladder is a range: by steps, by factors, or n values evenly or over the logarithm.
type ladder struct {
	from, to     float64
	step, factor float64
	n            int
	log, whole   bool
}

// slack lets a range reach its end in spite of rounding: 0.1..0.5+0.1 has five values.
const slack = 1e-9

// count is the number of values before equal ones are taken once.
func (r ladder) count() float64 {
	switch {
	case r.n > 0:
		return float64(r.n)
	case r.factor > 0:
		return math.Floor(math.Log(r.to/r.from)/math.Log(r.factor)+slack) + 1
	default:
		return math.Floor((r.to-r.from)/r.step+slack) + 1
	}
}

// values spells the range out.
func (r ladder) values() []string {
	n := int(r.count())
	out := make([]string, 0, n)
	for i := range n {
		v := r.format(r.at(i))
		if len(out) == 0 || out[len(out)-1] != v { // whole numbers that round to the same follow each other
			out = append(out, v)
		}
	}
	return slices.Clip(out)
}

func (r ladder) at(i int) float64 {
	switch {
	case r.n > 0 && i == 0:
		return r.from
	case r.n > 0 && i == r.n-1:
		return r.to
	case r.log:
		t := float64(i) / float64(r.n-1)
		return math.Exp(math.Log(r.from)*(1-t) + math.Log(r.to)*t)
	case r.n > 0:
		t := float64(i) / float64(r.n-1)
		return r.from*(1-t) + r.to*t
	case r.factor > 0:
		return min(r.to, r.from*math.Pow(r.factor, float64(i)))
	default:
		return min(r.to, r.from+r.step*float64(i))
	}
}

// format writes a value without the noise of its computation, and the ends as they were given.
func (r ladder) format(f float64) string {
	if r.whole {
		return strconv.FormatInt(int64(math.Round(f)), 10)
	}
	if f != r.from && f != r.to {
		if short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 12, 64), 64); err == nil {
			f = short
		}
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
