package launch

import (
	"boost-tui/experiment"
	"boost-tui/tui/layout"
)

// longText bounds a value that is typed or taken over: a list of hosts is the longest that makes sense.
const longText = 64 << 10

// tame makes an experiment's texts fit for a screen: what is no printable character goes, and so does what is too long. A value
// that is none without these is the default.
func tame(e *experiment.Experiment) {
	none := experiment.Default()
	for _, k := range experiment.Keys() {
		v := e.Get(k.Name)
		if len(v) <= longText && layout.Clean(v) == v {
			continue
		}
		if err := e.Set(k.Name, layout.Clean(v[:min(len(v), longText)])); err == nil && len(v) <= longText {
			continue
		}
		value := none.Get(k.Name)
		if k.Open {
			value = "auto"
		}
		mustSet(e, k.Name, value)
	}
}
