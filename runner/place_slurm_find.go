package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"boost-tui/runner/slurm"
)

// SlurmHere is what this machine has of Slurm.
type SlurmHere struct {
	Tools   []string `json:"tools"`             // that are found
	Lacks   []string `json:"lacks,omitempty"`   // that runs need as well; where no tool is found, Slurm is not missed
	Version string   `json:"version,omitempty"` // absent: unknown
	Job     string   `json:"job,omitempty"`     // that this process is in
	Problem string   `json:"problem,omitempty"` // why the controller does not answer
}

// findPatience is how long each tool may take while somebody waits to learn whether it works at all.
const findPatience = 5 * time.Second

// FindSlurm looks for Slurm.
func FindSlurm(ctx context.Context) SlurmHere {
	c := &slurm.Client{Patience: findPatience}
	var h SlurmHere
	if h.Tools, h.Lacks = c.Tools(); len(h.Tools) == 0 {
		return SlurmHere{Tools: []string{}}
	}
	v, err := c.Version(ctx)
	if err == nil && v.Year > 0 {
		h.Version = v.String()
	}
	if unanswered := new(slurm.UnreachableError); !errors.As(err, &unanswered) {
		err = c.Ping(ctx)
	}
	if err != nil {
		h.Problem = clean(err.Error(), maxLineRunes)
	}
	if a, ok := slurmInside(); ok {
		h.Job = a.Job.ID
	}
	return h
}

// String is that in a line; empty: there is none.
func (h SlurmHere) String() string {
	if len(h.Tools) == 0 {
		return ""
	}
	text := "version " + h.Version
	if h.Version == "" {
		text = "of a version that it does not tell"
	}
	text += " (" + strings.Join(h.Tools, ", ") + ")"
	if h.Job != "" {
		text += fmt.Sprintf("; this is job %s", h.Job)
	}
	if h.Problem != "" {
		text += "; " + h.Problem
	}
	return text
}
