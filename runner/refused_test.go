package runner

import (
	"errors"
	"os"
	"strings"
	"testing"

	"boost-tui/experiment"
)

// What Slurm refuses was never queued: no record of it is left, and the error says what to do.
func TestRefusedRunsLeaveNoRecord(t *testing.T) {
	for _, detach := range []bool{false, true} {
		slurmTools(t, map[string]string{"sbatch": "echo 'sbatch: error: invalid partition specified: nosuch' >&2; exit 1", "squeue": "exit 0"})
		s := NewStore(t.TempDir())
		e := testExperiment("ok", 2)
		e.Where.Where, e.Where.Partition, e.Where.Nodes = experiment.WhereSlurm, "nosuch", 1
		_, err := Launch(t.Context(), s, e, LaunchOptions{Detach: detach})
		var start *StartError
		if !errors.Is(err, ErrRefused) || errors.As(err, &start) || !strings.Contains(err.Error(), "invalid partition") || !strings.Contains(err.Error(), "sinfo -s") {
			t.Errorf("%v", err)
		}
		infos, errs := s.List(t.Context())
		if len(infos) != 0 || len(errs) != 0 {
			t.Errorf("left behind: %+v %v", infos, errs)
		}
		entries, _ := os.ReadDir(s.Root)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") {
				t.Errorf("left behind: %s", e.Name())
			}
		}
	}
}
