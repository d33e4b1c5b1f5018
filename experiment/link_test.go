package experiment

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestParseLink(t *testing.T) {
	for text, want := range map[string]Link{
		"":                            {},
		"none":                        {},
		"bw=2GB/s,latency=20us":       {2e9, 20 * time.Microsecond},
		"latency=20µs, bw=2000 MB/s":  {2e9, 20 * time.Microsecond},
		"bw=16Gbit/s,latency=0.02ms":  {2e9, 20 * time.Microsecond},
		"bw=1GiB/s":                   {1 << 30, 0},
		"latency=1.5s":                {0, 1500 * time.Millisecond},
		"bw=1e9B/s,latency=0s":        {1e9, 0},
		"bw=1KB/s":                    {1e3, 0},
		" bw = 100MB/s ,latency=5ns ": {},
	} {
		got, err := ParseLink(text)
		if strings.HasPrefix(text, " bw ") { // spaces round the equals sign are a mistake
			if err == nil {
				t.Errorf("%q was read as %+v", text, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := ParseLink(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, which reads %+v, %v", text, got, again, err)
		}
	}
	for text, part := range map[string]string{
		"2GB/s":                  "not a key and its value; write bw=2GB/s,latency=20us",
		"bw=2":                   "has no unit; there are B/s, KB/s",
		"bw=2Gb/s":               `has the unit "Gb/s"`,
		"bw=GB/s":                "does not begin with a number",
		"bw=0GB/s":               "is not from 1KB/s to 1000TB/s",
		"bw=-1GB/s":              "is not from 1KB/s",
		"bw=1e300GB/s":           "is not from 1KB/s",
		"bw=NaNGB/s":             "does not begin with a number",
		"latency=20":             "has no unit; there are ns, us",
		"latency=-1us":           "is not from 0s to 10s",
		"latency=1h":             `has the unit "h"`,
		"latency=11s":            "is not from 0s to 10s",
		"latency=1e300s":         "is not from 0s to 10s",
		"bw=1GB/s,bw=2GB/s":      "bw is said twice",
		"speed=1GB/s":            `"speed" is unknown; there are bw and latency`,
		"bw=1GB/s,":              "not a key and its value",
		strings.Repeat("x", 500): "not a key",
	} {
		if l, err := ParseLink(text); err == nil || !strings.Contains(err.Error(), part) || len(err.Error()) > 300 {
			t.Errorf("%q: %+v, %v; want %q", text, l, err, part)
		}
	}
}

// What Set keeps does not depend on how it was written, and an experiment file holds it.
func TestLinkIsKeptInOneForm(t *testing.T) {
	var kept []string
	for _, text := range []string{"bw=2GB/s,latency=20us", "latency=0.02ms,bw=2000MB/s", "bw=16Gbit/s,latency=20000ns"} {
		e := Default()
		if err := e.Set("link", text); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, e.Get("link"))
		again, err := ParseTOML(e.TOML(), "x.toml")
		if err != nil || again.Parallel.Link != e.Parallel.Link {
			t.Errorf("%q, %v", again.Parallel.Link, err)
		}
		if err := e.Set("link", "none"); err != nil || e.Parallel.Link != "" {
			t.Errorf("none is %q, %v", e.Parallel.Link, err)
		}
	}
	if kept[0] != "bw=2GB/s,latency=20us" || kept[1] != kept[0] || kept[2] != kept[0] {
		t.Errorf("%q", kept)
	}
	e := Default()
	if err := e.Set("link", "bw=2"); err == nil || !strings.Contains(err.Error(), "unit") || e.Parallel.Link != "" {
		t.Errorf("%v", err)
	}
	if _, err := ParseTOML([]byte("[parallel]\nlink = \"bw=2\"\n"), "x.toml"); err == nil || !strings.Contains(err.Error(), "x.toml:2") {
		t.Errorf("%v", err)
	}
}

func TestLinkProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		l := Link{math.Round(math.Exp(rng.Float64()*20 + 7)), time.Duration(rng.Int64N(int64(maxLatency)))}
		if got, err := ParseLink(l.String()); err != nil || math.Abs(got.BytesPerSecond/l.BytesPerSecond-1) > 1e-12 || got.Latency != l.Latency {
			t.Fatalf("%+v is written %q and read %+v, %v", l, l, got, err)
		}
	}
}

func FuzzLink(f *testing.F) {
	for _, s := range []string{"bw=2GB/s,latency=20us", "bw=1e9B/s", "latency=1.5s", "bw=,,=", "bw=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLink(text)
		if err != nil {
			return
		}
		if l.BytesPerSecond < 0 || l.BytesPerSecond > maxSpeed || l.Latency < 0 || l.Latency > maxLatency {
			t.Errorf("%q is %+v", text, l)
		}
		if again, err := ParseLink(l.String()); err != nil || again.String() != l.String() {
			t.Errorf("%q is written %q and that %q, %v", text, l, again, err)
		}
	})
}
