package trainer

import (
	"errors"
	"time"

	"boost-tui/trainer/checkpoint"
)

// leave makes this host's part of the checkpoint, where the run's hosts share no file system: who brings the parts together makes
// a checkpoint of them.
func (v *saver) leave(step int, began time.Time, err error) {
	r := v.r
	if r.spec.LocalRank != 0 {
		return
	}
	var m *checkpoint.Manifest
	if r.spec.Rank == 0 {
		m = v.manifest(step)
	}
	if err == nil {
		err = checkpoint.Leave(r.spec.RunDir, step, m, r.spec.Experiment.Train.KeepLast)
	}
	if err != nil {
		err = errors.Join(err, checkpoint.Drop(r.spec.RunDir, step))
	}
	switch {
	case r.spec.Rank == 0:
		v.report(step, v.layout.Bytes(), time.Since(began), err)
	case err != nil:
		r.logf("checkpoint of step %d: %v", step, err)
	}
}
