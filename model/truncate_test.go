package model

import (
	"math"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// TestLoadTruncated compares with the singular value decomposition, for wide, tall and square matrices, on two ranks.
func TestLoadTruncated(t *testing.T) {
	cfg := Config{D: 24, Layers: 1, Heads: 2, FF: 40, Vocab: 10, RankAttn: 6, RankMLP: 8, Eps: 1e-5, Theta: 10000, Variant: experiment.SVD,
		Scheme: experiment.BTP, Batch: 1, Seq: 2, Micros: 1, Seed: 9}
	for _, linear := range []string{"layers.0.q", "layers.0.gate", "layers.0.down"} {
		var mu sync.Mutex
		whole := map[string][]float64{}
		onRanks(t, 2, func(rank int, dev kernels.Device, tp kernels.Comm) error {
			d, err := New(cfg, dev, tp)
			if err != nil {
				return err
			}
			a, b := d.params[d.byName[linear+".A"]], d.params[d.byName[linear+".B"]]
			g := newRandom(5, linear)
			w := make([]float32, b.Rows*a.Cols)
			for i := range w {
				w[i] = float32(g.normal(uint64(i)))
			}
			if err := d.LoadTruncated(t.Context(), linear, w); err != nil {
				return err
			}
			for _, p := range []Param{a, b} {
				part, _, err := d.ReadWeight(t.Context(), p.Name)
				if err != nil {
					return err
				}
				mu.Lock()
				if whole[p.Name] == nil {
					whole[p.Name] = make([]float64, p.Rows*p.Cols)
				}
				for i, x := range part {
					whole[p.Name][p.Global(int64(i))] = float64(x)
				}
				mu.Unlock()
			}
			if rank == 1 {
				return nil
			}
			if err := d.LoadTruncated(t.Context(), linear, w[1:]); err == nil {
				t.Error("a matrix that is too short is taken")
			}
			w[3] = float32(math.Inf(1))
			if err := d.LoadTruncated(t.Context(), linear, w); err == nil {
				t.Error("an infinite element is taken")
			}
			return nil
		})
		out, in, r := 24, 24, 6
		if linear == "layers.0.gate" {
			out, r = 40, 8
		}
		if linear == "layers.0.down" {
			in, r = 40, 8
		}
		g := newRandom(5, linear)
		w := mat.NewDense(out, in, nil)
		for i := range out * in {
			w.Set(i/in, i%in, float64(float32(g.normal(uint64(i)))))
		}
		var svd mat.SVD
		svd.Factorize(w, mat.SVDThin)
		var u, v, want, got mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		s := svd.Values(nil)[:r]
		want.Product(u.Slice(0, out, 0, r), mat.NewDiagDense(r, s), v.Slice(0, in, 0, r).T())
		a, b := mat.NewDense(r, in, whole[linear+".A"]), mat.NewDense(out, r, whole[linear+".B"])
		got.Mul(b, a)
		if !mat.EqualApprox(&got, &want, 1e-5) {
			t.Errorf("%s: not the closest product", linear)
		}
		var ga, gb mat.Dense
		ga.Mul(a, a.T())
		gb.Mul(b.T(), b)
		if !mat.EqualApprox(&ga, mat.NewDiagDense(r, s), 1e-4) || !mat.EqualApprox(&gb, &ga, 1e-4) {
			t.Errorf("%s: not balanced", linear)
		}
	}
}
