package record

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"boost-tui/internal/regular"
)

// RollupStep is one step over the ranks: a record of rollup.bin.
type RollupStep struct {
	Step    int64
	TSNanos int64 // Unix time of the step's latest end
	Ranks   int   // how many ranks reported it
	Slowest int   // rank with the largest wall time
	Flags   Flags // of any rank

	WallMinNanos, WallP50Nanos, WallP95Nanos, WallMaxNanos int64

	// Means over the ranks that know the value, in nanoseconds; NaN: none does. The file keeps 24 bits of them.
	Compute, Comm, Exposed, Overlap, Wait, Mem, Idle float64

	// Bubble is such a mean as well; the file does not keep it.
	Bubble float64

	Loss        float64 // of the lowest rank that knows it; NaN: none does
	GradNorm    float64
	LR          float64
	Tokens      int64 // this and the rest: largest of the ranks; Unknown: none knows
	CommBytes   int64
	Collectives int64
	MemBytes    int64
}

// The file is a header (magic, version, record size) of rollupHeader bytes and records of
// rollupRecord bytes, little-endian. A record that a crash cut short is left out.
const (
	rollupMagic  = "BTROLLUP"
	rollupHeader = 64
	rollupRecord = 128
)

func rollupHead() []byte {
	b := make([]byte, rollupHeader)
	copy(b, rollupMagic)
	binary.LittleEndian.PutUint32(b[8:], Schema)
	binary.LittleEndian.PutUint32(b[12:], rollupRecord)
	return b
}

func checkRollupHead(b []byte) error {
	if len(b) < rollupHeader || string(b[:8]) != rollupMagic {
		return errors.New("not a rollup")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v > Schema {
		return fmt.Errorf("rollup of schema %d: %w", v, ErrNewerSchema)
	}
	if n := binary.LittleEndian.Uint32(b[12:]); n != rollupRecord {
		return fmt.Errorf("rollup with records of %d bytes, want %d", n, rollupRecord)
	}
	return nil
}

func (r *RollupStep) put(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b[0:], uint32(r.Step))
	le.PutUint32(b[4:], uint32(r.Ranks))
	le.PutUint64(b[8:], uint64(r.TSNanos))
	for i, v := range [...]int64{r.WallMinNanos, r.WallP50Nanos, r.WallP95Nanos, r.WallMaxNanos} {
		le.PutUint64(b[16+8*i:], uint64(v))
	}
	le.PutUint32(b[48:], uint32(r.Slowest))
	le.PutUint32(b[52:], uint32(r.Flags))
	for i, v := range [...]float64{r.Compute, r.Comm, r.Exposed, r.Overlap, r.Wait, r.Mem, r.Idle} {
		putFloat32(b[56+4*i:], v)
	}
	le.PutUint32(b[84:], uint32(int32(r.Collectives)))
	le.PutUint64(b[88:], math.Float64bits(r.Loss))
	putFloat32(b[96:], r.GradNorm)
	putFloat32(b[100:], r.LR)
	for i, v := range [...]int64{r.Tokens, r.CommBytes, r.MemBytes} {
		le.PutUint64(b[104+8*i:], uint64(v))
	}
}

func (r *RollupStep) get(b []byte) {
	le := binary.LittleEndian
	r.Step, r.Ranks = int64(le.Uint32(b[0:])), int(le.Uint32(b[4:]))
	r.TSNanos = int64(le.Uint64(b[8:]))
	for i, p := range [...]*int64{&r.WallMinNanos, &r.WallP50Nanos, &r.WallP95Nanos, &r.WallMaxNanos} {
		*p = int64(le.Uint64(b[16+8*i:]))
	}
	r.Slowest, r.Flags = int(le.Uint32(b[48:])), Flags(le.Uint32(b[52:]))
	for i, p := range [...]*float64{&r.Compute, &r.Comm, &r.Exposed, &r.Overlap, &r.Wait, &r.Mem, &r.Idle} {
		*p = getFloat32(b[56+4*i:])
	}
	r.Bubble = math.NaN()
	r.Collectives = int64(int32(le.Uint32(b[84:])))
	r.Loss = math.Float64frombits(le.Uint64(b[88:]))
	r.GradNorm, r.LR = getFloat32(b[96:]), getFloat32(b[100:])
	for i, p := range [...]*int64{&r.Tokens, &r.CommBytes, &r.MemBytes} {
		*p = int64(le.Uint64(b[104+8*i:]))
	}
}

func putFloat32(b []byte, v float64) {
	binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v)))
}

func getFloat32(b []byte) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
}

// LastRollup reads the last n steps of the run's rollup. A run without one has none.
func LastRollup(dir string, n int) ([]RollupStep, error) {
	return ReadRollup(dir, -n, n)
}

// ReadRollup reads up to n records from index on; a negative index counts from the end. A run
// without a rollup has none.
func ReadRollup(dir string, index, n int) ([]RollupStep, error) {
	var out []RollupStep
	err := rangeRollup(context.Background(), dir, index, n, func(r *RollupStep) error {
		out = append(out, *r)
		return nil
	})
	return out, err
}

// EachRollup yields every record of the run's rollup in order. The record is overwritten by the next one.
func EachRollup(ctx context.Context, dir string, yield func(*RollupStep) error) error {
	return rangeRollup(ctx, dir, 0, math.MaxInt, yield)
}

// noSteps is the error about a rollup that is a hole for the most part.
func noSteps(path string) error {
	return fmt.Errorf("%s holds more than %d MiB of steps that no rank made: it is damaged", path, maxPassed>>20)
}

// rollupAtOnce is how many records are read at once.
const rollupAtOnce = 2048

func rangeRollup(ctx context.Context, dir string, index, n int, yield func(*RollupStep) error) error {
	path := RollupPath(dir)
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	total, err := rollupLen(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if index < 0 {
		index = max(0, total+index)
	}
	n = max(0, min(n, total-index))
	buf := make([]byte, min(n, rollupAtOnce)*rollupRecord)
	var r RollupStep
	passed := 0
	for i := 0; i < n; i += rollupAtOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		if passed > maxPassed {
			return noSteps(path)
		}
		part := buf[:min(n-i, rollupAtOnce)*rollupRecord]
		if _, err := f.ReadAt(part, rollupHeader+int64(index+i)*rollupRecord); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		for ; len(part) > 0; part = part[rollupRecord:] {
			if r.get(part); r.Ranks == 0 {
				passed += rollupRecord
			}
			if err := yield(&r); err != nil {
				return err
			}
		}
	}
	return nil
}

// rollupLen checks the header and counts the whole records. A file that holds less than a header has none yet.
func rollupLen(f *os.File) (int, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() < rollupHeader {
		return 0, nil
	}
	head := make([]byte, rollupHeader)
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if err := checkRollupHead(head); err != nil {
		return 0, err
	}
	return int((info.Size() - rollupHeader) / rollupRecord), nil
}
