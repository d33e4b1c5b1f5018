package sweeps

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// fastLine decodes the lines that a journal has most of, those about attempts, as this program writes them: one flat
// object of strings without escapes, numbers and true. It decodes nothing differently from encoding/json, which is
// asked whenever ok is false: for other lines, and for whatever is wrong.
func fastLine(data []byte, l *line) (ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte{'{'})
	for ok {
		var key, value []byte
		if key, rest, ok = fastString(rest); !ok || len(rest) == 0 || rest[0] != ':' {
			return false
		}
		if rest = rest[1:]; len(rest) > 0 && rest[0] == '"' {
			if value, rest, ok = fastString(rest); !ok || !l.setText(key, value) {
				return false
			}
		} else {
			n := bytes.IndexAny(rest, ",}")
			if n < 0 || !l.setPlain(key, rest[:n]) {
				return false
			}
			rest = rest[n:]
		}
		if len(rest) == 1 && rest[0] == '}' {
			return true
		}
		rest, ok = bytes.CutPrefix(rest, []byte{','})
	}
	return false
}

// fastString cuts a string of printable ASCII without escapes off the front.
func fastString(data []byte) (inside, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return nil, nil, false
	}
	for i, c := range data[1:] {
		switch {
		case c == '"':
			return data[1 : i+1], data[i+2:], true
		case c < ' ' || c > '~' || c == '\\':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

func (l *line) setText(key, value []byte) bool {
	switch string(key) {
	case "k":
		l.K = kindOf(value)
		return l.K != ""
	case "point":
		l.Point = string(value)
	case "run":
		l.Run = string(value)
	case "state":
		l.State = string(value)
	case "cause":
		l.Cause = string(value)
	case "rule":
		l.Rule = string(value)
	default:
		return false
	}
	return true
}

// kindOf is a frequent kind; empty: another one.
func kindOf(value []byte) string {
	switch string(value) {
	case kindBegin:
		return kindBegin
	case kindRun:
		return kindRun
	case kindAdopt:
		return kindAdopt
	case kindEnd:
		return kindEnd
	}
	return ""
}

func (l *line) setPlain(key, value []byte) (ok bool) {
	switch string(key) {
	case "t":
		l.T, ok = fastInt(value)
	case "ended":
		l.Ended, ok = fastInt(value)
	case "epoch":
		l.Epoch, ok = fastSmall(value)
	case "attempt":
		l.Attempt, ok = fastSmall(value)
	case "seconds":
		if ok = json.Valid(value); ok {
			var err error
			l.Seconds, err = strconv.ParseFloat(string(value), 64)
			ok = err == nil
		}
	case "machine":
		l.Machine, ok = true, string(value) == "true"
	case "again":
		l.Again, ok = true, string(value) == "true"
	}
	return ok
}

// fastInt takes whole numbers of up to 19 digits.
func fastInt(value []byte) (n int64, ok bool) {
	if len(value) == 0 || len(value) > 19 || value[0] == '0' && len(value) > 1 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, n >= 0 // 19 digits may be too much
}

func fastSmall(value []byte) (int, bool) {
	n, ok := fastInt(value)
	return int(n), ok
}
