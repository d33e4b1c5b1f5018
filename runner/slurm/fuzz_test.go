package slurm

import (
	"strings"
	"testing"
)

func FuzzControl(f *testing.F) {
	for _, name := range []string{"control-other.txt", "control-22.05-over.txt", "control-22.05-waiting.txt"} {
		for line := range strings.Lines(fixture(f, name)) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		j, ok := parseControlLine(strings.TrimSpace(line))
		if ok && (Ref{ID: j.ID}).Check() != nil {
			t.Fatalf("%q is taken for the job %q", line, j.ID)
		}
		if ok && (j.Limit < 0 || j.NodeCount < 0 || j.Restarts < 0) {
			t.Fatalf("%+v", j)
		}
		_, _ = j.Ending(), j.Ended(0)
	})
}

func FuzzQueue(f *testing.F) {
	for line := range strings.Lines(fixture(f, "queue-22.05.txt")) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if j, ok := cut(line, columns); ok && (Ref{ID: j.ID}).Check() != nil {
			t.Fatalf("%q is taken for the job %q", line, j.ID)
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"n[1-3,07]x,login", "r[1-2]n[1-2]", "a]b[", "[[1]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		if names, err := Expand(list); err == nil && len(names) > maxHosts {
			t.Fatalf("%d names", len(names))
		}
	})
}

func FuzzAnswers(f *testing.F) {
	f.Add("12|CANCELLED by 1|0:15|x|y|z|p|u|2|n[1-2]", "12")
	f.Add("srun: error: node[2-4]: tasks 1-2,5: Killed", "QOSMaxCpuPerUserLimit")
	f.Fuzz(func(t *testing.T, out, word string) {
		_, _ = parseAccount(out, word)
		_, _ = ParseTaskFailure(out)
		_, _ = ParseStepEnd(out)
		_, _ = parseSubmitted(out)
		_, _ = parseLimit(word)
		_, _ = Words(word), parseState(word)
		_ = parseVersion(out)
		if len(message(out)) > maxMessage+8 {
			t.Fatal("long")
		}
	})
}
