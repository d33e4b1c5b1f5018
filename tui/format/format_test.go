package format_test

import (
	"math"
	"testing"
	"time"

	"boost-tui/tui/format"
)

func TestFormats(t *testing.T) {
	now := time.Date(2026, 11, 29, 15, 20, 0, 0, time.UTC)
	for _, c := range []struct{ got, want string }{
		{format.Bytes(0), "0 B"}, {format.Bytes(1023), "1023 B"}, {format.Bytes(1 << 20), "1.00 MiB"}, {format.Bytes(1<<30 - 1), "1.00 GiB"}, {format.Bytes(80 << 30), "80.0 GiB"}, {format.Bytes(-2048), "-2.00 KiB"},
		{format.Millis(0.2013), "201.3"}, {format.Millis(0.0012), "1.20"}, {format.Millis(math.NaN()), "–"},
		{format.Rate(13610.5), "13 611"}, {format.Rate(13610.49), "13 610"}, {format.Rate(math.NaN()), "–"}, {format.Rate(math.Inf(1)), "–"},
		{format.Count(0), "0"}, {format.Count(125080), "125 080"}, {format.Count(-1234567), "-1 234 567"},
		{format.SI(6.74e9), "6.74 G"}, {format.SI(999.9), "1.00 k"}, {format.SI(0), "0 "},
		{format.Duration(600 * time.Millisecond), "0.6 s"}, {format.Duration(192 * time.Second), "3:12"}, {format.Duration(3849 * time.Second), "1:04:09"}, {format.Duration(51 * time.Hour), "2d 3h"},
		{format.Ratio(2.044, "×"), "2.04×"}, {format.Ratio(math.Inf(1), "×"), "–"}, {format.Ratio(0, "×"), "–"},
		{format.When(now.Add(-time.Hour), now), "14:20"}, {format.When(now.AddDate(0, 0, -2), now), "27 Nov"}, {format.When(now.AddDate(-1, 0, 0), now), "2025-11-29"}, {format.When(time.Time{}, now), "–"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Whatever a damaged file holds, a text comes out, in one line and of a length that a table bears.
func FuzzFormats(f *testing.F) {
	for _, n := range []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1023, 1 << 40, math.MaxInt64} {
		f.Add(n, float64(n))
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64} {
		f.Add(int64(1), v)
	}
	f.Fuzz(func(t *testing.T, n int64, v float64) {
		then := time.Unix(n, 0)
		for name, text := range map[string]string{
			"Bytes": format.Bytes(n), "Count": format.Count(n), "Duration": format.Duration(time.Duration(n)),
			"Digits": format.Digits(v), "Millis": format.Millis(v), "SI": format.SI(v), "Ratio": format.Ratio(v, "x"),
			"When": format.When(then, time.Unix(0, 0)), "When before": format.When(time.Unix(0, 0), then),
		} {
			if text == "" || len(text) > 32 {
				t.Errorf("%s of %d, %g: %q", name, n, v, text)
			}
		}
	})
}

func TestMany(t *testing.T) {
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 2: "2 runs", 12000: "12 000 runs"} {
		if got := format.Many(n, "run"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
