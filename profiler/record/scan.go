package record

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Unknown is an integer that was not measured.
const Unknown = -1

// fields walks over the members of one JSON object in a line, without allocating. Values are
// handed out raw; nested ones are skipped as a whole.
type fields struct {
	b []byte
	i int
}

func syntaxErr(what string, at int) error {
	return fmt.Errorf("malformed record: %s at byte %d", what, at)
}

// open skips to the first member.
func (f *fields) open() error {
	f.space()
	if f.i >= len(f.b) || f.b[f.i] != '{' {
		return syntaxErr("no object", f.i)
	}
	f.i++
	return nil
}

// next is the next member; a nil key is the end of the object.
func (f *fields) next() (key, value []byte, err error) {
	f.space()
	if f.i < len(f.b) && f.b[f.i] == ',' {
		f.i++
		f.space()
	}
	if f.i >= len(f.b) {
		return nil, nil, syntaxErr("cut off", f.i)
	}
	if f.b[f.i] == '}' {
		f.i++
		return nil, nil, f.end()
	}
	if key, err = f.str(); err != nil {
		return nil, nil, err
	}
	f.space()
	if f.i >= len(f.b) || f.b[f.i] != ':' {
		return nil, nil, syntaxErr("no colon", f.i)
	}
	f.i++
	f.space()
	value, err = f.value()
	return key, value, err
}

// end wants nothing but white space after the object.
func (f *fields) end() error {
	f.space()
	if f.i != len(f.b) {
		return syntaxErr("text after the object", f.i)
	}
	return nil
}

func (f *fields) space() {
	for f.i < len(f.b) && (f.b[f.i] == ' ' || f.b[f.i] == '\t' || f.b[f.i] == '\r' || f.b[f.i] == '\n') {
		f.i++
	}
}

// str is the inside of a string; escapes stay as they are.
func (f *fields) str() ([]byte, error) {
	start := f.i
	if f.i >= len(f.b) || f.b[f.i] != '"' {
		return nil, syntaxErr("no string", start)
	}
	for i := start + 1; i < len(f.b); i++ {
		switch f.b[i] {
		case '\\':
			i++
		case '"':
			f.i = i + 1
			return f.b[start+1 : i : i], nil
		}
	}
	return nil, syntaxErr("string without end", start)
}

// value is a number, literal, string with its quotes, or nested value.
func (f *fields) value() ([]byte, error) {
	start := f.i
	if start >= len(f.b) {
		return nil, syntaxErr("no value", start)
	}
	switch f.b[start] {
	case '"':
		_, err := f.str()
		return f.b[start:f.i], err
	case '{', '[':
		return f.nested()
	}
	for f.i < len(f.b) && f.b[f.i] != ',' && f.b[f.i] != '}' && f.b[f.i] != ' ' {
		f.i++
	}
	if f.i == start {
		return nil, syntaxErr("no value", start)
	}
	return f.b[start:f.i], nil
}

func (f *fields) nested() ([]byte, error) {
	start, depth := f.i, 0
	for f.i < len(f.b) {
		switch f.b[f.i] {
		case '"':
			if _, err := f.str(); err != nil {
				return nil, err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		f.i++
		if depth == 0 {
			return f.b[start:f.i], nil
		}
	}
	return nil, syntaxErr("nested value without end", start)
}

// intValue reads an integer; a number with a fraction or exponent is rounded, anything else is Unknown.
func intValue(v []byte) int64 {
	neg := len(v) > 0 && v[0] == '-'
	d := v
	if neg {
		d = v[1:]
	}
	if len(d) == 0 || len(d) > 19 {
		return roundValue(v)
	}
	var n int64
	for _, c := range d {
		if c < '0' || c > '9' {
			return roundValue(v)
		}
		n = n*10 + int64(c-'0')
	}
	if n < 0 { // 19 digits can be too many
		return roundValue(v)
	}
	if neg {
		return -n
	}
	return n
}

func roundValue(v []byte) int64 {
	x := floatValue(v)
	if math.IsNaN(x) || math.Abs(x) >= math.MaxInt64 {
		return Unknown
	}
	return int64(math.Round(x))
}

// floatValue reads a number; anything else is NaN.
func floatValue(v []byte) float64 {
	if len(v) == 0 || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return math.NaN()
	}
	x, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// stringValue reads a string, escapes resolved; anything else is "".
func stringValue(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	s, err := unquoteJSON(v)
	if err != nil {
		return ""
	}
	return s
}

func appendInt(b []byte, name string, v int64) []byte {
	if v == Unknown {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return strconv.AppendInt(b, v, 10)
}

func appendFloat(b []byte, name string, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
