package main

import (
	"math"
	"strings"
	"testing"

	"boost-tui/runner"
)

// A run that the machine failed goes on from its last checkpoint as another run, and comes to the same losses; the command in front
// follows it and reports the last.
func TestRestartGoesOnFromTheCheckpoint(t *testing.T) {
	for _, hosts := range []string{"", "2"} {
		t.Run("hosts "+hosts, func(t *testing.T) {
			t.Setenv(runner.EnvTestHosts, hosts)
			p := newProgram(t)
			args := []string{"--steps", "400", "--checkpoint-every", "5"}
			f := p.foreground(append(args, "--set", "max-restarts=1")...)
			f.reaches(f.dir, 13)
			f.kill("rank", "--rank 1")
			code, _ := f.ended()
			var said runResult
			oneJSON(t, f.out.String(), &said)
			if code != exitOK || said.State != "finished" || said.Dir == f.dir {
				t.Fatalf("exit %d, %s in %s: %s\n%s", code, said.State, said.Dir, said.Cause, f.errs.String())
			}
			p.gone(f.dir)
			p.gone(said.Dir)
			in, err := runner.Read(said.Dir)
			if err != nil || in.Run.Restart == nil || in.Run.Resumed == nil || in.Run.Resumed.Step < 5 || in.Run.Resumed.Run != in.Run.Restart.Of {
				t.Fatalf("%+v, resumed %+v, %v", in.Run.Restart, in.Run.Resumed, err)
			}
			var whole runResult
			oneJSON(t, p.want(exitOK, shortRun(append(args, "--json")...)...).stdout, &whole)
			if math.Abs(*whole.LossLast-*said.LossLast) > 5e-4 {
				t.Errorf("loss %v after a restart, %v without", *said.LossLast, *whole.LossLast)
			}
			if first, err := runner.Read(f.dir); err != nil || first.Result.RestartedAs != in.ID || !strings.Contains(first.Cause, "SIGKILL") {
				t.Errorf("%s: %+v, %v", first.Cause, first.Result, err)
			}
		})
	}
}
