package space

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"boost-tui/experiment"
	"boost-tui/planner"
)

// asked is a machine whose devices are asked for; lacks says what is missing for cuda.
type asked struct {
	auto, lacks string
	questions   []string
}

func (a *asked) check(device string, ranks int) (string, error) {
	a.questions = append(a.questions, fmt.Sprintf("%s %d", device, ranks))
	switch {
	case device == experiment.DeviceAuto:
		return a.auto, nil
	case device == experiment.DeviceCUDA && a.lacks != "":
		return "", errors.New(a.lacks)
	}
	return device, nil
}

func noGPUs(experiment.Experiment) planner.Machine { return planner.Machine{NoGPUs: true} }

func TestDevicesAreAskedForOnce(t *testing.T) {
	for name, c := range map[string]struct {
		axes, set []string
		lacks     string
		questions []string
		err       []string
	}{
		"the processor":  {[]string{"tp=1,2"}, []string{"device=cpu"}, "no driver", nil, nil},
		"cuda":           {[]string{"tp=1,2", "rank=8,16,32"}, []string{"device=cuda"}, "no driver", []string{"cuda 1", "cuda 2"}, []string{"no driver (6 points)"}},
		"an axis":        {[]string{"device=cpu,cuda", "rank=8,16"}, nil, "no driver", []string{"cuda 1"}, []string{"no driver (2 points, as in device cuda rank 8)"}},
		"it is there":    {[]string{"device=cuda,emulated", "tp=1,2"}, nil, "", []string{"cuda 1", "cuda 2", "emulated 1", "emulated 2"}, nil},
		"other machines": {[]string{"tp=1,2"}, []string{"device=cuda", "where=ssh", "hosts=a"}, "no driver", nil, nil},
	} {
		a := asked{auto: experiment.DeviceCPU, lacks: c.lacks}
		machine := noGPUs
		if name == "other machines" {
			machine = func(experiment.Experiment) planner.Machine { return noMachine }
		}
		_, err := ExpandHere(t.Context(), spec(t, c.axes, c.set...), machine, a.check)
		if slices.Sort(a.questions); !slices.Equal(a.questions, c.questions) {
			t.Errorf("%s: asked %q, want %q", name, a.questions, c.questions)
		}
		var wrong *SpaceError
		if errors.As(err, &wrong) != (c.err != nil) || err != nil && !slices.Equal(wrong.Problems, c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}

// A sweep that leaves its device open computes on one for all of its points, as a run would.
func TestAnOpenDeviceIsSettledForAllPoints(t *testing.T) {
	for name, c := range map[string]struct {
		axes, set []string
		auto      string
		want      string // of the points; empty: what they say
		ranks     string
	}{
		"a GPU":             {[]string{"tp=1,2"}, nil, "cuda", "cuda", "auto 2"},
		"said":              {[]string{"tp=1,2"}, []string{"device=auto"}, "cuda", "cuda", "auto 2"},
		"none":              {[]string{"tp=1,4"}, nil, "cpu", "cpu", "auto 4"},
		"bf16 needs it":     {[]string{"tp=1,2"}, []string{"dtype=bf16"}, "cuda", "cuda", "auto 2"},
		"an axis":           {[]string{"device=auto,cuda"}, nil, "cuda", "cuda", "auto 1"},
		"on other machines": {[]string{"tp=1,2"}, []string{"where=ssh", "hosts=a"}, "cuda", "cpu", ""},
	} {
		a := asked{auto: c.auto}
		s := spec(t, c.axes, c.set...)
		before := s.Key()
		x, err := ExpandHere(t.Context(), s, func(experiment.Experiment) planner.Machine { return noMachine }, a.check)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.ranks != "" && (len(a.questions) == 0 || a.questions[0] != c.ranks) || c.ranks == "" && len(a.questions) > 0 {
			t.Errorf("%s: asked %q", name, a.questions)
		}
		for _, p := range x.Points {
			if e, err := p.Experiment(x.Base); err != nil || e.Step.Device != c.want {
				t.Errorf("%s: %s computes on %s, %v", name, p.Label, e.Step.Device, err)
			}
		}
		settled := s.Settled(x)
		if again, err := Expand(t.Context(), settled, noMachine); err != nil || len(again.Points) != len(x.Points) || again.Points[0].ID != x.Points[0].ID {
			t.Errorf("%s: the settled space is another: %v", name, err)
		}
		if s.Key() != before || (settled.Key() != before) != (x.Device != "") {
			t.Errorf("%s: the key of the space", name)
		}
	}
}
