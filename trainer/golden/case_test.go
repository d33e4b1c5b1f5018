package golden

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// copyCase writes an embedded case into a folder, changed.
func copyCase(t *testing.T, name string, change func(json, weights string) (string, string)) string {
	t.Helper()
	j, err := embedded.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	w, err := embedded.ReadFile("testdata/" + name + ".safetensors")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	jt, wt := change(string(j), string(w))
	for file, text := range map[string]string{name + ".json": jt, name + ".safetensors": wt} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, name+".json")
}

func TestLoadCase(t *testing.T) {
	same := func(j, w string) (string, string) { return j, w }
	c, err := LoadCase(copyCase(t, "cola_1layer", same))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Verify(t.Context(), c, Options{TP: 2, Open: open(false)})
	if err != nil || !r.OK || r.Scheme != experiment.BTP {
		t.Errorf("%+v, %v", r, err)
	}
	for name, k := range map[string]struct {
		change func(j, w string) (string, string)
		want   string
	}{
		"format":      {func(j, w string) (string, string) { return strings.Replace(j, formatName, "x/9", 1), w }, "format"},
		"cut weights": {func(j, w string) (string, string) { return j, w[:len(w)/2] }, "data_offsets"},
		"cut json":    {func(j, w string) (string, string) { return j[:len(j)/2], w }, "unexpected end"},
		"no weights":  {func(j, w string) (string, string) { return j, "" }, "weights of case"},
		"other folder": {func(j, w string) (string, string) {
			return strings.Replace(j, `"cola_1layer.s`, `"../cola_1layer.s`, 1), w
		}, "beside the case"},
		"steps": {func(j, w string) (string, string) { return strings.Replace(j, `"steps": 5`, `"steps": 4`, 1), w }, "4 steps with 5"},
		"token": {func(j, w string) (string, string) { return strings.Replace(j, `"vocab": 96`, `"vocab": 9`, 1), w }, "vocabulary of 9"},
	} {
		if _, err := LoadCase(copyCase(t, "cola_1layer", k.change)); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: %v, want %q", name, err, k.want)
		}
	}
	if _, err := LoadCase(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestNotFinite trains with an infinite loss: the report stays valid JSON and is not OK.
func TestNotFinite(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	ranks := open(false)
	r, err := Verify(context.Background(), cases[0], Options{Open: func(rank, n int) (kernels.Device, error) {
		d, err := ranks(rank, n)
		return &mistaken{Device: d, wrong: func(m *mistaken, call kernels.Call, op kernels.Op) (kernels.Op, error) {
			if o, ok := op.(*kernels.XentLoss); ok {
				return op, m.Device.Do(call, &kernels.Fill{X: o.Loss, Value: float32(math.Inf(1))})
			}
			return op, nil
		}}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil || r.OK || len(r.Misses) > missesMax {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestOpenFails(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no such device")
	ranks := open(false)
	_, err = Verify(context.Background(), cases[0], Options{TP: 2, Open: func(rank, n int) (kernels.Device, error) {
		if rank == 1 {
			return nil, broken
		}
		return ranks(rank, n)
	}})
	if !errors.Is(err, broken) || errors.Is(err, ErrFit) {
		t.Error(err)
	}
}
