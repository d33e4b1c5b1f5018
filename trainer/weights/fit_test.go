package weights

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/trainer/checkpoint"
)

// foreign writes a LLaMA of zeros with more tensors than it has, and opens it.
func foreign(t testing.TB, e experiment.Experiment, more map[string][]float32, config string) Source {
	t.Helper()
	arrays, body := map[string]checkpoint.Array{}, []byte{}
	add := func(name string, shape []int64, values []float32) {
		from := int64(len(body))
		for _, v := range values {
			body = binary.LittleEndian.AppendUint32(body, math.Float32bits(v))
		}
		arrays[name] = checkpoint.Array{DType: "F32", Shape: shape, Range: [2]int64{from, int64(len(body))}}
	}
	for name, shape := range wanted(e, true) {
		n := int64(1)
		for _, s := range shape {
			n *= s
		}
		add(Foreign(name), shape, make([]float32, n))
	}
	for name, values := range more {
		add(name, []int64{int64(len(values))}, values)
	}
	head, err := checkpoint.EncodeHeader(arrays, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := os.WriteFile(path, append(head, body...), 0o600); err != nil {
		t.Fatal(err)
	}
	if config != "" {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), configFile), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func experimentOf(t testing.TB, set map[string]string) experiment.Experiment {
	t.Helper()
	e := experiment.Default()
	for k, v := range map[string]string{"variant": "full", "d": "16", "layers": "2", "heads": "2", "ff": "24", "vocab": "32"} {
		if err := e.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range set {
		if err := e.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestForeignTensors(t *testing.T) {
	e := experimentOf(t, nil)
	freq := []float32{1, 0.1, 0.01, 0.001}
	const at = "model.layers.0.self_attn."
	for _, c := range []struct {
		name string
		more map[string][]float32
		set  map[string]string
		want string // empty: it fits
	}{
		{name: "plain"},
		{name: "bias", more: map[string][]float32{at + "q_proj.bias": make([]float32, 16)}, want: `no place for tensor "model.layers.0.self_attn.q_proj.bias"`},
		{name: "norm of q", more: map[string][]float32{at + "q_norm.weight": make([]float32, 8)}, want: `"model.layers.0.self_attn.q_norm.weight"`},
		{name: "layers", set: map[string]string{"layers": "1"}, want: "no place for 9 tensors"},
		{name: "too few layers", set: map[string]string{"layers": "3"}, want: `there is no tensor "model.layers.2.`},
		{name: "heads of frequencies", more: map[string][]float32{at + "rotary_emb.inv_freq": freq}},
		{name: "another theta", more: map[string][]float32{at + "rotary_emb.inv_freq": freq}, set: map[string]string{"rope-theta": "500000"}, want: "another rope-theta"},
		{name: "other heads", more: map[string][]float32{at + "rotary_emb.inv_freq": freq}, set: map[string]string{"heads": "4"}, want: "heads of 8 channels"},
		{name: "shape", set: map[string]string{"ff": "32"}, want: `down_proj.weight" is [16 24], wanted is [16 32]`},
		{name: "svd", set: map[string]string{"variant": "svd", "rank": "4"}},
		{name: "cola", set: map[string]string{"variant": "cola"}, want: "starts from weights of its own kind"},
	} {
		check(t, c.name, Check(foreign(t, e, c.more, ""), experimentOf(t, c.set)), c.want)
	}
}

func check(t *testing.T, name string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

func TestForeignConfig(t *testing.T) {
	e := experimentOf(t, nil)
	for config, want := range map[string]string{
		`{"model_type": "llama", "hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": null}`: "",
		`{"name": "something else"}`:                                                    "",
		`{"model_type": "llama", "num_attention_heads": 4}`:                             "num_attention_heads of its config.json is 4, heads is 2",
		`{"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1}`:   "num_key_value_heads of its config.json is 1",
		`{"model_type": "llama", "rope_theta": 500000.0}`:                               "rope_theta of its config.json is 500000.0, rope-theta is 10000",
		`{"model_type": "llama", "rope_parameters": {"rope_theta": 500000}}`:            "rope_theta of its config.json is 500000",
		`{"model_type": "llama", "rope_scaling": {"rope_type": "llama3", "factor": 8}}`: "is llama3",
		`{"model_type": "llama", "rope_scaling": null, "rms_norm_eps": 1e-05}`:          "rms_norm_eps of its config.json is 1e-05, norm-eps is 1e-06",
		`{"model_type": "llama", "attention_bias": true}`:                               "attention_bias",
		`{"model_type": "llama", "mlp_bias": true}`:                                     "mlp_bias",
		`{"model_type": "llama", "hidden_act": "gelu"}`:                                 "hidden_act of its config.json is gelu",
		`{"model_type": "qwen2", "hidden_size": 16}`:                                    "model_type of its config.json is qwen2",
		`{"model_type": "llama", "head_dim": 128}`:                                      "head_dim of its config.json is 128",
		`{"model_type": "llama", "hidden_size": "wide"}`:                                "hidden_size",
		`{"model_type": `: "damaged",
	} {
		check(t, config, Check(foreign(t, e, nil, config), e), want)
	}
	untied := foreign(t, e, nil, `{"model_type": "llama", "tie_word_embeddings": false}`).(*file)
	check(t, "head", Check(untied, e), "")
	delete(untied.arrays.Arrays, "lm_head.weight")
	check(t, "no head", Check(untied, e), "tie_word_embeddings of its config.json is false")
	tied := foreign(t, e, nil, `{"model_type": "llama", "tie_word_embeddings": true}`).(*file)
	delete(tied.arrays.Arrays, "lm_head.weight")
	check(t, "tied", Check(tied, e), "")
	if text := Taken(tied, e); text != "as they are; the head starts from the embedding, and is trained by itself" {
		t.Error(text)
	}
	off := experimentOf(t, map[string]string{"keep-silu": "off"})
	check(t, "silu", Check(foreign(t, e, nil, `{"model_type": "llama"}`), off), "hidden_act of its config.json is silu, keep-silu is off")
	eps := experimentOf(t, map[string]string{"norm-eps": "1e-5", "rope-theta": "500000"})
	check(t, "all said", Check(foreign(t, e, nil, `{"model_type": "llama", "rms_norm_eps": 1e-5, "rope_theta": 5e5}`), eps), "")
}

func TestOpenOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "words.safetensors")
	if err := os.WriteFile(path, []byte("These are words, and no tensors.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	check(t, "text", err, "is not a safetensors file")
	_, err = Open(path + "x")
	check(t, "missing", err, "no such file")
}
