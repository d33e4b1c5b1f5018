package weights

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"boost-tui/experiment"
	"boost-tui/internal/regular"
)

// configFile is what Hugging Face's library writes beside weights.
const configFile = "config.json"

// maxConfig bounds it.
const maxConfig = 1 << 20

// foreignConfig is such a file. Numbers are json.Number.
type foreignConfig map[string]any

// config says in what the config.json beside the file contradicts an experiment. A file that describes no model says nothing.
func (s *file) config(e experiment.Experiment) []string {
	text, err := regular.ReadFile(filepath.Join(filepath.Dir(s.path), configFile), maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []string{fmt.Sprintf("%s beside it cannot be read: %v", configFile, err)}
	}
	c := foreignConfig{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&c); err != nil {
		return []string{fmt.Sprintf("%s beside it is damaged: %v", configFile, err)}
	}
	if c["model_type"] == nil && c["hidden_size"] == nil {
		return nil
	}
	reasons := append(c.numbers(e), c.kinds(e)...)
	if c["tie_word_embeddings"] == false && s.tied() {
		reasons = append(reasons, fmt.Sprintf("there is no tensor %q, and tie_word_embeddings of its %s is false", Foreign("lm_head.weight"), configFile))
	}
	return reasons
}

// numbers compares what has a key here. Where LLaMA's configuration says nothing, its default holds.
func (c foreignConfig) numbers(e experiment.Experiment) (reasons []string) {
	m := e.Model
	theta := "rope_theta"
	if inner, ok := c["rope_parameters"].(map[string]any); ok && inner[theta] != nil { // as later versions write it
		c[theta] = inner[theta]
	}
	if c["model_type"] == "llama" {
		for key, v := range map[string]string{"rms_norm_eps": "1e-6", theta: "10000"} {
			if c[key] == nil {
				c[key] = json.Number(v)
			}
		}
	}
	for _, x := range []struct {
		name, key string
		want      float64
	}{{"hidden_size", "d", float64(m.D)}, {"intermediate_size", "ff", float64(m.FF)}, {"num_hidden_layers", "layers", float64(m.Layers)},
		{"num_attention_heads", "heads", float64(m.Heads)}, {"num_key_value_heads", "heads", float64(m.Heads)}, {"head_dim", "d/heads", float64(m.D / m.Heads)},
		{"vocab_size", "vocab", float64(m.Vocab)}, {"rms_norm_eps", "norm-eps", m.NormEps}, {theta, "rope-theta", m.RopeTheta},
		{"partial_rotary_factor", "here", 1}} {
		if c[x.name] == nil {
			continue
		}
		n, _ := c[x.name].(json.Number) // else it is no number, and contradicts
		if v, err := n.Float64(); err != nil || v != x.want {
			reasons = append(reasons, fmt.Sprintf("%s of its %s is %v, %s is %s", x.name, configFile, c[x.name], x.key, strconv.FormatFloat(x.want, 'g', -1, 64)))
		}
	}
	return reasons
}

// kinds compares what there is one kind of here.
func (c foreignConfig) kinds(e experiment.Experiment) (reasons []string) {
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	if kind := c["model_type"]; kind != nil && kind != "llama" {
		say("model_type of its %s is %v, and models of llama are read", configFile, kind)
	}
	for _, key := range []string{"attention_bias", "mlp_bias"} {
		if c[key] == true {
			say("%s of its %s is true, and linears have no bias here", key, configFile)
		}
	}
	for _, key := range []string{"rope_scaling", "rope_parameters"} {
		scaling, ok := c[key].(map[string]any)
		if !ok {
			continue
		}
		for _, of := range []string{"rope_type", "type"} {
			if kind := scaling[of]; kind != nil && kind != "default" {
				say("%s of its %s is %v, and rotary frequencies are not scaled here", key, configFile, kind)
				break
			}
		}
	}
	act := c["hidden_act"]
	if act == nil && c["model_type"] == "llama" {
		act = "silu"
	}
	silu := map[string]string{"silu": "on", "swish": "on", "linear": "off"}
	name, _ := act.(string)
	if keep := silu[name]; act != nil && keep != e.Model.KeepSiLU {
		say("hidden_act of its %s is %v, keep-silu is %s", configFile, act, e.Model.KeepSiLU)
	}
	return reasons
}
