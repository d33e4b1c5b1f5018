package experiment

import "fmt"

// Preset is a named model shape. Rank is the default rank of the low-rank variants.
type Preset struct {
	Name                              string
	D, Layers, Heads, FF, Vocab, Rank int
	MicroBatch, Seq                   int
	Source                            string // where the shape comes from
	Assumption                        bool   // the shape is this project's guess, not published
}

// presets: METHOD.md §1 (60m to 350m), PUBLISHED.md (1b to 30b), DESIGN.md (tiny, 40b).
var presets = [...]Preset{
	{"tiny", 128, 4, 4, 352, 256, 32, 8, 128, "ours: bytes as tokens, trains on a laptop", false},
	{"60m", 512, 8, 8, 1376, 32000, 128, 1, 4096, "CoLA's and LORO's configurations", false},
	{"130m", 768, 12, 12, 2048, 32000, 256, 1, 4096, "CoLA's and LORO's configurations (rank d/3)", false},
	{"350m", 1024, 24, 16, 2736, 32000, 256, 1, 4096, "CoLA's and LORO's configurations", false},
	{"1b", 2048, 24, 32, 5472, 32000, 512, 1, 4096, "BOOST's configuration", false},
	{"3b", 3072, 28, 24, 8192, 32000, 768, 1, 4096, "BOOST's configuration (28 layers)", false},
	{"7b", 4096, 32, 32, 11008, 32000, 1024, 1, 4096, "BOOST's configuration", false},
	{"13b", 5120, 40, 40, 13824, 32000, 1280, 1, 4096, "BOOST's configuration", false},
	{"30b", 8192, 36, 64, 22016, 32000, 2048, 1, 4096, "BOOST's configuration", false},
	{"40b", 8192, 48, 64, 22016, 32000, 2048, 1, 4096, "our assumption: BOOST names 40B but publishes no shape", true},
}

// Presets lists the named shapes, smallest first.
func Presets() []Preset { return append([]Preset(nil), presets[:]...) }

// PresetOf finds a named shape.
func PresetOf(name string) (Preset, error) {
	for _, p := range presets {
		if p.Name == name {
			return p, nil
		}
	}
	names := presetNames()
	return Preset{}, fmt.Errorf("size %q is unknown; nearest: %s; there are %s", name, closest(name, names), list(names))
}

func presetNames() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	return names
}

// siluWidth is the width of the largest model whose CoLA configuration keeps SwiGLU's silu (130m; METHOD.md §2).
const siluWidth = 768

// Resolve makes every value explicit: the preset's shape, the rank (a quarter of d; 130m: a third), the
// scheme that fits the variant, micro-batch and sequence of the size, the device and its type. What was set
// stays as it was, also where it is zero by intent (weight-decay, clip, warmup). Resolving twice changes nothing.
// The one error is an unknown size; Validate finds the others.
func (e Experiment) Resolve() (Experiment, error) {
	r, err := e.resolveModel()
	if err != nil {
		return e, err
	}
	if r.Step.Device == "" || r.Step.Device == DeviceAuto {
		r.Step.Device = DeviceCPU
	}
	orString(&r.Step.DType, dtypeOf(r.Step.Device))
	return r, nil
}

// ResolveForPlan is Resolve for a prediction: an experiment that names no device keeps "auto" and is
// computed in bf16 (DESIGN.md, names).
func (e Experiment) ResolveForPlan() (Experiment, error) {
	if e.Step.Device != "" && e.Step.Device != DeviceAuto {
		return e.Resolve()
	}
	r, err := e.resolveModel()
	if err != nil {
		return e, err
	}
	r.Step.Device = DeviceAuto
	orString(&r.Step.DType, BF16)
	return r, nil
}

func dtypeOf(device string) string {
	if device == DeviceCUDA {
		return BF16
	}
	return FP32
}

func (e Experiment) resolveModel() (Experiment, error) {
	m, s := &e.Model, &e.Step
	orString(&m.Size, "tiny")
	p, err := PresetOf(m.Size)
	if err != nil {
		return e, err
	}
	orInt(&m.D, p.D)
	orInt(&m.Layers, p.Layers)
	orInt(&m.Heads, p.Heads)
	orInt(&m.FF, p.FF)
	orInt(&m.Vocab, p.Vocab)
	orInt(&s.MicroBatch, p.MicroBatch)
	orInt(&s.Seq, p.Seq)
	if m.Variant == "" {
		m.Variant = CoLA
	}
	e.forget()
	m.resolveRanks(p)
	e.resolveVariant()
	if m.KeepSiLU == "" {
		m.KeepSiLU = on
		if (m.Variant == CoLA || m.LaXBase == CoLA) && m.D > siluWidth {
			m.KeepSiLU = off
		}
	}
	if e.Parallel.Scheme == "" {
		e.Parallel.Scheme = m.Variant.Schemes()[0]
	}
	return e, nil
}

// forget empties what means nothing to the variant, whatever was asked.
func (e *Experiment) forget() {
	for _, k := range keys {
		if !k.Means(e.Model.Variant) {
			_ = k.set(e, auto) // every such key is open
		}
	}
}

// resolveVariant fills in what one variant alone has.
func (e *Experiment) resolveVariant() {
	m, t := &e.Model, &e.Train
	switch m.Variant {
	case LaX:
		orString(&m.LaXGate, GateIdentity)
		orString((*string)(&m.LaXBase), string(SVD))
	case SLTrain:
		orFloat(&m.SLTrainAlpha, defaultAlpha)
		orFloat(&m.SLTrainDelta, 0.03)
	case LORO:
		every := 500
		if m.D > 1024 {
			every = 200
		}
		orInt(&t.LOROEvery, every)
		orInt(&t.LORORefresh, t.LOROEvery)
		orInt(&t.RestartWarmup, max(1, min(5, t.LOROEvery)))
	case ReLoRA:
		orFloat(&m.ReLoRAAlpha, defaultAlpha)
		orInt(&t.ReLoRAEvery, 500)
		orString(&t.ReLoRAKeepStep, on)
		orInt(&t.RestartWarmup, max(t.ReLoRAEvery/10, 1))
	}
}

// defaultAlpha is what both papers' configurations have.
const defaultAlpha = 32

// resolveRanks fills in the ranks of the variants that have them.
func (m *Model) resolveRanks(p Preset) {
	if m.Variant == Full {
		return
	}
	rank := max(m.D/4, 1)
	if m.D == p.D {
		rank = p.Rank
	}
	orInt(&m.Rank, rank)
	orInt(&m.RankAttn, m.Rank)
	orInt(&m.RankMLP, m.Rank)
}

func orInt(v *int, def int) {
	if *v == 0 {
		*v = def
	}
}

func orFloat(v *float64, def float64) {
	if *v == 0 {
		*v = def
	}
}

func orString(v *string, def string) {
	if *v == "" {
		*v = def
	}
}
