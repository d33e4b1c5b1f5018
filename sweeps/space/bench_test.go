package space

import (
	"testing"

	"boost-tui/planner"
)

// The promise: 100,000 points of at most 100 shapes are expanded and pruned within 5 s.
func BenchmarkExpand(b *testing.B) {
	for _, tc := range []struct {
		name string
		axes []string
		set  []string
		mem  int64
	}{
		{"tiny", []string{"scheme=vanilla,btp", "tp=1,2", "rank=4..100+4", "lr=1e-4..1e-2/10log", "seed=1..100"}, nil, 1 << 40},
		{"40b-pruned-by-memory", []string{"scheme=vanilla,btp", "tp=1,2", "rank=64..1600+64", "lr=1e-4..1e-2/10log", "seed=1..100"}, []string{"size=40b"}, 1 << 30},
		{"broken", []string{"scheme=vanilla,btp", "tp=3,5", "rank=4..100+4", "lr=1e-4..1e-2/10log", "seed=1..100"}, nil, 1 << 40},
	} {
		s := spec(b, tc.axes, tc.set...)
		s.Twins = true
		s.Constraints = []string{"rank <= d && lr > 0", "variant == 'cola' || tp == 1"}
		b.Run(tc.name, func(b *testing.B) {
			for b.Loop() {
				x, err := Expand(b.Context(), s, planner.Machine{MemBytes: tc.mem})
				if x == nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(x.Raw), "points")
				b.ReportMetric(float64(x.Shapes), "shapes")
			}
		})
	}
}
