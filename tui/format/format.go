// Package format writes quantities for readers: short, with their unit, of
// stable width, and never a wrong zero for an unknown value.
package format

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Unknown stands for a value that is not known.
const Unknown = "–"

// Bytes writes a size with a binary unit and three digits: "3.4 GiB".
func Bytes(n int64) string {
	if n < 0 {
		return "-" + Bytes(max(-n, -(n+1))) // -n of the smallest number is itself
	}
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, units := float64(n), "KMGTPE"
	i := -1
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if v >= 1023.5 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return Digits(v) + " " + units[i:i+1] + "iB"
}

// Digits writes v with three significant digits, and with an exponent only where it would not fit a table.
func Digits(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Unknown
	case a >= 1e15:
		return strconv.FormatFloat(v, 'e', 2, 64)
	case a >= 99.95 || v == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a < 0.0095:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Millis writes seconds as milliseconds without the unit: "201.3".
func Millis(seconds float64) string {
	ms := seconds * 1000
	switch {
	case math.IsNaN(ms) || math.IsInf(ms, 0):
		return Unknown
	case math.Abs(ms) >= 1e7:
		return strconv.FormatFloat(ms, 'e', 2, 64)
	case math.Abs(ms) >= 9.995:
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return strconv.FormatFloat(ms, 'f', 2, 64)
}

// Count writes an integer in groups of three: "125 080".
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return sign + s
}

// Rate writes so many a second, rounded to a whole number: "13 611". Every text rounds it here.
func Rate(perSecond float64) string {
	if math.IsNaN(perSecond) || math.Abs(perSecond) >= math.MaxInt64/2 {
		return Unknown
	}
	return Count(int64(math.Round(perSecond)))
}

// SI writes a count with a decimal unit: "6.74 G".
func SI(v float64) string {
	a := math.Abs(v)
	for _, u := range []struct {
		scale float64
		name  string
	}{{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if a >= u.scale*0.9995 {
			return Digits(v/u.scale) + " " + u.name
		}
	}
	return Digits(v) + " "
}

// Duration writes a span with at most two units: "0.6 s", "3:12", "1:04:09", "2d 3h".
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(max(-d, -(d+1))) // -d of the smallest is itself
	}
	s := int64(d.Round(time.Second) / time.Second)
	two := func(n int64) string { return strconv.FormatInt(n/10, 10) + strconv.FormatInt(n%10, 10) }
	switch {
	case d < time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case s < 60:
		return strconv.FormatInt(s, 10) + " s"
	case s < 3600:
		return strconv.FormatInt(s/60, 10) + ":" + two(s%60)
	case s < 86400:
		return strconv.FormatInt(s/3600, 10) + ":" + two(s/60%60) + ":" + two(s%60)
	}
	return strconv.FormatInt(s/86400, 10) + "d " + strconv.FormatInt(s/3600%24, 10) + "h"
}

// Ratio writes a speed-up: "2.04×" with the given sign.
func Ratio(v float64, times string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
		return Unknown
	}
	if v >= 1e9 {
		return strconv.FormatFloat(v, 'e', 2, 64) + times
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + times
}

// When writes a start time as seen from now: "15:09" today, "28 Nov" this
// year, "2025-11-28" before.
func When(t, now time.Time) string {
	switch {
	case t.IsZero():
		return Unknown
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan")
	}
	return t.Format("2006-01-02")
}
