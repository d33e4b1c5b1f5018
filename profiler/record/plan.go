package record

// ModelShape is the model's shape in run.json, under the names of PROFILING.md §6.
type ModelShape struct {
	D        int `json:"d"`
	FF       int `json:"ff"`
	Layers   int `json:"layers"`
	Heads    int `json:"heads"`
	Vocab    int `json:"vocab"`
	RankAttn int `json:"rank_attn"`
	RankMLP  int `json:"rank_mlp"`
}

// PlanFields are what comparisons of runs look at besides the model's shape, in run.json under the names of PROFILING.md §6.
type PlanFields struct {
	Scheme  string `json:"scheme"`
	Variant string `json:"variant"`
	Norm    string `json:"norm"`
	Grouped bool   `json:"grouped"`
	Ckpt    string `json:"ckpt"` // recomputation
	TP      int    `json:"tp"`
	PP      int    `json:"pp"`
	DP      int    `json:"dp"`
	Zero    int    `json:"zero"`
	SP      bool   `json:"sp"`
	Link    string `json:"link,omitempty"` // that messages were slowed down to; empty: none
	MBS     int    `json:"mbs"`
	Acc     int    `json:"acc"`
	Seq     int    `json:"seq"`
	DType   string `json:"dtype"`
	Device  string `json:"device"`
	Size    string `json:"size,omitempty"`
	Seed    uint64 `json:"seed"`
	Data    string `json:"data,omitempty"`
}
