package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"boost-tui/sweeps/results"
)

// condition is what --filter asks of a row.
type condition struct {
	column, op, value string
	number            float64
	isNumber          bool
}

// conditionOps are tried in this order: what begins like another comes first.
var conditionOps = []string{"!=", "<=", ">=", "=", "<", ">"}

// parseCondition reads "scheme=btp", "tp!=1", "vs_full>1.2".
func parseCondition(text string) (condition, error) {
	at, op := len(text), ""
	for _, o := range conditionOps {
		if i := strings.Index(text, o); i >= 0 && i < at {
			at, op = i, o
		}
	}
	c := condition{column: strings.TrimSpace(text[:at]), op: op}
	if op == "" || c.column == "" {
		return c, fmt.Errorf("--filter %q: want COLUMN=VALUE, as in scheme=btp, tp!=1 or vs_full>1.2", text)
	}
	c.value = strings.TrimSpace(text[at+len(op):])
	n, err := strconv.ParseFloat(c.value, 64)
	c.number, c.isNumber = n, err == nil
	if !c.isNumber && op != "=" && op != "!=" {
		return c, fmt.Errorf("--filter %q: %s compares numbers, and %q is none", text, op, c.value)
	}
	return c, nil
}

// holds reports whether a row meets the condition. A value that is unknown meets != alone.
func (c condition) holds(r *results.Row) bool {
	v, _ := r.Field(c.column)
	if !v.IsNum || !c.isNumber {
		return c.op == "=" && v.Text == c.value || c.op == "!=" && v.Text != c.value
	}
	order := cmp.Compare(v.Number, c.number)
	switch c.op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
