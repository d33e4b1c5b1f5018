// Package experiment says what to run: the model, its variant, the tensor-parallel scheme and
// everything else that a run depends on, as one plain value.
//
// An Experiment has three views that cannot drift apart, because one registry (Keys) drives them:
// flags and the UI's form go through Set and Get, files through ParseTOML and TOML. It starts from
// Default, where values that depend on other values are left open (0 or ""); Resolve fills those in, and
// Validate names every rule that the resolved value breaks, with the nearest values that work.
//
// Start reading at Experiment, then keys.go. The package imports nothing of the program.
package experiment

// Variant is how the linears of a block are parametrised (METHOD.md §2).
type Variant string

// Variants.
const (
	Full    Variant = "full"
	SVD     Variant = "svd"
	CoLA    Variant = "cola"
	LaX     Variant = "lax"
	LORO    Variant = "loro"
	ReLoRA  Variant = "relora"
	SLTrain Variant = "sltrain"
)

// LowRank reports whether the variant's linears are products of two factors and nothing else, so that
// vanilla and btp fit it. ReLoRA and SLTrain hold a dense operator beside their factors (METHOD.md §3.1).
func (v Variant) LowRank() bool { return v == SVD || v == CoLA || v == LaX || v == LORO }

// Schemes lists the tensor-parallel schemes that fit the variant, the default first.
func (v Variant) Schemes() []Scheme {
	if v.LowRank() {
		return []Scheme{BTP, Vanilla}
	}
	return []Scheme{FullRank}
}

// Scheme is how a block's linears are spread over the ranks of a tensor-parallel group (METHOD.md §3).
type Scheme string

// Schemes.
const (
	FullRank Scheme = "full-rank"
	Vanilla  Scheme = "vanilla"
	BTP      Scheme = "btp"
)

// Values of keys that code compares with.
const (
	NormOnline   = "online"
	NormSync     = "sync"
	FP32         = "fp32"
	BF16         = "bf16"
	DeviceAuto   = "auto"
	DeviceCPU    = "cpu"
	DeviceCUDA   = "cuda"
	DeviceEmu    = "emulated"
	DataEmbedded = "embedded"
	DataAuto     = "auto" // what the file, or the description beside it, says
	DataUint16   = "uint16"
	DataUint32   = "uint32"
	Joined       = "joined" // documents follow each other without a gap
	Separated    = "separated"

	NonFiniteStop = "stop"
	NonFiniteGoOn = "go-on"

	WhereLocal   = "local"
	WhereSSH     = "ssh"
	WhereSlurm   = "slurm"
	GateIdentity = "identity" // of LaX's crossings
	GateVector   = "vector"
	GateDense    = "dense"

	RecomputeNone    = none
	RecomputeLowRank = "low-rank"
	RecomputeFull    = "full"

	none = "none"
	on   = "on"
	off  = "off"
)

// Experiment is everything that a run depends on. The JSON form (run.json) and the TOML form use the same
// names and nesting. Fields that say "open" are filled in by Resolve when they are 0 or empty.
type Experiment struct {
	Name     string   `json:"name"`
	Tags     []string `json:"tags"`
	Model    Model    `json:"model"`
	Parallel Parallel `json:"parallel"`
	Step     Step     `json:"step"`
	Train    Train    `json:"train"`
	Where    Where    `json:"where"`
}

// Model is the decoder. Size names a preset that fills in what is open.
type Model struct {
	Size      string  `json:"size"`
	D         int     `json:"d"`      // width; open
	Layers    int     `json:"layers"` // open
	Heads     int     `json:"heads"`  // open
	FF        int     `json:"ff"`     // width of the MLP; open
	Vocab     int     `json:"vocab"`  // open
	Variant   Variant `json:"variant"`
	Rank      int     `json:"rank"`       // open; 0 when resolved for a variant without factors
	RankAttn  int     `json:"rank-attn"`  // open: Rank
	RankMLP   int     `json:"rank-mlp"`   // open: Rank
	KeepSiLU  string  `json:"keep-silu"`  // on or off: silu between gate and up (METHOD.md §2, only_lr_act); open
	NormEps   float64 `json:"norm-eps"`   // inside the root of RMSNorm
	RopeTheta float64 `json:"rope-theta"` // base of the rotary frequencies

	// Of one variant each; open, and empty when resolved for another (METHOD.md §2).
	LaXGate      string  `json:"lax-gate"`      // identity, vector or dense
	LaXBase      Variant `json:"lax-base"`      // svd or cola: what the crossings are added to
	ReLoRAAlpha  float64 `json:"relora-alpha"`  // the factors' product counts alpha/rank
	SLTrainAlpha float64 `json:"sltrain-alpha"` // the same
	SLTrainDelta float64 `json:"sltrain-delta"` // share of a matrix that its sparse part holds
}

// Parallel is how ranks share the work.
type Parallel struct {
	Scheme Scheme `json:"scheme"` // open
	TP     int    `json:"tp"`
	PP     int    `json:"pp"`
	DP     int    `json:"dp"`
	Zero   int    `json:"zero"` // ZeRO stage
	SP     bool   `json:"sp"`   // sequence parallelism
	Link   string `json:"link"` // interconnect that messages are slowed down to, as ParseLink reads it; empty: none
}

