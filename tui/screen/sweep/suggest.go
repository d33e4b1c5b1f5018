package sweep

import (
	"strconv"
	"strings"

	"boost-tui/experiment"
)

// choicesOf are the values of a key that has few.
func choicesOf(k experiment.Key) []string {
	switch k.Kind {
	case experiment.Choice:
		return k.Choices
	case experiment.Switch:
		return onOff
	}
	return nil
}

// suggested are values to begin an axis with: every choice, or the present
// value and the next larger one.
func suggested(k experiment.Key, d draft) string {
	if choices := choicesOf(k); len(choices) > 0 {
		return strings.Join(choices, ",")
	}
	now := d.base().Get(k.Name)
	switch k.Kind {
	case experiment.Int:
		if n, err := strconv.ParseInt(now, 10, 64); err == nil && n > 0 && float64(2*n) <= k.Max {
			return now + "," + strconv.FormatInt(2*n, 10)
		}
	case experiment.Float:
		if v, err := strconv.ParseFloat(now, 64); err == nil && v > 0 {
			return strconv.FormatFloat(v/2, 'g', 6, 64) + "," + now
		}
	}
	return now
}
