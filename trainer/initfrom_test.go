package trainer

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/trainer/checkpoint"
	"boost-tui/trainer/weights"
)

// exported writes the weights of a run's last checkpoint.
func exported(t testing.TB, dir string, o weights.ExportOptions) (string, error) {
	t.Helper()
	found, _, err := checkpoint.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := weights.OpenCheckpoint(found)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	_, err = weights.Export(t.Context(), c, path, o)
	return path, err
}

// evaluated is the first loss of a run that starts from weights and learns nothing.
func evaluated(t testing.TB, from string, set map[string]string) float64 {
	t.Helper()
	j := (&job{cpu: true, e: small(t, with(set, "init-from", from, "steps", "1", "lr", "0", "weight-decay", "0"))}).run(t).ok(t)
	return losses(t, j.dir, 0)[0]
}

// TestWeightsTravel: what a variant has learnt is a LLaMA's full-rank model of the same loss, wherever its linears are matrices; with factors it is itself
// again; and the rank of factors that start from a matrix limits what they keep of it.
func TestWeightsTravel(t *testing.T) {
	for name, set := range resumable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := with(set, "tp", "2", "steps", "12", "data", "embedded")
			first := (&job{cpu: true, e: small(t, set)}).run(t).ok(t)
			want := evaluated(t, checkpoint.Dir(first.dir, 12), set)
			if own, err := exported(t, first.dir, weights.ExportOptions{Factors: true}); err != nil || math.Abs(evaluated(t, own, set)-want) > 1e-6 {
				t.Errorf("with factors: %v", err)
			}
			path, err := exported(t, first.dir, weights.ExportOptions{})
			if nonlinear := name == "cola" || strings.HasPrefix(name, "lax"); nonlinear != (err != nil) {
				t.Fatalf("%v", err)
			} else if nonlinear {
				return
			}
			micro := map[string]string{"variant": "full", "tp": "2"}
			if got := evaluated(t, path, micro); math.Abs(got-want) > 2e-5 {
				t.Errorf("as a full-rank model: loss %v, want %v", got, want)
			}
			if got := evaluated(t, checkpoint.Dir(first.dir, 12), micro); math.Abs(got-want) > 2e-5 {
				t.Errorf("from the checkpoint itself: loss %v, want %v", got, want)
			}
			if got := evaluated(t, path, map[string]string{"variant": "svd", "rank": "16", "tp": "2"}); math.Abs(got-want) > 2e-5 {
				t.Errorf("as factors of full rank: loss %v, want %v", got, want)
			}
			low := evaluated(t, path, map[string]string{"variant": "svd", "rank": "4", "tp": "2"})
			if name == "svd" || name == "loro" { // of rank 4 already
				if math.Abs(low-want) > 2e-5 {
					t.Errorf("as factors of its own rank: loss %v, want %v", low, want)
				}
			} else if low == want {
				t.Errorf("factors of rank 4 lose nothing: %v", low)
			}
			if got := evaluated(t, path, map[string]string{"variant": "relora", "tp": "2"}); math.Abs(got-want) > 2e-5 {
				t.Errorf("as a frozen matrix: loss %v, want %v", got, want)
			}
		})
	}
}

func TestInitFromRefused(t *testing.T) {
	first := (&job{e: small(t, map[string]string{"variant": "full", "steps": "2"})}).run(t).ok(t)
	path, err := exported(t, first.dir, weights.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		set  map[string]string
		want string
	}{
		"cola":   {map[string]string{"variant": "cola"}, "starts from weights of its own kind"},
		"width":  {map[string]string{"variant": "full", "d": "32"}, "hidden_size of its config.json is 16, d is 32"},
		"layers": {map[string]string{"variant": "full", "layers": "3"}, "num_hidden_layers of its config.json is 2, layers is 3"},
		"ff":     {map[string]string{"variant": "svd", "ff": "32"}, "ff is 32"},
		"silu":   {map[string]string{"variant": "full", "keep-silu": "off"}, "keep-silu is off, the file's on"},
		"heads":  {map[string]string{"variant": "svd", "heads": "2"}, "heads is 2, the file's 4"},
		"theta":  {map[string]string{"variant": "full", "rope-theta": "500000"}, "rope-theta is 500000, the file's 10000"},
		"eps":    {map[string]string{"variant": "full", "norm-eps": "1e-5"}, "norm-eps is 1e-05, the file's 1e-06"},
	} {
		j := (&job{e: small(t, with(c.set, "init-from", path))}).run(t)
		if j.errs[0] == nil || !strings.Contains(j.errs[0].Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, j.errs[0], c.want)
		}
	}
}

