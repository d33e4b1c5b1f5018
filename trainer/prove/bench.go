package prove

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"boost-tui/kernels"
)

// bench is a part at work.
type bench struct {
	Options
	part  string
	until time.Time // when nothing more is begun; zero: never
}

// late reports whether the part's time is over.
func (b *bench) late() bool { return !b.until.IsZero() && time.Now().After(b.until) }

// pick is one of two sizes.
func (b *bench) pick(whole, tiny int) int {
	if b.Tiny {
		return tiny
	}
	return whole
}

// lab is a device with operands to measure operations on.
type lab struct {
	dev        kernels.Device
	start, end kernels.Event
	buffers    []*kernels.Buffer
	key        uint64
	reps       int // the most in a round; 0: as many as fill it
}

func (b *bench) openLab() (*lab, error) {
	dev, err := b.Open(b.Device)(0, 1)
	if err != nil {
		return nil, err
	}
	l := &lab{dev: dev}
	if b.Tiny {
		l.reps = 1
	}
	if l.start, err = dev.NewEvent(); err == nil {
		l.end, err = dev.NewEvent()
	}
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return l, nil
}

// free releases what was allocated so far.
func (l *lab) free() (err error) {
	for _, m := range l.buffers {
		err = errors.Join(err, l.dev.Free(m))
	}
	l.buffers = nil
	return err
}

// zeros is a matrix of zeros.
func (l *lab) zeros(rows, cols int, t kernels.DType) (kernels.View, error) {
	n := int64(rows) * int64(cols) * t.Bytes()
	m, err := l.dev.Alloc(kernels.MemBuffers, n, false)
	if err != nil {
		return kernels.View{}, err
	}
	l.buffers = append(l.buffers, m)
	return kernels.Matrix(m, 0, rows, cols, t), nil
}

// random is a matrix of numbers in (−1, 1): zeros would cost a GPU less power, and let it run faster than it does.
func (l *lab) random(rows, cols int, t kernels.DType) (kernels.View, error) {
	v, err := l.zeros(rows, cols, t)
	if err != nil || !t.Number() {
		return v, err
	}
	l.key++
	return v, l.dev.Do(kernels.Call{}, &kernels.Draw{X: v, Key: l.key, Width: cols, Bound: 1})
}

// What a measurement of one operation takes.
const (
	roundSeconds = 0.02 // at least, in which an operation is repeated
	rounds       = 5
	mostReps     = 2000
)

// time is the seconds that an operation takes on the device: the median of rounds, each of so many repetitions between two events.
func (l *lab) time(ctx context.Context, ops ...kernels.Op) (float64, error) {
	if _, err := l.round(ctx, 1, ops); err != nil { // prepares what is prepared once
		return 0, err
	}
	first, err := l.round(ctx, 1, ops)
	if err != nil {
		return 0, err
	}
	n, times := 1, rounds
	if first > 0 {
		n = int(min(max(math.Ceil(roundSeconds/first), 1), mostReps))
	}
	if l.reps > 0 {
		n, times = min(n, l.reps), 1
	}
	all := make([]float64, times)
	for i := range all {
		if all[i], err = l.round(ctx, n, ops); err != nil {
			return 0, err
		}
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// round is the mean of n repetitions.
func (l *lab) round(ctx context.Context, n int, ops []kernels.Op) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	if err := l.dev.Record(l.start, kernels.ComputeStream); err != nil {
		return 0, err
	}
	for range n {
		for _, op := range ops {
			if err := l.dev.Do(kernels.Call{}, op); err != nil {
				return 0, fmt.Errorf("%s: %w", op.Name(), err)
			}
		}
	}
	if err := l.dev.Record(l.end, kernels.ComputeStream); err != nil {
		return 0, err
	}
	from, err := l.dev.EventTime(l.start)
	if err != nil {
		return 0, err
	}
	to, err := l.dev.EventTime(l.end)
	return float64(to.AtNanos-from.AtNanos) / 1e9 / float64(n), err
}

// errNoTime says that a part has nothing to show.
var errNoTime = errors.New("its time was over before the first figure")

// some is an error where there is no row.
func some[T any](rows []T) error {
	if len(rows) == 0 {
		return errNoTime
	}
	return nil
}

func (a Attention) held() error { return some(a.Rows) }
func (e Elements) held() error  { return some(e.Rows) }
func (p Products) held() error  { return some(p.Rows) }

// tera is work per second in 10¹²; 0 where no time was measured.
func tera(work int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(work) / seconds / 1e12
}
