package slurm

import (
	"errors"
	"testing"
	"time"
)

// A tool that prints without an end is ended, and does not count as one that answers.
func TestToolsThatPrintWithoutAnEnd(t *testing.T) {
	c, _ := tools(t, map[string]string{"squeue": "exec cat /dev/zero", "srun": "exec yes >&2"})
	begun := time.Now()
	_, version := c.Version(t.Context())
	for _, err := range []error{version, c.Ping(t.Context())} {
		if e := new(UnreachableError); !errors.As(err, &e) {
			t.Error(err)
		}
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
