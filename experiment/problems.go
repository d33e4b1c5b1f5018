package experiment

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Problems collects what is wrong with a file, so that all of it is said at once. Its zero value is empty.
type Problems struct{ list []problem }

// problem is an error at a line; 0: unknown.
type problem struct {
	line int
	text string
}

// Add takes a problem down. Line breaks in the text become blanks.
func (p *Problems) Add(line int, text string) {
	p.list = append(p.list, problem{line, oneLine(text)})
}

// Err is the problems in the order of the file, one per line as "name:line: what is wrong", the first 20 of them; nil
// when there are none.
func (p *Problems) Err(name string) error {
	if len(p.list) == 0 {
		return nil
	}
	sort.Slice(p.list, func(i, j int) bool {
		a, b := p.list[i], p.list[j]
		return a.line < b.line || a.line == b.line && a.text < b.text
	})
	shown := p.list[:min(len(p.list), maxProblems)]
	errs := make([]error, len(shown))
	for i, q := range shown {
		at := name
		if q.line > 0 {
			at += ":" + strconv.Itoa(q.line)
		}
		errs[i] = fmt.Errorf("%s: %s", at, q.text)
	}
	if more := len(p.list) - len(shown); more > 0 {
		errs = append(errs, fmt.Errorf("%s: and %d more", name, more))
	}
	return errors.Join(errs...)
}

// TOMLError is a syntax error of the library as "name:line: what is wrong".
func TOMLError(name string, err error) error {
	var pe toml.ParseError
	if errors.As(err, &pe) {
		msg := pe.Message
		if msg == "" {
			msg = pe.Error()
		}
		return fmt.Errorf("%s:%d: %s", name, pe.Position.Line, oneLine(msg))
	}
	return fmt.Errorf("%s: %s", name, oneLine(err.Error()))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
