// Package filter is the language in which screens and commands are told which records to show: words match
// anything that a record says of itself, "key:value", "key!=value" and "key>=number" ask one field, a leading "-"
// turns a term around. All terms must hold.
//
// Start reading at Parse.
package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Value is what a record's field holds: a text, a number, or both. Without a text it is unknown: of comparisons it
// meets "!=" alone.
type Value struct {
	Text   string
	Number float64
	IsNum  bool
}

// Record is something to be filtered.
type Record interface {
	// Field returns a field by its name in lower case; false: it has no such field.
	Field(name string) (Value, bool)
	// Words is the text that bare words are looked for in.
	Words() string
}

// Fields are the names that terms may ask for.
type Fields struct {
	Names []string          // in lower case; whoever asks for another field is told of these
	More  func(string) bool // knows further ones, too many to tell; nil: there are none
	// Unit is what a number counts that stands without a unit beside a field, in seconds or bytes; nil: just these.
	Unit func(name string) float64
}

func (f Fields) has(name string) bool {
	return slices.Contains(f.Names, name) || f.More != nil && f.More(name)
}

func (f Fields) unit(name string) float64 {
	if f.Unit == nil {
		return 1
	}
	return f.Unit(name)
}

// Query is a parsed filter. The zero value matches everything.
type Query struct{ terms []term }

type term struct {
	not    bool
	key    string
	op     string // one of operators; "" for a bare word
	text   string
	number float64 // of text, where isNum
	isNum  bool
}

// operators in the order in which they are looked for: what begins like another one comes first.
var operators = []string{"!=", "<=", ">=", "==", ":", "=", "<", ">"}

// Empty reports whether the query matches everything.
func (q Query) Empty() bool { return len(q.terms) == 0 }

// Parse reads a filter line. A term that makes no sense is left out, so that the rest of a line which is being typed
// works already; the error is about the first of those. Quotes keep words together: label:"tp 2". An operator may stand
// alone: tp >= 2. Case means nothing.
func Parse(line string, fields Fields) (Query, error) {
	var q Query
	var fault error
	for _, word := range join(split(strings.ToLower(line))) {
		t, err := parseTerm(word, fields)
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

// split cuts a line at white space outside quotes, which it takes away. The last quote need not be closed.
func split(line string) []string {
	quoted := false
	words := strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && unicode.IsSpace(r)
	})
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], `"`, "")
	}
	return words
}

// join puts what stands left and right of a lone operator together with it.
func join(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if len(out) == 0 || words[i] == ":" || !slices.Contains(operators, words[i]) {
			out = append(out, words[i])
			continue
		}
		term := &out[len(out)-1]
		*term += words[i]
		if i+1 < len(words) {
			i++
			*term += words[i]
		}
	}
	return out
}

func parseTerm(word string, fields Fields) (term, error) {
	t := term{}
	if len(word) > 1 && word[0] == '-' {
		t.not, word = true, word[1:]
	}
	at := len(word)
	for _, op := range operators {
		if i := strings.Index(word, op); i >= 0 && i < at {
			at, t.op = i, op
		}
	}
	switch {
	case t.op == "" || at == 0 && t.op == ":":
		t.op, t.text = "", word
		return t, nil
	case at == 0:
		return t, fmt.Errorf("no field stands before %s; as in tp%s2", word, t.op)
	}
	if t.key = word[:at]; !fields.has(t.key) {
		return t, fmt.Errorf("no field %q; there are %s", t.key, strings.Join(fields.Names, " "))
	}
	t.text = word[at+len(t.op):]
	t.number, t.isNum = number(t.text, fields.unit(t.key))
	if t.op[0] == '<' || t.op[0] == '>' {
		if !t.isNum {
			return t, fmt.Errorf("%s needs a number, an age such as 2d or a size such as 1.5GiB, not %q", t.key+t.op, t.text)
		}
	}
	return t, nil
}

// units of numbers; times are in seconds, sizes in bytes. One that ends like another comes first.
var units = []struct {
	name  string
	scale float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"us", 1e-6}, {"ms", 1e-3},
	{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}, {"k", 1e3}, {"g", 1e9},
}

// number reads "512", "1.5k", "30ms", "4gib", or an age in seconds: "2d", "3h", "10m", "30s". Without a unit it counts plain.
func number(s string, plain float64) (float64, bool) {
	scale := plain
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok && rest != "" {
			s, scale = rest, u.scale
			break
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v * scale, err == nil && v-v == 0
}

// Match reports whether a record passes every term.
func (q Query) Match(r Record) bool {
	for i := range q.terms {
		if t := &q.terms[i]; t.match(r) == t.not {
			return false
		}
	}
	return true
}

func (t *term) match(r Record) bool {
	if t.key == "" {
		return strings.Contains(strings.ToLower(r.Words()), t.text)
	}
	v, ok := r.Field(t.key)
	switch t.op {
	case ":":
		return ok && strings.Contains(strings.ToLower(v.Text), t.text)
	case "=", "==":
		return ok && t.equals(v)
	case "!=":
		return !ok || !t.equals(v)
	case ">":
		return v.IsNum && v.Number > t.number
	case ">=":
		return v.IsNum && v.Number >= t.number
	case "<":
		return v.IsNum && v.Number < t.number
	}
	return v.IsNum && v.Number <= t.number
}

func (t *term) equals(v Value) bool {
	return strings.EqualFold(v.Text, t.text) || v.IsNum && t.isNum && v.Number == t.number
}

// Text makes a text value.
func Text(s string) Value { return Value{Text: s} }

// Number makes a numeric value.
func Number(v float64) Value {
	return Value{Text: strconv.FormatFloat(v, 'g', -1, 64), Number: v, IsNum: true}
}

// Age makes the value of a time as seen from now, in seconds.
func Age(t, now time.Time) Value { return Number(now.Sub(t).Seconds()) }
