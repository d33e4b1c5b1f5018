package trainer

import (
	"math"
	"testing"

	"boost-tui/trainer/checkpoint"
)

// half are meshes and variants in BF16, of which each saves and restores masters in its own way.
var half = map[string]map[string]string{
	"cola":             {"variant": "cola", "tp": "2", "accumulate": "2"},
	"slices":           {"variant": "cola", "dp": "2", "zero": "1"},
	"lax dense":        {"variant": "lax", "lax-gate": "dense", "scheme": "vanilla", "tp": "2"},
	"loro":             {"variant": "loro", "loro-every": "2", "tp": "2"},
	"loro in slices":   {"variant": "loro", "loro-every": "2", "dp": "2", "zero": "1"},
	"relora in slices": {"variant": "relora", "relora-every": "2", "dp": "2", "zero": "1"},
	"sltrain":          {"variant": "sltrain", "sltrain-delta": "0.2", "tp": "2", "dp": "2", "zero": "1"},
	"stages":           {"variant": "cola", "pp": "2", "accumulate": "2"},
}

// TestResumeInBF16IsBitIdentical stops in the middle and goes on, and compares with the run that never stopped: what is saved are the
// masters, and the weights are rounded from them.
func TestResumeInBF16IsBitIdentical(t *testing.T) {
	for name, set := range half {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := with(set, "device", "emulated", "dtype", "bf16", "steps", "7")
			whole := (&job{e: small(t, set)}).run(t).ok(t)
			first := (&job{e: small(t, with(set, "stop-after", "3"))}).run(t).ok(t)
			second := (&job{e: small(t, with(set, "resume", checkpoint.Dir(first.dir, 3)))}).run(t).ok(t)
			a, b := losses(t, whole.dir, 0), losses(t, second.dir, 0)
			if d := apart(a[3:], b); len(b) != 4 || d != 0 {
				t.Errorf("%d losses, %g apart: %v, %v", len(b), d, a, b)
			}
			last := contents(t, checkpoint.Dir(whole.dir, 7))
			same(t, name, last, contents(t, checkpoint.Dir(second.dir, 7)))
			if fine(last["embed.weight"]) == 0 {
				t.Error("what is saved is rounded to BF16")
			}
		})
	}
}

// fine counts the elements that BF16 could not hold.
func fine(data string) int {
	n := 0
	for i := 0; i < len(data); i += 4 {
		if data[i] != 0 || data[i+1] != 0 {
			n++
		}
	}
	return n
}

// TestResumeInBF16OnAnotherMesh goes on from slices of two replicas on one rank.
func TestResumeInBF16OnAnotherMesh(t *testing.T) {
	set := map[string]string{"device": "emulated", "dtype": "bf16", "steps": "6"}
	first := (&job{e: small(t, with(set, "dp", "2", "zero", "1", "stop-after", "3"))}).run(t).ok(t)
	whole := (&job{e: small(t, with(set, "dp", "2", "zero", "1"))}).run(t).ok(t)
	second := (&job{e: small(t, with(set, "accumulate", "2", "resume", checkpoint.Dir(first.dir, 3)))}).run(t).ok(t)
	a, b := losses(t, whole.dir, 0)[3:], losses(t, second.dir, 0)
	if len(b) != 3 || math.Abs(a[0]-b[0]) > 1e-3 {
		t.Errorf("%v, on one rank %v", a, b)
	}
}

// TestInitFromBF16 starts runs in fp32 and in BF16 from a BF16 run whose frozen matrices are BF16 in its checkpoint.
func TestInitFromBF16(t *testing.T) {
	set := map[string]string{"variant": "relora", "relora-every": "2", "steps": "4", "lr": "1e-9", "weight-decay": "0"}
	half := []string{"device", "emulated", "dtype", "bf16"}
	from := (&job{e: small(t, with(with(set, half...), "steps", "3"))}).run(t).ok(t)
	first := map[string]string{"init-from": checkpoint.Dir(from.dir, 3)}
	want := losses(t, from.dir, 0)[0]
	for name, e := range map[string]map[string]string{
		"fp32": with(set, "init-from", first["init-from"]), "bf16": with(with(set, half...), "init-from", first["init-from"]),
		"dense": with(map[string]string{"variant": "full", "steps": "2", "lr": "1e-9"}, "init-from", first["init-from"]),
	} {
		got := losses(t, (&job{e: small(t, e)}).run(t).ok(t).dir, 0)[0]
		if math.Abs(got-want) > 1e-2 {
			t.Errorf("%s: the first loss is %g, of the run that it starts from %g", name, got, want)
		}
	}
}
