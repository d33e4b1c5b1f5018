package space

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxPoints is the most combinations that a space may have, repeats included: a sweep of more would not end in
// anybody's lifetime, and its files would be hard to handle.
const MaxPoints = 200_000

// SpaceError is everything that is wrong with what a user wrote about a space.
type SpaceError struct {
	Problems []string // a sentence each
}

// Error has a line for each problem.
func (e *SpaceError) Error() string { return strings.Join(e.Problems, "\n") }

// problems collects what is wrong.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// err is nil when nothing is wrong. Of very many problems the first are told.
func (p problems) err() error {
	const most = 20
	if len(p) == 0 {
		return nil
	}
	if more := len(p) - most; more > 0 {
		p = append(p[:most:most], fmt.Sprintf("and %d more", more))
	}
	return &SpaceError{p}
}

func tooMany(n float64) error {
	return fmt.Errorf("%s values are more than the %s points that a sweep may have", grouped(n), grouped(MaxPoints))
}

// grouped writes a count for people: 10 000 000, and powers of ten where nobody counts digits.
func grouped(n float64) string {
	if n >= 1e15 {
		return fmt.Sprintf("%.2g", n)
	}
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + " " + digits[i:]
	}
	return digits
}

// many is "1 point", "2 points".
func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return grouped(float64(n)) + " " + what + "s"
}
