package runner

import (
	"os"
	"path/filepath"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// dropAside removes what ranks that died have left of a checkpoint: it has no name, and never gets one.
func (a *agent) dropAside() {
	if a.gone {
		return
	}
	left, err := filepath.Glob(filepath.Join(escape(a.dir), protocol.CheckpointDir, protocol.CheckpointAside+"*"))
	for _, path := range left {
		if err == nil {
			err = os.RemoveAll(path)
		}
	}
	if err != nil {
		a.note(record.EventNote, "leftover", err.Error(), nil)
	}
}
