package results

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"boost-tui/experiment"
)

// object writes a flat JSON object whose members keep their order. A name that is there already is not written again.
type object struct {
	b    bytes.Buffer
	seen map[string]bool
	err  error
}

func (o *object) add(name string, v any) {
	if o.err != nil || o.seen[name] {
		return
	}
	o.seen[name] = true
	data, err := json.Marshal(v)
	if err != nil {
		o.err = err
		return
	}
	key, err := json.Marshal(name)
	if err != nil {
		o.err = err
		return
	}
	if o.b.Len() > 0 {
		o.b.WriteByte(',')
	}
	o.b.Write(key)
	o.b.WriteByte(':')
	o.b.Write(data)
}

// bytes is the object.
func (o *object) bytes() ([]byte, error) {
	if o.err != nil {
		return nil, o.err
	}
	return append(append([]byte{'{'}, o.b.Bytes()...), '}'), nil
}

// text adds a text that is there.
func (o *object) text(name, v string) {
	if v != "" {
		o.add(name, v)
	}
}

// number adds a finite number that is known.
func (o *object) number(name string, v *float64) {
	if v != nil && !math.IsNaN(*v) && !math.IsInf(*v, 0) {
		o.add(name, *v)
	}
}

// key adds what a key of the experiment says: numbers as numbers, switches as true and false.
func (o *object) key(r *Row, name string) {
	v, ok := r.key(name)
	if !ok || v.Text == "" {
		return
	}
	k, _ := experiment.KeyOf(name)
	switch {
	case k.Kind == experiment.Switch:
		o.add(name, v.Text == "on")
	case v.IsNum && k.Kind == experiment.Int:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
			o.add(name, n) // a seed may have more digits than a float64
			return
		}
		o.add(name, v.Number)
	case v.IsNum:
		o.add(name, v.Number)
	default:
		o.add(name, v.Text)
	}
}

// frontJSON is Front with the points' ids.
type frontJSON struct {
	Metrics    []string `json:"metrics"`
	Points     []string `json:"points"`
	Overlapped []string `json:"overlapped,omitempty"`
	LossTie    float64  `json:"loss_tie"` // nats
}

// bestJSON is Best with the points' ids; absent: none is known.
type bestJSON struct {
	Size        string   `json:"size"`
	Points      int      `json:"points"`
	Metric      string   `json:"metric"`
	Fastest     string   `json:"fastest,omitempty"`
	LowestLoss  string   `json:"lowest_loss,omitempty"`
	LossTies    []string `json:"loss_ties,omitempty"`
	LeastMemory string   `json:"least_memory,omitempty"`
	Overlapped  []string `json:"overlapped,omitempty"` // of the points named, those that another run slowed
	Disturbed   int      `json:"disturbed,omitempty"`  // of all points of the size, how many
	// EmulatedDevice: of the points named, those on the emulated device, whose times say nothing about a GPU.
	EmulatedDevice []string `json:"emulated_device,omitempty"`
}

// MarshalJSON adds what stands out: the Pareto front and the best of each size, as ids of points.
func (t *Table) MarshalJSON() ([]byte, error) {
	type plain Table // without this method
	f := t.Pareto()
	front := frontJSON{f.Metrics, t.ids(f.Points...), t.ids(f.Overlapped...), LossTie}
	best := []bestJSON{}
	for _, b := range t.BestPerSize() {
		best = append(best, t.bestJSON(b))
	}
	return json.Marshal(struct {
		*plain
		Pareto frontJSON  `json:"pareto"`
		Best   []bestJSON `json:"best"`
	}{(*plain)(t), front, best})
}

func (t *Table) bestJSON(b Best) bestJSON {
	out := bestJSON{Size: b.Size, Points: b.Points, Metric: b.Metric, LossTies: t.ids(b.LossTies...), Disturbed: b.Disturbed}
	for _, of := range []struct {
		row  int
		into *string
	}{{b.Fastest, &out.Fastest}, {b.LowestLoss, &out.LowestLoss}, {b.LeastMemory, &out.LeastMemory}} {
		if of.row < 0 {
			continue
		}
		r := t.Rows[of.row]
		*of.into = r.Point
		if len(r.Overlapped) > 0 && !slices.Contains(out.Overlapped, r.Point) {
			out.Overlapped = append(out.Overlapped, r.Point)
		}
		if r.onEmulator() && !slices.Contains(out.EmulatedDevice, r.Point) {
			out.EmulatedDevice = append(out.EmulatedDevice, r.Point)
		}
	}
	return out
}

// ids of the points of rows.
func (t *Table) ids(rows ...int) []string {
	out := make([]string, len(rows))
	for i, at := range rows {
		out[i] = t.Rows[at].Point
	}
	return out
}

// MarshalJSON writes the row flat: the run, every axis under its key, then the figures under the names of Metrics but
// for speed-ups, which are objects, and the parts of a step, which are in breakdown.
func (r *Row) MarshalJSON() ([]byte, error) {
	o := &object{seen: map[string]bool{}}
	o.text("run", r.Run)
	o.text("point", r.Point)
	if r.Attempt > 0 {
		o.add("attempt", r.Attempt)
	}
	o.text("label", r.Label)
	for _, a := range r.axes {
		o.key(r, a)
	}
	for _, k := range always {
		o.key(r, k)
	}
	if r.Twin {
		o.add("twin", true)
	}
	o.add("state", r.Status)
	o.text("cause", r.Cause)
	o.text("stopped_by", r.Rule)
	if r.Partial {
		o.add("partial", true)
	}
	if r.Unfinished {
		o.add("unfinished", true)
	}
	if r.Err != nil {
		o.add("error", r.Err.Error())
	}
	o.text(fieldLink, r.Link())
	o.text(fieldEmulator, r.emulator())
	if r.Ranks > 0 {
		o.add("ranks", r.Ranks)
	}
	if r.Steps > 0 {
		o.add("steps_planned", r.Steps)
	}
	r.figures(o)
	if len(r.Earlier) > 0 {
		o.add("earlier", r.Earlier)
	}
	return o.bytes()
}

func (r *Row) figures(o *object) {
	for _, m := range metrics {
		switch m.Name {
		case VsFull:
			if r.VsFull != nil {
				o.add(m.Name, r.VsFull)
			}
		case VsVanilla:
			if r.VsVanilla != nil {
				o.add(m.Name, r.VsVanilla)
			}
		case "compute", "comm", "comm_exposed", "comm_wait", "comm_transfer", "overlap", "memory", "idle":
			if r.Figures.Breakdown != nil {
				o.add("breakdown", r.Figures.Breakdown)
			}
		default:
			o.number(m.Name, m.of(r))
		}
		if m.Name == StepTime && len(r.Figures.StepTimeCI) == 2 {
			o.add("ci", r.Figures.StepTimeCI)
		}
	}
	if r.Figures.ID != "" {
		o.add("short", r.Figures.Short)
	}
	if len(r.Overlapped) > 0 {
		o.add("overlapped", r.Overlapped)
	}
}
