// Package golden holds reference cases, weights and tokens with the losses, gradients and final parameters that an
// independent float64 implementation gives (METHOD.md §5), and verifies devices and schemes against them.
//
// Start reading at Verify.
package golden

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"boost-tui/experiment"
)

// ErrFit is what errors.Is finds where a case cannot run as asked: wrong input, not a failed check.
var ErrFit = errors.New("the case does not fit")

// Case is one reference case.
type Case struct {
	Name      string             `json:"name"`
	Format    string             `json:"format"`
	Config    Config             `json:"config"`
	Optimizer Optimizer          `json:"optimizer"`
	Batch     int                `json:"batch"`
	Seq       int                `json:"seq"`
	Steps     int                `json:"steps"`
	Weights   string             `json:"weights"` // file beside the case
	TPOK      []int              `json:"tp_ok"`
	VanillaOK []int              `json:"vanilla_tp_ok"`
	Expected  Expected           `json:"expected"`
	Gradients map[string]Example `json:"grads_step0"`

	tensors map[string]Tensor
	tokens  [][]int32 // one slice per step
}

// Config is the case's decoder, in the names of the files.
type Config struct {
	DModel    int     `json:"d_model"`
	Heads     int     `json:"heads"`
	Layers    int     `json:"layers"`
	DFF       int     `json:"d_ff"`
	Vocab     int     `json:"vocab"`
	Rank      int     `json:"rank"`
	Eps       float64 `json:"eps"`
	RopeTheta float64 `json:"rope_theta"`
	Variant   string  `json:"variant"`
	OnlyLRAct bool    `json:"only_lr_act"` // absent: the MLP's silu is kept
	LaxGate   string  `json:"lax_gate"`
	LaxBase   string  `json:"lax_base"`
	Alpha     float64 `json:"alpha"`    // relora, sltrain: the factors' product counts alpha/rank
	Sparsity  float64 `json:"sparsity"` // sltrain
}

// Optimizer is AdamW, or LORO's, with a learning rate for each step.
type Optimizer struct {
	Beta1       float64   `json:"beta1"`
	Beta2       float64   `json:"beta2"`
	Eps         float64   `json:"eps"`
	WeightDecay float64   `json:"weight_decay"`
	GradClip    float64   `json:"grad_clip"`
	LR          []float64 `json:"lr"`
	LoroFreq    int       `json:"loro_freq"`    // steps from exact step to exact step
	RefreshFreq int       `json:"refresh_freq"` // steps between clearings of the moments
	ReloraFreq  int       `json:"relora_freq"`  // steps from merge to merge
	KeepStep    bool      `json:"relora_keep_step"`
}

// Expected are the reference's numbers. Norms are L2.
type Expected struct {
	Loss       []float64          `json:"loss"`      // nats, before each update
	GradNorm   []float64          `json:"grad_norm"` // global, before clipping
	GradL2     map[string]float64 `json:"grad_l2_step0"`
	LossAfter  float64            `json:"loss_after"` // of the first batch with the final weights
	ParamFinal map[string]float64 `json:"param_l2_final"`
}

