package main

import (
	"fmt"
	"strings"
)

// onOff is a flag that may stand alone, for on, or say on or off. said is nil where the command line is silent.
type onOff struct{ said **bool }

func (f onOff) String() string {
	if f.said == nil || *f.said == nil {
		return ""
	}
	if **f.said {
		return "on"
	}
	return "off"
}

func (f onOff) Type() string { return "on|off" }

func (f onOff) Set(text string) error {
	value, known := map[string]bool{"on": true, "true": true, "yes": true, "1": true, "off": false, "false": false, "no": false, "0": false}[strings.ToLower(text)]
	if !known {
		return fmt.Errorf("want on or off")
	}
	*f.said = &value
	return nil
}
