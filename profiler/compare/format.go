package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// String is "1.63x [1.60, 1.67]"; "–" where it is unknown.
func (s *Speedup) String() string {
	if s == nil {
		return unknown
	}
	out := fmt.Sprintf("%.2fx", s.Ratio)
	if len(s.CI) == 2 && s.CI[0] != s.CI[1] {
		out += fmt.Sprintf(" [%.2f, %.2f]", s.CI[0], s.CI[1])
	}
	if s.Verdict == "~" {
		out += " ~"
	}
	return out
}

// marked is String behind a mark, where there is a speed-up over another run to be marked.
func (s *Speedup) marked(mark string) string {
	if s == nil || s.itself() {
		return s.String()
	}
	return mark + s.String()
}

// itself reports whether a run was compared with itself.
func (s *Speedup) itself() bool {
	return s.P == nil && s.Ratio == 1 && len(s.CI) == 2 && s.CI[0] == 1 && s.CI[1] == 1
}

const unknown = "–"

func millis(v *float64) string {
	if v == nil {
		return unknown
	}
	return digits(*v * 1e3)
}

func interval(ci []float64, scale float64) string {
	if len(ci) != 2 {
		return unknown
	}
	return digits(ci[0]*scale) + " .. " + digits(ci[1]*scale)
}

// digits keeps about four of them.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// rate is a whole number in groups of three, as the screens write it: "24 772".
func rate(v *float64) string {
	if v == nil {
		return unknown
	}
	s := strconv.FormatFloat(math.Round(*v), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

func decimal(v *float64, decimals int) string {
	if v == nil {
		return unknown
	}
	return strconv.FormatFloat(*v, 'f', decimals, 64)
}

func scaled(v *int64, unit float64, decimals int) string {
	if v == nil {
		return unknown
	}
	return strconv.FormatFloat(float64(*v)/unit, 'f', decimals, 64)
}

// plain keeps the text of other people's runs from steering a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
