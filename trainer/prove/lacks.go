package prove

import (
	"errors"
	"fmt"
	"strings"
)

// ErrLacks is wrapped when the device cannot be had: the report says of each part what is missing for it.
var ErrLacks = errors.New("cannot be had here")

// Lack is something that the device lacks on this machine.
type Lack struct {
	What, Why string
	Machine   bool // of the machine: a GPU and its driver, without which nothing at all computes on one
}

func (l Lack) String() string {
	if strings.HasPrefix(l.Why, l.What) {
		return l.Why
	}
	return l.What + ": " + l.Why
}

// need is what a part takes.
type need int

const (
	needsDevice need = iota // the device, opened by this program
	needsGPU                // a GPU and its driver: programs that bring the rest along
	needsNothing
)

// missing is what a part lacks, of what the device does.
func (p *proof) missing(n need) (out []string) {
	for _, l := range p.lacks {
		if n == needsDevice || n == needsGPU && l.Machine {
			out = append(out, l.String())
		}
	}
	return out
}

// absence is why a part is left out, for what it lacks of its own.
type absence struct {
	why string
	may bool // no machine need have it, or it is nothing for the device: a report is complete without the part
}

// reasons are why a part is left out: what the device lacks, and what the part does.
func reasons(lacks []string, more string) string {
	if more != "" {
		lacks = append(lacks, more)
	}
	return strings.Join(lacks, "; ")
}

// lackError says all that is missing; nil: nothing is.
func (p *proof) lackError() error {
	if len(p.lacks) == 0 {
		return nil
	}
	return fmt.Errorf("device %s %w; missing: %s", p.Device, ErrLacks, strings.Join(p.missing(needsDevice), "; "))
}
