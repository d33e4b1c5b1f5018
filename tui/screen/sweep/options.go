package sweep

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/sweeps"
	"boost-tui/tui/format"
)

var orders = []string{sweeps.OrderGiven, sweeps.OrderCheapest, sweeps.OrderRandom}

var onOff = []string{"on", "off"}

// option is a line below the axes: something that the sweep as a whole has.
// Those with choices change with left and right, the others are typed.
type option struct {
	label, help string
	choices     []string
	rule        bool // a dividing line above
	get         func(*draft) string
	set         func(*draft, string) error
}

// options in the order of the lines. They are never changed.
var options = []option{
	{"twins", "the full-rank and the vanilla run that each low-rank point is held against", onOff, true,
		func(d *draft) string { return word(d.Twins) }, func(d *draft, v string) error { d.Twins = v == "on"; return nil }},
	{"repeats", "runs of each point, each with a seed of its own", nil, false,
		func(d *draft) string { return strconv.Itoa(max(1, d.Repeats)) }, func(d *draft, v string) error { return count(&d.Repeats, v, 1, 1000) }},
	{"order", "of the queue: as given, with twins first; fewest FLOPs first; shuffled", orders, true,
		func(d *draft) string { return d.Options.Order }, func(d *draft, v string) error { d.Options.Order = v; return nil }},
	{"at once", "runs at a time; those of one machine slow each other down, so that they give no verdict", nil, false,
		func(d *draft) string { return strconv.Itoa(d.Options.AtOnce) }, func(d *draft, v string) error { return count(&d.Options.AtOnce, v, 1, 1000) }},
	{"time", "limit of all its sittings together: 90m, 8h; nothing: no limit", nil, false,
		func(d *draft) string { return span(d.Options.MaxTime) }, setSpan},
	{"device hours", "limit of ranks x hours over all runs; nothing: no limit", nil, false,
		func(d *draft) string { return number(d.Options.MaxDeviceHours) }, setHours},
	{"failures", "so many in a row stop the sweep; 0: no limit", nil, false,
		func(d *draft) string { return strconv.Itoa(d.Options.MaxFailures) }, func(d *draft, v string) error { return count(&d.Options.MaxFailures, v, 0, 1e6) }},
	{"retries", "of a point whose run the machine ended", nil, false,
		func(d *draft) string { return strconv.Itoa(d.Options.Retries) }, func(d *draft, v string) error { return count(&d.Options.Retries, v, 0, 100) }},
	{"stop diverged", "end a run whose loss is no number or grows beyond its start", onOff, false,
		func(d *draft) string { return word(d.Options.StopDiverged) }, func(d *draft, v string) error { d.Options.StopDiverged = v == "on"; return nil }},
	{"stop slower", "end a run that is clearly slower than the best at the same step", onOff, false,
		func(d *draft) string { return word(d.Options.StopSlower) }, func(d *draft, v string) error { d.Options.StopSlower = v == "on"; return nil }},
	{"name", "what to call the sweep", nil, false,
		func(d *draft) string { return d.Name }, setName},
}

func word(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func count(to *int, text string, low, high int) error {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < low || n > high {
		return fmt.Errorf("%q is no whole number from %d to %d", text, low, high)
	}
	*to = n
	return nil
}

func span(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

func setSpan(d *draft, text string) error {
	text = strings.TrimSpace(text)
	if text == "" || text == "0" {
		d.Options.MaxTime = 0
		return nil
	}
	v, err := time.ParseDuration(text)
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is no length of time such as 90m or 8h", text)
	}
	d.Options.MaxTime = v
	return nil
}

func number(v float64) string {
	if v <= 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// deviceHours is a limit in words.
func deviceHours(v float64) string {
	if v == 1 {
		return "1 device hour"
	}
	return number(v) + " device hours"
}

func setHours(d *draft, text string) error {
	text = strings.TrimSpace(text)
	if text == "" {
		d.Options.MaxDeviceHours = 0
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 || v-v != 0 {
		return fmt.Errorf("%q is no number of hours", text)
	}
	d.Options.MaxDeviceHours = v
	return nil
}

const longestName = 60

func setName(d *draft, text string) error {
	text = strings.TrimSpace(text)
	if len(text) > longestName {
		return fmt.Errorf("a name has at most %d bytes", longestName)
	}
	var e experiment.Experiment
	if e.Set("name", text) != nil {
		return errors.New("a name is text without control characters")
	}
	d.Name = text
	return nil
}

// optionValue is how a line shows its value.
func optionValue(o option, d *draft) string {
	if v := o.get(d); v != "" {
		return v
	}
	return format.Unknown
}