// TestFunctionStays: weights of one function do not become those of another, whether they are a checkpoint or its factors in a file.
func TestFunctionStays(t *testing.T) {
	for _, c := range []struct {
		name     string
		set, now map[string]string
		want     string
	}{
		{"gates dropped", map[string]string{"variant": "lax", "lax-gate": "vector"}, map[string]string{"lax-gate": "identity"}, "lax-gate is identity"},
		{"base changed", map[string]string{"variant": "lax", "lax-base": "svd"}, map[string]string{"lax-base": "cola"}, "lax-base is cola"},
		{"alpha of relora", map[string]string{"variant": "relora"}, map[string]string{"relora-alpha": "8"}, "relora-alpha is 8"},
		{"alpha of sltrain", map[string]string{"variant": "sltrain", "sltrain-delta": "0.2"}, map[string]string{"sltrain-alpha": "8"}, "sltrain-alpha is 8"},
		{"silu", map[string]string{"variant": "cola"}, map[string]string{"keep-silu": "off"}, "keep-silu is off"},
		{"variant", map[string]string{"variant": "svd"}, map[string]string{"variant": "cola"}, "cola"},
		{"matrix without factors", map[string]string{"variant": "cola"}, map[string]string{"variant": "full"}, "variant is full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			first := (&job{e: small(t, with(c.set, "steps", "2"))}).run(t).ok(t)
			path, err := exported(t, first.dir, weights.ExportOptions{Factors: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, from := range []string{checkpoint.Dir(first.dir, 2), path} {
				set := with(c.set, "init-from", from)
				for k, v := range c.now {
					set[k] = v
				}
				j := (&job{e: small(t, set)}).run(t)
				if j.errs[0] == nil || !strings.Contains(j.errs[0].Error(), c.want) {
					t.Errorf("%s: %v, want %q", filepath.Base(from), j.errs[0], c.want)
				}
			}
		})
	}
}

// TestForeignFile reads a file as Hugging Face's library writes it, in other types and with a tied head, and what is exported has its names.
func TestForeignFile(t *testing.T) {
	first := (&job{e: small(t, map[string]string{"variant": "full", "steps": "2"})}).run(t).ok(t)
	path, err := exported(t, first.dir, weights.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(data)
	var header map[string]json.RawMessage
	if err := json.Unmarshal(data[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model.embed_tokens.weight", "model.layers.1.self_attn.q_proj.weight", "model.layers.0.mlp.down_proj.weight",
		"model.layers.1.input_layernorm.weight", "model.layers.1.post_attention_layernorm.weight", "model.norm.weight", "lm_head.weight"} {
		if header[name] == nil {
			t.Errorf("no %s in %d names", name, len(header))
		}
	}
	if len(header) != 2*9+3+1 {
		t.Errorf("%d names", len(header))
	}
	want := evaluated(t, path, map[string]string{"variant": "full"})
	// the same in bfloat16
	arrays, body := map[string]checkpoint.Array{}, []byte{}
	for name, raw := range header {
		var a checkpoint.Array
		if name == "__metadata__" || json.Unmarshal(raw, &a) != nil {
			continue
		}
		from, elements := len(body), data[8+n:][a.Range[0]:a.Range[1]]
		for i := 0; i < len(elements); i += 4 {
			body = append(body, elements[i+2], elements[i+3])
		}
		arrays[name] = checkpoint.Array{DType: "BF16", Shape: a.Shape, Range: [2]int64{int64(from), int64(len(body))}}
	}
	head, err := checkpoint.EncodeHeader(arrays, nil)
	if err != nil {
		t.Fatal(err)
	}
	brief := filepath.Join(t.TempDir(), "bf16.safetensors")
	if err := os.WriteFile(brief, append(head, body...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := evaluated(t, brief, map[string]string{"variant": "full"}); math.Abs(got-want) > 1e-3 || got == want {
		t.Errorf("in bfloat16: loss %v, want about %v", got, want)
	}
	config, err := os.ReadFile(filepath.Join(filepath.Dir(path), "config.json"))
	if err != nil || !strings.Contains(string(config), `"hidden_size": 16`) {
		t.Errorf("%s, %v", config, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s", "model"))); err == nil {
		t.Error("something hidden is left")
	}
}
