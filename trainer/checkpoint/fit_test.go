package checkpoint

import (
	"errors"
	"slices"
	"testing"

	"boost-tui/experiment"
)

// What a run and the checkpoint that it resumes must have in common is said with every reason at once, whoever asks.
func TestFits(t *testing.T) {
	of := func(set ...string) experiment.Experiment {
		t.Helper()
		e := experiment.Default()
		for i := 0; i+1 < len(set); i += 2 {
			if err := e.Set(set[i], set[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		r, err := e.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	m := &Manifest{Step: 30, Experiment: of("size", "tiny", "variant", "cola", "steps", "60")}
	for name, c := range map[string]struct {
		set  []string
		want []string
	}{
		"the same":               {[]string{"size", "tiny", "variant", "cola", "steps", "60"}, nil},
		"another split and data": {[]string{"size", "tiny", "variant", "cola", "steps", "90", "tp", "2", "micro-batch", "2"}, nil},
		"rank": {[]string{"size", "tiny", "variant", "cola", "steps", "60", "rank", "16"},
			[]string{"rank is 16, the checkpoint's 32 (the model stays as it is)", "rank-attn is 16, the checkpoint's 32, rank-mlp is 16, the checkpoint's 32 (the model's function stays as it is)"}},
		"stop-after": {[]string{"size", "tiny", "variant", "cola", "steps", "60", "stop-after", "30"},
			[]string{"the checkpoint is of step 30, and stop-after would end the run after step 30: raise stop-after, or leave it out"}},
		"both ends": {[]string{"size", "tiny", "variant", "cola", "steps", "30", "stop-after", "20"},
			[]string{"the checkpoint is of step 30, and the run would end after step 30: raise steps"}},
	} {
		err := Fits(m, of(c.set...))
		var misfit *MisfitError
		if errors.As(err, &misfit); err == nil && c.want != nil || misfit != nil && !slices.Equal(misfit.Reasons, c.want) || err != nil && misfit == nil {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// A size that is named otherwise is refused though its shape were the same.
	e := m.Experiment
	e.Model.Size = ""
	var misfit *MisfitError
	if err := Fits(m, e); !errors.As(err, &misfit) || len(misfit.Reasons) != 1 || misfit.Reasons[0] != "size is none, the checkpoint's tiny (the model stays as it is)" {
		t.Error(err)
	}
}