// Step is the shape of one training step.
type Step struct {
	MicroBatch int    `json:"micro-batch"` // sequences per micro-batch and data-parallel rank; open
	Accumulate int    `json:"accumulate"`  // micro-batches per step
	Seq        int    `json:"seq"`         // tokens per sequence; open
	Norm       string `json:"norm"`        // online or sync (METHOD.md §3.5)
	Grouping   bool   `json:"grouping"`    // METHOD.md §3.6
	Recompute  string `json:"recompute"`   // none, low-rank or full
	DType      string `json:"dtype"`       // open
	Device     string `json:"device"`
}

// Train is what happens over the steps.
type Train struct {
	Steps           int     `json:"steps"`
	Warmup          int     `json:"warmup"` // steps; may exceed Steps
	LR              float64 `json:"lr"`     // peak learning rate
	Schedule        string  `json:"schedule"`
	WeightDecay     float64 `json:"weight-decay"`
	Beta1           float64 `json:"beta1"`
	Beta2           float64 `json:"beta2"`
	Eps             float64 `json:"eps"`  // of AdamW
	Clip            float64 `json:"clip"` // global gradient norm; 0: no clipping
	Seed            uint64  `json:"seed"`
	Data            string  `json:"data"`             // embedded, or files and folders, each with a weight
	DataDType       string  `json:"data-dtype"`       // of the tokens of .bin files
	Documents       string  `json:"documents"`        // joined or separated
	DocumentToken   string  `json:"document-token"`   // its id, or empty: see EndOfDocument
	EvalData        string  `json:"eval-data"`        // as Data; empty: a part of Data is held out
	EvalEvery       int     `json:"eval-every"`       // steps; 0: never
	EvalBatches     int     `json:"eval-batches"`     // of a step's size, in each evaluation
	CheckpointEvery int     `json:"checkpoint-every"` // steps; 0: at the end only
	KeepLast        int     `json:"keep-last"`        // checkpoints; 0: none is written
	Resume          string  `json:"resume"`           // folder of the checkpoint to continue, in a run's record
	InitFrom        string  `json:"init-from"`        // what weights start from; empty: they are drawn
	OnNonFinite     string  `json:"on-nonfinite"`     // stop or go-on
	UpdateRatio     int     `json:"update-ratio"`     // steps between measurements; 0: never
	StopAfter       int     `json:"stop-after"`       // end the run after so many steps; 0: after Steps

	// Of one variant each; open, and empty when resolved for another (METHOD.md §2).
	LOROEvery      int    `json:"loro-every"`       // steps from exact step to exact step
	LORORefresh    int    `json:"loro-refresh"`     // steps between clearings of the moments; open: loro-every
	ReLoRAEvery    int    `json:"relora-every"`     // steps from merge to merge
	ReLoRAKeepStep string `json:"relora-keep-step"` // on or off: a merge leaves AdamW's step count as it is
	RestartWarmup  int    `json:"restart-warmup"`   // of loro and relora: steps of warm-up after every exact step or merge
}

// Cycle is the number of steps after which LORO steps exactly or ReLoRA merges; 0 for other variants.
func (t Train) Cycle() int { return max(t.LOROEvery, t.ReLoRAEvery) }

// Where is the place that a run is started on.
type Where struct {
	Where       string `json:"where"`
	Nodes       int    `json:"nodes"`
	GPUsPerNode int    `json:"gpus-per-node"`
	Hosts       string `json:"hosts"`
	Account     string `json:"account"`
	Partition   string `json:"partition"`
	Time        string `json:"time"`
	Setup       string `json:"setup"`
	QOS         string `json:"qos"`
	Constraint  string `json:"constraint"`
	Interface   string `json:"interface"` // network interface, or IP address, that ranks of different hosts reach each other by; empty: the one that leads to the others
	MaxRestarts int    `json:"max-restarts"`
	// HeartbeatTimeout is how long, in seconds, a host may be silent before it counts as lost.
	HeartbeatTimeout int `json:"heartbeat-timeout"`
}

// Default is the experiment that a user who says nothing gets: tiny, CoLA, on this machine. Open values are open.
func Default() Experiment {
	return Experiment{
		Tags:     []string{}, // not nil: JSON readers want a list
		Model:    Model{Size: "tiny", Variant: CoLA, NormEps: 1e-6, RopeTheta: 10000},
		Parallel: Parallel{TP: 1, PP: 1, DP: 1},
		Step:     Step{Accumulate: 1, Norm: NormOnline, Grouping: true, Recompute: none, Device: DeviceAuto},
		Train: Train{Steps: 100, Warmup: 20, LR: 3e-3, Schedule: "cosine", WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95,
			Eps: 1e-8, Clip: 1, Seed: 1, Data: DataEmbedded, DataDType: DataAuto, Documents: Joined, EvalBatches: 4, KeepLast: 2,
			OnNonFinite: NonFiniteStop},
		Where: Where{Where: WhereLocal, Nodes: 1, HeartbeatTimeout: 15},
	}
}

// TokensPerStep is the number of tokens that one optimizer step of a resolved experiment sees, over all data-parallel ranks.
func (e Experiment) TokensPerStep() int64 {
	return int64(e.Step.MicroBatch) * int64(e.Step.Accumulate) * int64(e.Step.Seq) * int64(e.Parallel.DP)
}

// StepsToRun is how many steps a run trains: fewer than its schedule has where it is to stop before.
func (e Experiment) StepsToRun() int {
	if n := e.Train.StopAfter; n > 0 {
		return min(n, e.Train.Steps)
	}
	return e.Train.Steps
}

// World is the number of ranks.
func (e Experiment) World() int { return e.Parallel.TP * e.Parallel.PP * e.Parallel.DP }
