package main

import "testing"

// What there is not is refused before anything is measured.
func TestBenchDeviceRefusesUnknownNames(t *testing.T) {
	p := newProgram(t)
	for _, args := range [][]string{{"--device", "cpu"}, {"--device", "emulated", "--only", "produts"}} {
		if r := p.run(append([]string{"bench-gpu"}, args...)...); r.code != exitUsage {
			t.Errorf("%v: exit %d, %s", args, r.code, r.err)
		}
	}
}

// What ranks would refuse of the environment is refused before there is a run.
func TestWrongEnvironmentOfADevice(t *testing.T) {
	p := newProgram(t)
	for _, env := range []string{"BOOST_EMU=foo", "BOOST_EMU=random=x", "BOOST_STALL=abc"} {
		t.Run(env, func(t *testing.T) {
			q := p
			q.t = t
			if r := q.with([]string{env}, shortRun("--device", "emulated", "--dtype", "fp32")...); r.code != exitUsage {
				t.Errorf("exit %d, %s", r.code, r.err)
			}
			q.nothingStarted()
		})
	}
}
