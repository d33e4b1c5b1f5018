package weights

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/checkpoint"
)

// ErrExists says that a file is there already.
var ErrExists = errors.New("is there already; --force replaces it")

// ExportOptions say how to export.
type ExportOptions struct {
	Factors bool // keep factors and sparse parts as they are
	Force   bool // replace files
}

// output is a tensor to be written.
type output struct {
	name  string // ours; a linear's for a dense matrix
	dense bool
	array checkpoint.Array
}

// Export writes a checkpoint as one safetensors file of LLaMA, in fp32, and a config.json beside it. It gives the paths of both. Files appear whole or
// not at all.
func Export(ctx context.Context, c *Checkpoint, path string, o ExportOptions) ([]string, error) {
	config := filepath.Join(filepath.Dir(path), configFile)
	for _, p := range []string{path, config} {
		if _, err := os.Lstat(p); err == nil && !o.Force {
			return nil, fmt.Errorf("%s %w", p, ErrExists)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	list, err := c.outputs(o.Factors)
	if err != nil {
		return nil, err
	}
	if err := c.writeAll(ctx, path, list, o.Factors); err != nil {
		return nil, fmt.Errorf("export to %s: %w", path, err)
	}
	data, err := json.MarshalIndent(configOf(c.Manifest.Experiment, o.Factors), "", "  ")
	if err == nil {
		err = protocol.WriteFile(config, append(data, '\n'))
	}
	if err != nil {
		return nil, err
	}
	return []string{path, config}, nil
}

// outputs lists what is written, in a fixed order.
func (c *Checkpoint) outputs(factors bool) ([]output, error) {
	variant := c.Manifest.Experiment.Model.Variant
	if v := variant; !factors && (v == experiment.CoLA || v == experiment.LaX) {
		return nil, fmt.Errorf("a linear of variant %s %w of LLaMA: --factors writes what it consists of", v, ErrNotDense)
	}
	var list []output
	seen := map[string]bool{}
	at := int64(0)
	add := func(name, dtype string, shape []int64, dense bool) {
		n := int64(1)
		for _, s := range shape {
			n *= s
		}
		bytes := n * int64(checkpoint.Width(dtype))
		list = append(list, output{name, dense, checkpoint.Array{DType: dtype, Shape: shape, Range: [2]int64{at, at + bytes}}})
		at += bytes
	}
	tensors := slices.Clone(c.Manifest.Tensors)
	slices.SortFunc(tensors, func(a, b checkpoint.Tensor) int { return strings.Compare(Foreign(a.Name), Foreign(b.Name)) })
	for _, t := range tensors {
		if strings.HasPrefix(t.Name, checkpoint.FirstMoment) || strings.HasPrefix(t.Name, checkpoint.SecondMoment) {
			continue
		}
		linear := linearOf(t.Name)
		if factors || linear == "" || variant == experiment.Full {
			add(t.Name, t.DType, t.Shape, false)
			continue
		}
		if !seen[linear] {
			seen[linear] = true
			add(linear, "F32", []int64{c.Shape(linear + ".B")[0], c.Shape(linear + ".A")[1]}, true)
		}
	}
	return list, nil
}

// writeAll writes the file under a hidden name, one tensor after the other, and then gives it its own.
func (c *Checkpoint) writeAll(ctx context.Context, path string, list []output, factors bool) (err error) {
	arrays := make(map[string]checkpoint.Array, len(list))
	for _, o := range list {
		name := o.name
		if o.dense {
			name += ".weight"
		}
		arrays[Foreign(name)] = o.array
	}
	m := c.Manifest
	header, err := checkpoint.EncodeHeader(arrays, about(m, factors))
	if err != nil {
		return err
	}
	var mark [6]byte
	if _, err := rand.Read(mark[:]); err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+hex.EncodeToString(mark[:]))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, protocol.FileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(header)
	for _, o := range list {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			break
		}
		var data []byte
		if data, err = c.data(o); err == nil {
			_, err = f.Write(data)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}

// producer is who the header says has written the file.
const producer = "boost-tui"

// about is what the header says of the weights: config.json may be lost on the way, and does not know variants.
func about(m *checkpoint.Manifest, factors bool) map[string]string {
	text := map[string]string{"format": "pt", "producer": producer, "run": m.Run, "step": fmt.Sprint(m.Step), "variant": string(m.Experiment.Model.Variant)}
	keys := "heads " + checkpoint.Function
	if factors {
		keys += " " + checkpoint.Form
	}
	for _, key := range strings.Fields(keys) {
		if v := m.Experiment.Get(key); v != "" {
			text[key] = v
		}
	}
	return text
}

func (c *Checkpoint) data(o output) ([]byte, error) {
	if !o.dense {
		return c.bytes(o.name)
	}
	w, err := c.Dense(o.name)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, 4*len(w))
	for _, x := range w {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data, nil
}

// configOf is what Hugging Face's LLaMA wants to know of the model.
func configOf(e experiment.Experiment, factors bool) map[string]any {
	m := e.Model
	act := "silu"
	if m.KeepSiLU == "off" {
		act = "linear"
	}
	c := map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "hidden_act": act, "hidden_size": m.D, "intermediate_size": m.FF,
		"num_hidden_layers": m.Layers, "num_attention_heads": m.Heads, "num_key_value_heads": m.Heads, "vocab_size": m.Vocab,
		"max_position_embeddings": e.Step.Seq, "rms_norm_eps": m.NormEps, "rope_theta": m.RopeTheta, "tie_word_embeddings": false,
		"attention_bias": false, "mlp_bias": false, "torch_dtype": "float32",
	}
	if factors && m.Variant != experiment.Full {
		c["boost_variant"], c["boost_rank_attn"], c["boost_rank_mlp"] = m.Variant, m.RankAttn, m.RankMLP
	}
	return c
}
