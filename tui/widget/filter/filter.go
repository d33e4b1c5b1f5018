// Package filter is the language of the filter line: words match anything a
// record says of itself, "key:value" and "key>=number" match one field, a
// leading "-" turns a term around. All terms must hold.
package filter

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Value is what a record's field holds: a text, a number, or both.
type Value struct {
	Text   string
	Number float64
	IsNum  bool
}

// Record is something to be filtered.
type Record interface {
	// Field returns a field by its name in lower case.
	Field(name string) (Value, bool)
	// Words is the text that bare words are looked for in.
	Words() string
}

// Query is a parsed filter. The zero value matches everything.
type Query struct{ terms []term }

type term struct {
	not    bool
	key    string
	op     string // ":" or a comparison; "" for a bare word
	text   string
	number float64
}

// Empty reports whether the query matches everything.
func (q Query) Empty() bool { return len(q.terms) == 0 }

// Parse reads a filter line. known lists the fields; a term on another one is
// an error that names it, and the rest of the line still works.
func Parse(line string, known []string) (Query, error) {
	var q Query
	var fault error
	for _, word := range strings.Fields(strings.ToLower(line)) {
		t, err := parseTerm(word, known)
		if err != nil {
			if fault == nil {
				fault = err
			}
			continue
		}
		if t.text != "" || t.op != "" {
			q.terms = append(q.terms, t)
		}
	}
	return q, fault
}

func parseTerm(word string, known []string) (term, error) {
	t := term{}
	if len(word) > 1 && word[0] == '-' {
		t.not, word = true, word[1:]
	}
	i := strings.IndexAny(word, ":<>=")
	if i <= 0 {
		t.text = word
		return t, nil
	}
	t.key = word[:i]
	found := false
	for _, k := range known {
		found = found || k == t.key
	}
	if !found {
		return t, fmt.Errorf("no field %q; there are %s", t.key, strings.Join(known, " "))
	}
	op := word[i : i+1]
	if rest := word[i+1:]; op != ":" && strings.HasPrefix(rest, "=") {
		op += "="
	}
	t.op, t.text = op, word[i+len(op):]
	if op == "<" || op == ">" || op == "<=" || op == ">=" {
		n, ok := number(t.text)
		if !ok {
			return t, fmt.Errorf("%s needs a number or an age such as 2d, not %q", t.key+op, t.text)
		}
		t.number = n
	}
	return t, nil
}

// number reads "512", "1.5k", or an age in seconds: "2d", "3h", "10m", "30s".
func number(s string) (float64, bool) {
	scale := 1.0
	if n := len(s); n > 1 {
		if f, ok := map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 7 * 86400, 'k': 1e3, 'g': 1e9}[s[n-1]]; ok {
			s, scale = s[:n-1], f
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v * scale, err == nil && v-v == 0
}

// Match reports whether a record passes every term.
func (q Query) Match(r Record) bool {
	for _, t := range q.terms {
		if t.match(r) == t.not {
			return false
		}
	}
	return true
}

func (t term) match(r Record) bool {
	if t.key == "" {
		return strings.Contains(strings.ToLower(r.Words()), t.text)
	}
	v, ok := r.Field(t.key)
	if !ok {
		return false
	}
	switch t.op {
	case ":":
		return strings.Contains(strings.ToLower(v.Text), t.text)
	case "=", "==":
		n, isNum := number(t.text)
		return strings.EqualFold(v.Text, t.text) || (v.IsNum && isNum && n == v.Number)
	case ">":
		return v.IsNum && v.Number > t.number
	case ">=":
		return v.IsNum && v.Number >= t.number
	case "<":
		return v.IsNum && v.Number < t.number
	case "<=":
		return v.IsNum && v.Number <= t.number
	}
	return false
}

// Text makes a text value.
func Text(s string) Value { return Value{Text: s} }

// Number makes a numeric value.
func Number(v float64) Value {
	return Value{Text: strconv.FormatFloat(v, 'g', -1, 64), Number: v, IsNum: true}
}

// Age makes the value of a time as seen from now, in seconds.
func Age(t, now time.Time) Value { return Number(now.Sub(t).Seconds()) }
