// Package prove measures a GPU that computes for this program, and whether it computes right: what scripts/gpu.sh leaves as JSON.
// It goes through parts, each a process of its own with a budget of time, so that one that fails, hangs or takes its process down
// costs the others nothing. The emulated device walks through the same parts, with tiny sizes.
//
// Start reading at All, then Measure; report.go is what is written.
package prove

import (
	"context"
	"fmt"
	"sort"
	"time"

	"boost-tui/kernels"
)

// Options of one part.
type Options struct {
	Device string // cuda or emulated
	Tiny   bool   // sizes that an emulated device has time for
	// Budget is the time after which a part begins nothing more; what it leaves out it names. 0: it takes what it takes.
	Budget time.Duration
	// Open opens a device of a kind for a rank of n in this process.
	Open func(kind string) func(rank, n int) (kernels.Device, error)
}

// measurement is a part that a process measures by itself.
type measurement func(context.Context, *bench) (any, error)

func measurements() map[string]measurement {
	m := map[string]measurement{
		PartGoldenFP32: func(ctx context.Context, b *bench) (any, error) { return b.golden(ctx, kernels.F32) },
		PartGoldenBF16: func(ctx context.Context, b *bench) (any, error) { return b.golden(ctx, kernels.BF16) },
		PartAgainstCPU: func(ctx context.Context, b *bench) (any, error) { return b.againstCPU(ctx) },
		PartProducts:   func(ctx context.Context, b *bench) (any, error) { return b.products(ctx) },
		PartAttention:  func(ctx context.Context, b *bench) (any, error) { return b.attention(ctx) },
		PartElements:   func(ctx context.Context, b *bench) (any, error) { return b.elements(ctx) },
		partSmallStep:  func(ctx context.Context, b *bench) (any, error) { return b.smallStep(ctx) },
	}
	for _, s := range stepParts {
		m[s.name] = func(ctx context.Context, b *bench) (any, error) { return b.train(ctx, s) }
	}
	return m
}

// Names are those of the parts that Measure knows.
func Names() (names []string) {
	for n := range measurements() {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Measure does a part in this process and gives its result, also beside an error that says that a check in it did not hold.
func Measure(ctx context.Context, part string, o Options) (any, error) {
	do, ok := measurements()[part]
	if !ok {
		return nil, fmt.Errorf("part %q is unknown; there are %v", part, Names())
	}
	b := &bench{Options: o, part: part}
	if o.Budget > 0 {
		b.until = time.Now().Add(o.Budget)
	}
	out, err := do(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", part, err)
	}
	if h, ok := out.(interface{ held() error }); ok {
		return out, h.held()
	}
	return out, nil
}
