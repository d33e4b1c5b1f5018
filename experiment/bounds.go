package experiment

import (
	"bytes"
	"fmt"
)

// Bounds of a file's syntax. The library keeps, for every part of a dotted key, the whole path to it, and reads a value in
// time that grows with all keys, so that 60 000 parts or keys would take gigabytes; a real file has one part, under
// fifty keys, and no nesting beyond a list of tags.
const (
	maxKeyParts = 8
	maxNesting  = 8
	maxKeys     = 512 // sections included
	maxProblems = 20  // told at once
)

// scanner walks over a file outside of its strings and comments. It judges nothing but size: what it lets
// pass is judged by the library.
type scanner struct {
	data []byte
	at   int
	line int
	dots int // since the last character that ends a key or a value
	open int // brackets and braces
	keys int // keys and sections so far, an upper bound
}

// CheckTOML refuses keys with too many parts, too many keys and too deep nesting, before the library builds anything
// of them. name is how errors call the file.
func CheckTOML(data []byte, name string) error {
	s := scanner{data: data, line: 1}
	for s.at < len(s.data) {
		c := s.data[s.at]
		switch c {
		case '"', '\'':
			s.skipString(c)
			continue
		case '#':
			s.skipComment()
			continue
		case '\n':
			s.line++
			s.dots = 0
		case '.':
			s.dots++
		case '=':
			s.dots = 0
			s.keys++
		case ',':
			s.dots = 0
		case '[', '{':
			if s.open == 0 {
				s.keys++
			}
			s.open++
			s.dots = 0
		case ']', '}':
			s.open = max(0, s.open-1)
		}
		s.at++
		if s.dots >= maxKeyParts {
			return fmt.Errorf("%s:%d: a key with more than %d parts; keys are plain words, below a section at most", name, s.line, maxKeyParts)
		}
		if s.keys > maxKeys {
			return fmt.Errorf("%s:%d: more than %d keys and sections; an experiment has %d keys", name, s.line, maxKeys, len(keys))
		}
		if s.open > maxNesting {
			return fmt.Errorf("%s:%d: lists or tables nested more than %d deep", name, s.line, maxNesting)
		}
	}
	return nil
}

func (s *scanner) skipComment() {
	if n := bytes.IndexByte(s.data[s.at:], '\n'); n >= 0 {
		s.at += n
	} else {
		s.at = len(s.data)
	}
}

// skipString goes behind a string: of one line, which ends at the line's end at the latest, or between three quotes.
func (s *scanner) skipString(quote byte) {
	three := bytes.Repeat([]byte{quote}, 3)
	long := bytes.HasPrefix(s.data[s.at:], three)
	s.at++
	if long {
		s.at += 2
	}
	for s.at < len(s.data) {
		switch c := s.data[s.at]; {
		case c == '\\' && quote == '"' && s.at+1 < len(s.data) && s.data[s.at+1] != '\n':
			s.at++
		case c == '\n' && !long:
			return
		case c == '\n':
			s.line++
		case c == quote && !long:
			s.at++
			return
		case long && bytes.HasPrefix(s.data[s.at:], three):
			s.at += 3
			for range 2 { // quotes of the text right before the end
				if s.at < len(s.data) && s.data[s.at] == quote {
					s.at++
				}
			}
			return
		}
		s.at++
	}
}
