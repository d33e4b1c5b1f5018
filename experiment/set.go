package experiment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// auto is what Set takes for "leave it open".
const auto = "auto"

// Set gives a key the value that the text says. The error names the values that are allowed. Numbers out of range
// are refused by Validate, not here, so that every problem can be shown at once.
func (e *Experiment) Set(key, value string) error {
	k, ok := KeyOf(key)
	if !ok {
		return unknownKey(key)
	}
	return k.set(e, value)
}

// Get is the text of a value, as Set takes it; "" for an unknown key or a value that is open.
func (e Experiment) Get(key string) string {
	k, ok := KeyOf(key)
	if !ok {
		return ""
	}
	return k.get(&e)
}

// Set is Experiment.Set for a key at hand.
func (k Key) Set(e *Experiment, value string) error { return k.set(e, value) }

// Get is Experiment.Get for a key at hand.
func (k Key) Get(e *Experiment) string { return k.get(e) }

// Say is Get as people write it: none, where that is what an empty text means.
func (k Key) Say(e *Experiment) string {
	if v := k.get(e); v != "" || k.Kind != String || k.Default != none {
		return v
	}
	return none
}

func unknownKey(key string) error {
	return fmt.Errorf("key %q is unknown; nearest: %s", clip(key), closest(key, keyNames("*")))
}

// Allowed says in words what values a key takes: "btp, vanilla or full-rank", "a whole number from 1 to 4096".
func (k Key) Allowed() string {
	s := ""
	switch k.Kind {
	case Choice:
		s = list(k.Choices)
	case Switch:
		s = "on or off"
	case Int, Float:
		s = k.allowedNumber()
	case List:
		s = "words separated by commas"
	default:
		s = "text without control characters"
	}
	if k.Open && !slices.Contains(k.Choices, auto) {
		s += ", or auto for " + k.Default
	}
	return s
}

func (k Key) allowedNumber() string {
	what, from, to := "a whole number", "from", "to"
	if k.Kind == Float {
		what = "a number"
	}
	if k.OpenMin {
		from = "above"
	}
	if k.OpenMax {
		to = "to below"
	}
	return fmt.Sprintf("%s %s %s %s %s", what, from, short(k.Min), to, short(k.Max))
}

func short(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) <= 1<<62 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func (k Key) bad(value, why string) error {
	return fmt.Errorf("%s: %q %s; allowed: %s", k.Name, clip(value), why, k.Allowed())
}

// maxText bounds one value: a thousand hosts by name, a path, a mixture of data. What is longer belongs in a file.
const maxText = 16 << 10

func (k Key) set(e *Experiment, value string) error {
	if len(value) > maxText {
		return k.bad(value, fmt.Sprintf("takes %d bytes, more than %d", len(value), maxText))
	}
	if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return k.bad(value, "holds control characters or is not UTF-8")
	}
	v := value
	if k.Kind != String {
		v = strings.TrimSpace(v)
	}
	if k.Open && (v == auto || v == "") {
		v = ""
	}
	switch p := k.field(e).(type) {
	case *string:
		return k.setString(p, v)
	case *Variant:
		return k.setString((*string)(p), v)
	case *Scheme:
		return k.setString((*string)(p), v)
	case *bool:
		b, ok := parseSwitch(v)
		if !ok {
			return k.bad(value, "is neither on nor off")
		}
		*p = b
	case *int:
		return k.setInt(v, func(n int64) { *p = int(n) })
	case *uint64:
		return k.setInt(v, func(n int64) { *p = uint64(n) })
	case *float64:
		if k.Open && v == "" {
			*p = 0
			return nil
		}
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return k.bad(value, "is not a finite number")
		}
		if f == 0 && k.Open {
			f = saidNothing
		}
		*p = f
	case *[]string:
		*p = splitList(v)
	}
	return nil
}

func (k Key) setInt(v string, store func(int64)) error {
	if k.Open && v == "" {
		store(0)
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return k.bad(v, "is beyond 64 bits")
	case err != nil:
		return k.bad(v, "is not a whole number")
	case n == 0 && k.Open:
		n = saidZero
	}
	store(n)
	return nil
}

// saidZero is the 0 of somebody who wrote it for an open key, where the field's own 0 means that nothing was said.
// Validate finds it out of range.
const saidZero = math.MinInt

// saidNothing is the same of a number that is not whole: below every smallest value that is allowed.
const saidNothing = math.SmallestNonzeroFloat64

func (k Key) setString(p *string, v string) error {
	if k.Kind == Switch && v != "" {
		b, ok := parseSwitch(v)
		if !ok {
			return k.bad(v, "is neither on nor off")
		}
		*p = onOff(b)
		return nil
	}
	if k.Kind == Choice && !(k.Open && v == "") && !slices.Contains(k.Choices, v) {
		return k.bad(v, "is unknown")
	}
	if k.Kind == String && k.Default == none && v == none {
		v = ""
	}
	if k.reads != nil {
		var err error
		if v, err = k.reads(v); err != nil {
			return err
		}
	}
	*p = v
	return nil
}

func (k Key) get(e *Experiment) string {
	switch p := k.field(e).(type) {
	case *string:
		return *p
	case *Variant:
		return string(*p)
	case *Scheme:
		return string(*p)
	case *bool:
		return onOff(*p)
	case *int:
		if *p == 0 && k.Open {
			return ""
		}
		if *p == saidZero && k.Open {
			return "0"
		}
		return strconv.Itoa(*p)
	case *uint64:
		return strconv.FormatInt(int64(*p), 10) // one that is out of range reads as it was set: -1
	case *float64:
		if *p == 0 && k.Open {
			return ""
		}
		if *p == saidNothing && k.Open {
			return "0"
		}
		return strconv.FormatFloat(*p, 'g', -1, 64)
	case *[]string:
		return strings.Join(*p, ",")
	}
	return ""
}

func parseSwitch(v string) (value, ok bool) {
	switch strings.ToLower(v) {
	case on, "true", "yes", "1":
		return true, true
	case off, "false", "no", "0":
		return false, true
	}
	return false, false
}

func onOff(b bool) string {
	if b {
		return on
	}
	return off
}

func splitList(v string) []string {
	out := []string{}
	for _, w := range strings.Split(v, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}