// Example is a whole gradient.
type Example struct {
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

// fileMax bounds what is read of a case from disk.
const fileMax = 1 << 30

//go:embed testdata
var embedded embed.FS

// Cases are the cases that come with the program, by name.
func Cases() ([]Case, error) {
	entries, err := embedded.ReadDir("testdata")
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	var out []Case
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		c, err := load(e.Name(), func(name string) ([]byte, error) { return embedded.ReadFile("testdata/" + name) })
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// LoadCase reads a case and the weights beside it.
func LoadCase(path string) (Case, error) {
	dir, name := filepath.Split(path)
	return load(name, func(name string) ([]byte, error) {
		full := filepath.Join(dir, name)
		info, err := os.Stat(full)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() || info.Size() > fileMax {
			return nil, fmt.Errorf("%s is not a file of at most %d bytes", full, fileMax)
		}
		return os.ReadFile(full)
	})
}

func load(name string, read func(string) ([]byte, error)) (Case, error) {
	data, err := read(name)
	if err != nil {
		return Case{}, fmt.Errorf("golden: case %s: %w", name, err)
	}
	c, err := ParseCase(data)
	if err != nil {
		return Case{}, fmt.Errorf("golden: case %s: %w", name, err)
	}
	if c.Weights == "" || filepath.Base(c.Weights) != c.Weights || !filepath.IsLocal(c.Weights) {
		return Case{}, fmt.Errorf("golden: case %s: weights %q is not the name of a file beside the case", name, c.Weights)
	}
	if data, err = read(c.Weights); err != nil {
		return Case{}, fmt.Errorf("golden: weights of case %s: %w", name, err)
	}
	if err := c.attach(data); err != nil {
		return Case{}, fmt.Errorf("golden: case %s: %s: %w", name, c.Weights, err)
	}
	return c, nil
}

// formatName begins the format of every case that can be read; a number of the version follows.
const formatName = "boost-oracle-golden/1"

// ParseCase reads the JSON half of a case.
func ParseCase(data []byte) (Case, error) {
	var c Case
	if err := json.Unmarshal(data, &c); err != nil {
		return Case{}, err
	}
	if c.Format != formatName {
		return Case{}, fmt.Errorf("format %q, want %q", c.Format, formatName)
	}
	if c.Steps < 1 || len(c.Expected.Loss) != c.Steps || len(c.Expected.GradNorm) != c.Steps || len(c.Optimizer.LR) != c.Steps {
		return Case{}, fmt.Errorf("%d steps with %d losses, %d gradient norms and %d learning rates",
			c.Steps, len(c.Expected.Loss), len(c.Expected.GradNorm), len(c.Optimizer.LR))
	}
	for _, n := range []int{c.Batch, c.Seq, c.Config.DModel, c.Config.Heads, c.Config.Layers, c.Config.DFF, c.Config.Vocab} {
		if n < 1 || n > math.MaxInt32 {
			return Case{}, fmt.Errorf("a size of the case is %d", n)
		}
	}
	return c, nil
}

// attach adds the weights and tokens.
func (c *Case) attach(data []byte) error {
	var err error
	if c.tensors, err = ParseSafetensors(data); err != nil {
		return err
	}
	t := c.tensors["tokens"]
	if want := []int{c.Steps, c.Batch, c.Seq + 1}; !slices.Equal(t.Shape, want) || t.I64 == nil {
		return fmt.Errorf("tokens of shape %v, want I64 %v", t.Shape, want)
	}
	per := c.Batch * (c.Seq + 1)
	for s := range c.Steps {
		line := make([]int32, per)
		for i, id := range t.I64[s*per : (s+1)*per] {
			if id < 0 || id >= int64(c.Config.Vocab) {
				return fmt.Errorf("token %d of step %d is outside the vocabulary of %d", id, s, c.Config.Vocab)
			}
			line[i] = int32(id)
		}
		c.tokens = append(c.tokens, line)
	}
	return nil
}

// Schemes lists the schemes that the case's variant can run under, the default first; none when the variant is unknown.
func (c Case) Schemes() []experiment.Scheme {
	switch v := experiment.Variant(c.Config.Variant); v {
	case experiment.Full, experiment.SVD, experiment.CoLA, experiment.LaX, experiment.LORO, experiment.ReLoRA, experiment.SLTrain:
		return v.Schemes()
	default:
		return nil
	}
}

// Recomputes lists the ways of recomputing that differ under a scheme.
func (c Case) Recomputes(s experiment.Scheme) []string {
	if s == experiment.FullRank { // low-rank means none
		return []string{experiment.RecomputeNone, experiment.RecomputeFull}
	}
	return []string{experiment.RecomputeNone, experiment.RecomputeLowRank, experiment.RecomputeFull}
}

// TPs lists the tensor-parallel degrees that the case fits under a scheme.
func (c Case) TPs(s experiment.Scheme) []int {
	if s == experiment.Vanilla {
		return c.VanillaOK
	}
	return c.TPOK
}

// Fits says why the case cannot run as asked; the error wraps ErrFit.
func (c Case) Fits(o Options) error {
	o.TP, o.DP, o.PP = max(o.TP, 1), max(o.DP, 1), max(o.PP, 1)
	s, tp := o.Scheme, o.TP
	schemes := c.Schemes()
	if len(schemes) == 0 {
		return fmt.Errorf("%w: case %s: variant %q is unknown", ErrFit, c.Name, c.Config.Variant)
	}
	if !slices.Contains(schemes, s) {
		return fmt.Errorf("%w: case %s: variant %s does not run under scheme %q, only under %s", ErrFit, c.Name, c.Config.Variant, s, join(schemes))
	}
	if !slices.Contains(c.TPs(s), tp) {
		return fmt.Errorf("%w: case %s under %s runs on tp %s, not %d", ErrFit, c.Name, s, strings.Trim(fmt.Sprint(c.TPs(s)), "[]"), tp)
	}
	for _, r := range []struct {
		wrong  bool
		reason string
	}{
		{c.Batch%o.DP != 0, fmt.Sprintf("its %d sequences cannot be shared by dp %d", c.Batch, o.DP)},
		{c.Config.Layers%o.PP != 0, fmt.Sprintf("its %d layers cannot be shared by pp %d", c.Config.Layers, o.PP)},
		{o.Zero > 1, fmt.Sprintf("there is no zero %d, only 0 and 1", o.Zero)},
		{o.Zero == 1 && o.DP == 1, "zero 1 slices the optimizer over dp, which is 1"},
		{o.SP && s != experiment.FullRank, fmt.Sprintf("sequence parallelism is for scheme %s, not %s", experiment.FullRank, s)},
		{o.SP && tp == 1, "sequence parallelism splits tokens over tp, which is 1"},
		{o.SP && c.Batch/o.DP*c.Seq%tp != 0, fmt.Sprintf("sequence parallelism cannot split %d tokens over tp %d", c.Batch/o.DP*c.Seq, tp)},
	} {
		if r.wrong {
			return fmt.Errorf("%w: case %s: %s", ErrFit, c.Name, r.reason)
		}
	}
	return nil
}

func join(schemes []experiment.Scheme) string {
	var out []string
	for _, s := range schemes {
		out = append(out, string(s))
	}
	return strings.Join(out, ", ")
}
