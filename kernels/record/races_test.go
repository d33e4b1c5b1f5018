package record

import (
	"reflect"
	"strings"
	"testing"

	"boost-tui/kernels"
)

func exec(t *testing.T, d *Device) *kernels.Exec {
	t.Helper()
	x, err := kernels.NewExec(d)
	if err != nil {
		t.Fatal(err)
	}
	x.Phase(kernels.Forward, 0)
	x.At(0, "c")
	return x
}

func TestRaces(t *testing.T) {
	for _, tc := range []struct {
		name  string
		run   func(x *kernels.Exec, c kernels.Comm, v, w kernels.View)
		races []string // operation that comes too early
	}{
		{"fenced", func(x *kernels.Exec, c kernels.Comm, v, w kernels.View) {
			x.Do("fill", &kernels.Fill{X: v})
			p := x.StartReduce("q", c, v)
			x.Do("other", &kernels.Fill{X: w})
			p.Wait()
			x.Do("use", &kernels.Copy{Src: v, Dst: w})
		}, nil},
		{"no wait", func(x *kernels.Exec, c kernels.Comm, v, w kernels.View) {
			x.StartReduce("q", c, v)
			x.Do("use", &kernels.Copy{Src: v, Dst: w})
		}, []string{"use"}},
		{"overwritten before the wait", func(x *kernels.Exec, c kernels.Comm, v, w kernels.View) {
			p := x.StartReduce("q", c, v)
			x.Do("overwrite", &kernels.Fill{X: v.ColRange(3, 4)})
			p.Wait()
		}, []string{"overwrite"}},
		{"wait for another", func(x *kernels.Exec, c kernels.Comm, v, w kernels.View) {
			p := x.StartReduce("k", c, w)
			x.StartReduce("q", c, v)
			p.Wait()
			x.Do("k used", &kernels.Fill{X: w})
			x.Do("q used", &kernels.Fill{X: v})
		}, []string{"q used"}},
		{"a later collective covers an earlier", func(x *kernels.Exec, c kernels.Comm, v, w kernels.View) {
			x.StartReduce("q", c, v)
			x.StartReduce("k", c, w).Wait()
			x.Do("q used", &kernels.Fill{X: v})
		}, nil},
		{"a gather's source may be read", func(x *kernels.Exec, c kernels.Comm, v, w kernels.View) {
			out, err := x.Dev.Alloc("out", 4, false)
			x.Fail(err)
			one := kernels.Matrix(out, 0, 1, 1, kernels.F32)
			x.Start("gather", c, kernels.Part{Kind: kernels.AllGather, Send: v.RowRange(0, 2).Flat(), Recv: w.Flat()})
			x.Do("read source", &kernels.SumSq{X: v, Out: one})
			x.Do("read result", &kernels.SumSq{X: w, Out: one})
		}, []string{"read result"}},
		{"sent memory is overwritten", func(x *kernels.Exec, c kernels.Comm, v, w kernels.View) {
			p := x.StartSend("act", c, 1, v)
			x.Do("read", &kernels.Copy{Src: v, Dst: w})
			x.Do("overwrite", &kernels.Fill{X: v})
			p.Wait()
			x.Do("later", &kernels.Fill{X: v})
		}, []string{"overwrite"}},
		{"received memory is read", func(x *kernels.Exec, c kernels.Comm, v, w kernels.View) {
			p, q := x.StartRecv("act", c, 1, v), x.StartSend("grad", c, 1, w)
			x.Do("early", &kernels.SumSq{X: v.RowRange(0, 1).ColRange(0, 1), Out: v.RowRange(1, 2).ColRange(0, 1)})
			p.Wait()
			x.Do("now", &kernels.SumSq{X: v.RowRange(0, 1).ColRange(0, 1), Out: v.RowRange(1, 2).ColRange(0, 1)})
			q.Wait()
		}, []string{"early"}},
		{"compute not waited for", func(x *kernels.Exec, c kernels.Comm, v, w kernels.View) {
			s, err := x.Dev.NewStream("side")
			x.Fail(err)
			x.Do("fill", &kernels.Fill{X: v})
			x.Fail(x.Dev.Do(kernels.Call{Stream: s, Label: kernels.Label{Op: "early"}}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v.Flat()}}}))
		}, []string{"early"}},
	} {
		d := open(t)
		v, w := alloc(t, d, 4, 8, kernels.F32), alloc(t, d, 4, 8, kernels.F32)
		x := exec(t, d)
		tc.run(x, join(t, d, 2), v, w)
		if x.Err() != nil {
			t.Errorf("%s: %v", tc.name, x.Err())
			continue
		}
		var got []string
		for _, r := range d.Races() {
			got = append(got, d.Calls()[r.Later].Label.Op)
			if !strings.Contains(r.String(), "without waiting") {
				t.Errorf("%s: %s", tc.name, r)
			}
		}
		if !reflect.DeepEqual(got, tc.races) {
			t.Errorf("%s: races at %q, want %q: %v", tc.name, got, tc.races, d.Races())
		}
	}
}

func TestWaits(t *testing.T) {
	d := open(t)
	v := alloc(t, d, 4, 8, kernels.F32)
	x := exec(t, d)
	x.Do("0", &kernels.Fill{X: v})
	p := x.StartReduce("1", join(t, d, 2), v)
	x.Do("2", &kernels.SumSq{X: alloc(t, d, 1, 1, kernels.F32), Out: alloc(t, d, 1, 1, kernels.F32)})
	p.Wait()
	x.Do("3", &kernels.Fill{X: v})
	x.Do("4", &kernels.Fill{X: v})
	var got [][]int
	for _, c := range d.Calls() {
		got = append(got, c.Waits)
	}
	if want := [][]int{nil, {0}, nil, {1}, nil}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func BenchmarkDo(b *testing.B) {
	d := open(b)
	x, y, z := alloc(b, d, 64, 64, kernels.F32), alloc(b, d, 64, 64, kernels.F32), alloc(b, d, 64, 64, kernels.F32)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Do(kernels.Call{}, &kernels.Gemm{Alpha: 1, A: x, B: y, D: z}); err != nil {
			b.Fatal(err)
		}
	}
}
