package trainer

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"boost-tui/internal/wallclock"
	"boost-tui/kernels"
	"boost-tui/profiler/record"
	"boost-tui/step"
)

// ratios measures how far a step moves every tensor: the L2 norm of its change over that of the tensor before it. A rank
// looks at what it writes into checkpoints, and rank 0 puts the parts together.
type ratios struct {
	r        *rank
	share    []piece
	at       []int64
	old, now *kernels.Host
}

// moved is what a rank knows of a tensor: the sums of squares of its change and of itself.
type moved struct {
	Name   string  `json:"name"`
	Change float64 `json:"change"`
	Square float64 `json:"square"`
}

// newRatios prepares the measurement; nil where none was asked for.
func (r *rank) newRatios(s *step.Step) *ratios {
	if r.spec.Experiment.Train.UpdateRatio == 0 {
		return nil
	}
	at, err := r.mesh.Coordinate(r.spec.Rank)
	if err != nil {
		return nil
	}
	m := &ratios{r: r}
	trained := slices.DeleteFunc(s.State(), func(s step.Slot) bool { return s.Kind != step.Weight || s.Param.Grad.IsZero() })
	bytes := int64(0)
	for _, p := range shareOf(trained, at) {
		if p.ints == nil {
			m.share, m.at = append(m.share, p), append(m.at, bytes)
			bytes += p.view.Bytes()
		}
	}
	m.at = append(m.at, bytes)
	return m
}

// before keeps the weights as they are before a step that is measured.
func (m *ratios) before(ctx context.Context, step int) error {
	if m == nil || !due(step, m.r.spec.Experiment.Train.UpdateRatio) {
		return nil
	}
	return m.read(ctx, &m.old)
}

// after measures, and tells rank 0.
func (m *ratios) after(ctx context.Context, step int) error {
	if m == nil || !due(step, m.r.spec.Experiment.Train.UpdateRatio) {
		return nil
	}
	if err := m.read(ctx, &m.now); err != nil {
		return err
	}
	own := make([]moved, len(m.share))
	for i, p := range m.share {
		own[i] = moved{Name: p.item.Name}
		for at := m.at[i]; at < m.at[i+1]; at += 4 {
			a, b := number(m.old, at), number(m.now, at)
			own[i].Change += (b - a) * (b - a)
			own[i].Square += a * a
		}
	}
	all, err := m.gather(ctx, own)
	if err != nil || m.r.spec.Rank > 0 {
		return err
	}
	return m.tell(step, all)
}

func number(h *kernels.Host, at int64) float64 {
	return float64(math.Float32frombits(binary.NativeEndian.Uint32(h.Bytes[at:])))
}

func (m *ratios) read(ctx context.Context, host **kernels.Host) error {
	dev := m.r.dev.flight
	if *host == nil {
		var err error
		if *host, err = dev.Host(max(m.at[len(m.share)], 1)); err != nil {
			return err
		}
	}
	for i, p := range m.share {
		if p.view.Len() == 0 {
			continue
		}
		label := kernels.Label{Phase: kernels.Data, Layer: -1, Chunk: "update-ratio", Op: p.item.Name}
		if err := dev.Do(kernels.Call{Label: label}, &kernels.Download{Src: p.view, Dst: *host, Offset: m.at[i]}); err != nil {
			return err
		}
	}
	return dev.Sync(ctx, dev.Compute())
}

// gather brings the ranks' sums together on rank 0.
func (m *ratios) gather(ctx context.Context, own []moved) (map[string]moved, error) {
	all := map[string]moved{}
	add := func(list []moved) {
		for _, v := range list {
			sum := all[v.Name]
			all[v.Name] = moved{v.Name, sum.Change + v.Change, sum.Square + v.Square}
		}
	}
	add(own)
	client := m.r.link.client
	if client == nil {
		return all, nil
	}
	key := func(rank int) string { return fmt.Sprintf("ratio/%d", rank) }
	if m.r.spec.Rank > 0 {
		text, err := json.Marshal(own)
		if err == nil {
			err = client.Set(ctx, key(m.r.spec.Rank), text)
		}
		if err != nil {
			return nil, fmt.Errorf("update ratios: %w", err)
		}
	}
	// One barrier when all have told, and one when all were heard.
	if err := m.r.link.barrier(ctx, "ratio", readyLimit); err != nil {
		return nil, fmt.Errorf("update ratios: %w", err)
	}
	for rank := 1; rank < m.r.spec.World && m.r.spec.Rank == 0; rank++ {
		text, err := client.Wait(ctx, key(rank), rank)
		var list []moved
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		if err != nil {
			return nil, fmt.Errorf("update ratios of rank %d: %w", rank, err)
		}
		add(list)
	}
	return all, m.r.link.barrier(ctx, "ratio heard", readyLimit)
}

// tell writes the ratios into the events, and a line for people.
func (m *ratios) tell(step int, all map[string]moved) error {
	data := map[string]any{}
	var list []moved
	for name, v := range all {
		ratio := 0.0
		if v.Square > 0 {
			ratio = math.Sqrt(v.Change / v.Square)
		}
		if notFinite(ratio) {
			continue // what JSON cannot hold: the step's own end says more
		}
		data[name] = ratio
		list = append(list, moved{Name: name, Change: ratio})
	}
	slices.SortFunc(list, func(a, b moved) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(list, func(a, b moved) int {
		switch {
		case a.Change > b.Change:
			return -1
		case a.Change < b.Change:
			return 1
		}
		return 0
	})
	var texts []string
	for _, v := range list {
		texts = append(texts, fmt.Sprintf("%s %.3g", v.Name, v.Change))
	}
	m.r.logf("update ratios of step %d: %s", step, strings.Join(texts, ", "))
	return m.r.event(&record.EventLine{Kind: record.EventNote, TSNanos: wallclock.UnixNano(), Code: "update-ratio",
		Msg: fmt.Sprintf("how far step %d moved each tensor", step), Data: map[string]any{"step": step, "ratios": data}})
}
