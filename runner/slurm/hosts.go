package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// maxHosts bounds a list that is written out: a range takes few signs and means many names.
const maxHosts = 1 << 16

// maxDigits bounds the numbers in a range, leading zeros included.
const maxDigits = 10

// Expand writes out Slurm's short form of a list of hosts, like node[1-3,07]x,login.
func Expand(list string) ([]string, error) {
	var out []string
	for _, part := range splitHosts(list) {
		if part == "" {
			continue
		}
		names, err := expandOne(part)
		if err != nil {
			return nil, fmt.Errorf("hosts %.80q: %w", list, err)
		}
		if out = append(out, names...); len(out) > maxHosts {
			return nil, fmt.Errorf("hosts %.80q: more than %d", list, maxHosts)
		}
	}
	return out, nil
}

// splitHosts cuts at commas outside of brackets.
func splitHosts(list string) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(list) {
		switch list[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, list[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, list[from:])
}

// expandOne writes out the first bracket, and what is behind it by itself.
func expandOne(part string) ([]string, error) {
	before, rest, ok := strings.Cut(part, "[")
	if strings.Contains(before, "]") {
		return nil, fmt.Errorf("a bracket is not opened")
	}
	if !ok {
		return []string{part}, nil
	}
	inside, after, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, fmt.Errorf("a bracket is not closed")
	}
	tails, err := expandOne(after)
	if err != nil {
		return nil, err
	}
	var out []string
	for r := range strings.SplitSeq(inside, ",") {
		low, high, isRange := strings.Cut(r, "-")
		if !isRange {
			high = low
		}
		a, err1 := strconv.ParseUint(low, 10, 32)
		b, err2 := strconv.ParseUint(high, 10, 32)
		if err1 != nil || err2 != nil || b < a || b-a >= maxHosts || len(low) > maxDigits {
			return nil, fmt.Errorf("%.40q is no range", r)
		}
		for n := a; n <= b; n++ {
			for _, tail := range tails {
				if out = append(out, fmt.Sprintf("%s%0*d%s", before, len(low), n, tail)); len(out) > maxHosts {
					return nil, fmt.Errorf("more than %d", maxHosts)
				}
			}
		}
	}
	return out, nil
}
