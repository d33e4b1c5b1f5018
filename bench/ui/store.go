package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

// stepsOfFill is the length of each run of a store that is filled.
const stepsOfFill = 100

// fill makes n finished runs out of one: their files, without waiting for the disk.
func fill(ctx context.Context, root string, n int) error {
	g, err := create(root, stepsOfFill, shape{1, 2})
	if err != nil {
		return err
	}
	if err := errors.Join(g.write(ctx, stepsOfFill), g.close()); err != nil {
		return err
	}
	run, err := os.ReadFile(filepath.Join(g.dir, protocol.RunFile))
	if err != nil {
		return err
	}
	// The agent's summary of a tiny run.
	result := []byte(`{"schema":1,"state":"finished","ranks":[{"rank":0,"code":0},{"rank":1,"code":0}],"started":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:10:00Z",
"summary":{"ranks":2,"steps":100,"kept":75,"loss_first":5.56,"loss_last":2.08,"loss_mean_last_20":2.1,"step_time_median":0.0424,"tokens_per_second":24150,
"breakdown":{"compute":0.0208,"comm":0.0158,"comm_exposed":0.0143,"comm_wait":0.014,"comm_transfer":0.0018,"overlap":0.0015,"memory":0.0001,"idle":0.0072},
"comm_bytes_per_step":8441860,"comm_wire_bytes_per_step":8441860,"peak_memory":27215104,"mfu":0.02}}`)
	files := map[string][]byte{protocol.ResultFile: result, protocol.HeartbeatFile: nil, protocol.AgentLogFile: nil}
	for _, path := range []string{record.RollupPath(g.dir), record.StepsPath(g.dir, 0), record.StepsPath(g.dir, 1)} {
		rel, err := filepath.Rel(g.dir, path)
		if err != nil {
			return err
		}
		if files[rel], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		id, err := runner.NewID(time.Date(2026, 1, 1, 0, 0, 10*i, 0, time.UTC), "tiny", "cola", "btp", "tp2")
		if err != nil {
			return err
		}
		files[protocol.RunFile] = bytes.ReplaceAll(run, []byte(g.id), []byte(id))
		if err := place(filepath.Join(filepath.Dir(g.dir), id), files); err != nil {
			return err
		}
	}
	fmt.Println(n)
	return os.RemoveAll(g.dir)
}

func place(dir string, files map[string][]byte) error {
	for _, sub := range []string{"steps", "health", "timeline", "log", "exit"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), protocol.DirMode); err != nil {
			return err
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, protocol.FileMode); err != nil {
			return err
		}
	}
	return nil
}
