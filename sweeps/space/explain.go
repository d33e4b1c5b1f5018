package space

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/file"

	"boost-tui/experiment"
)

// explain is a library's error with the expression, the place in it and the nearest key.
func explain(source string, err error) error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return fmt.Errorf("%s: %s", quoted(source), plain(notBool(firstLine(err))))
	}
	message := fe.Message
	if name, ok := strings.CutPrefix(message, "unknown name "); ok {
		message += hint(source, fe.From, name)
	}
	if message == `unexpected token Operator("=")` {
		message = "compare with =="
	}
	at := fmt.Sprintf("column %d", fe.Column+1)
	if fe.Line > 1 {
		at = fmt.Sprintf("line %d %s", fe.Line, at)
	}
	return fmt.Errorf("%s, %s: %s", quoted(source), at, plain(message))
}

// notBool says in our words what an expression must be.
func notBool(message string) string {
	if is, ok := strings.CutPrefix(message, "expected bool, but got "); ok {
		return "must be true or false and is of type " + is
	}
	return message
}

// firstLine is a library's error without the picture of its place.
func firstLine(err error) string {
	var fe *file.Error
	if errors.As(err, &fe) {
		return fe.Message
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// plain is text without what a terminal would obey.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

func noFunction(name string) string {
	return fmt.Sprintf("there is no function %s; there are %s", name, strings.Join(functions[:], ", "))
}

// hint says what an unknown name may have been meant for.
func hint(source string, at int, name string) string {
	if rest := []rune(source); at+len(name) < len(rest) && rest[at+len(name)] == '(' {
		return "; " + noFunction(name)
	}
	var all []string
	for _, k := range experiment.Keys() {
		all = append(all, k.Name)
		if strings.Contains(k.Name, "-") && around(source, k.Name, at) {
			return "; in expressions " + k.Name + " is written " + nameOf(k.Name)
		}
		for _, c := range k.Choices {
			if around(source, c, at) {
				return fmt.Sprintf("; text stands in quotes: %q", c)
			}
		}
	}
	return "; nearest: " + nameOf(experiment.Closest(name, all))
}

// around reports whether a word of the source covers a place in it.
func around(source, word string, at int) bool {
	runes := []rune(source)
	for from := max(0, at-len(word)); from <= at && from+len(word) <= len(runes); from++ {
		if string(runes[from:from+len(word)]) == word && from+len(word) > at && !wordAt(runes, from-1) && !wordAt(runes, from+len(word)) {
			return true
		}
	}
	return false
}

// wordAt reports whether a name goes on at a place.
func wordAt(runes []rune, i int) bool {
	if i < 0 || i >= len(runes) {
		return false
	}
	c := runes[i]
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
