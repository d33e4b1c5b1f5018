package experiment

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Link is an interconnect that messages between ranks are slowed down to. The zero value slows nothing.
type Link struct {
	BytesPerSecond float64       // in each direction; 0: not slowed
	Latency        time.Duration // of each message
}

// EmulatedLink is how figures that were taken beside a link are marked wherever they are shown.
const EmulatedLink = "emulated link"

// linkForm says how a link is written.
const linkForm = "bw=2GB/s,latency=20us, or one of the two"

// Units of a link's numbers: decimal and binary bytes and bits per second, and times.
var (
	speedUnits = []unit{{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12},
		{"KiB/s", 1 << 10}, {"MiB/s", 1 << 20}, {"GiB/s", 1 << 30}, {"Kbit/s", 125}, {"Mbit/s", 125e3}, {"Gbit/s", 125e6}, {"Tbit/s", 125e9}}
	timeUnits = []unit{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
)

type unit struct {
	name  string
	value float64
}

// Bounds of a link: from a modem to what no machine has, and no message for longer than people wait.
const (
	minSpeed   = 1e3
	maxSpeed   = 1e15
	maxLatency = 10 * time.Second
)

// ParseLink reads a value of link: bw and latency, each with its unit, separated by a comma. "" and none are no link.
func ParseLink(text string) (Link, error) {
	var l Link
	text = strings.TrimSpace(text)
	if text == "" || text == none {
		return l, nil
	}
	said := map[string]bool{}
	for _, part := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return Link{}, fmt.Errorf("link: %q is not a key and its value; write %s", clip(part), linkForm)
		}
		if said[key] {
			return Link{}, fmt.Errorf("link: %s is said twice", clip(key))
		}
		said[key] = true
		var err error
		switch key {
		case "bw":
			l.BytesPerSecond, err = quantity(value, speedUnits)
			if err == nil && !(l.BytesPerSecond >= minSpeed && l.BytesPerSecond <= maxSpeed) {
				err = fmt.Errorf("is not from 1KB/s to %s", speed(maxSpeed))
			}
		case "latency":
			var nanos float64
			nanos, err = quantity(value, timeUnits)
			l.Latency = time.Duration(math.Round(min(nanos, math.MaxInt64/2)))
			if err == nil && !(nanos >= 0 && l.Latency <= maxLatency) {
				err = errors.New("is not from 0s to 10s")
			}
		default:
			return Link{}, fmt.Errorf("link: %q is unknown; there are bw and latency: write %s", clip(key), linkForm)
		}
		if err != nil {
			return Link{}, fmt.Errorf("link: %s=%s %w", key, clip(value), err)
		}
	}
	return l, nil
}

// quantity is a number with one of the units.
func quantity(text string, units []unit) (float64, error) {
	text = strings.TrimSpace(text)
	at := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789.+-eE", r) })
	if at < 0 {
		return 0, fmt.Errorf("has no unit; there are %s", unitNames(units))
	}
	number, name := strings.TrimSpace(text[:at]), strings.TrimSpace(text[at:])
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(n, 0) {
		return 0, fmt.Errorf("does not begin with a number")
	}
	for _, u := range units {
		if u.name == name {
			return n * u.value, nil
		}
	}
	return 0, fmt.Errorf("has the unit %q; there are %s", clip(name), unitNames(units))
}

func unitNames(units []unit) string {
	var names []string
	for _, u := range units {
		names = append(names, u.name)
	}
	return list(names)
}

// String is the link as ParseLink reads it; the same links are the same text. The zero value is "".
func (l Link) String() string {
	var parts []string
	if l.BytesPerSecond > 0 {
		parts = append(parts, "bw="+speed(l.BytesPerSecond))
	}
	if l.Latency > 0 {
		parts = append(parts, "latency="+strings.ReplaceAll(l.Latency.String(), "µ", "u"))
	}
	return strings.Join(parts, ",")
}

// speed is in the largest decimal unit of which it has one.
func speed(bytesPerSecond float64) string {
	best := speedUnits[0]
	for _, u := range speedUnits[:5] {
		if bytesPerSecond >= u.value {
			best = u
		}
	}
	return strconv.FormatFloat(bytesPerSecond/best.value, 'g', -1, 64) + best.name
}

// canonicalLink is what Set keeps of a value of link.
func canonicalLink(text string) (string, error) {
	l, err := ParseLink(text)
	return l.String(), err
}

// link checks the interconnect that is imitated.
func (c *checker) link() {
	l, err := ParseLink(c.e.Parallel.Link)
	switch {
	case err != nil: // a value that did not come through Set
		c.add("link", "the link can be read", strings.TrimPrefix(err.Error(), "link: "), none)
	case l == Link{}:
	case c.e.Step.Device == DeviceCUDA || c.e.Step.Device == DeviceEmu:
		c.add("link", "the device can imitate a link", "is imitated on the cpu device alone", none)
	case c.e.World() == 1:
		c.add("link", "a link joins ranks", "slows down what ranks say to each other, and there is one rank")
		c.out[len(c.out)-1].Warning = true
	}
}
