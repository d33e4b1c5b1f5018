// Package devices opens what ranks compute on, and says of each kind of device whether this machine can have it and what is
// missing: the processor, NVIDIA's GPUs by libboost_cuda.so, and the emulator.
//
// Start reading at InProcess; Look in look.go says what there is for GPUs, without letting a library into this process.
package devices

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/kernels/cuda"
)

// EnvStall names the variable that says for how long a message of a GPU waits for other ranks: a duration like 2m.
const EnvStall = "BOOST_STALL"

// stall is that where nobody says: in the first step ranks load and prepare, and an emulated step is slow.
const stall = 10 * time.Minute

// EnvBound names the variable by which an agent tells a rank that the cards it sees are its own.
const EnvBound = "BOOST_OWN_CARDS"

// envShare names NCCL's variable that lets ranks share a card, for those who try a run of several ranks on one.
const envShare = "NCCL_MULTI_RANK_GPU_ENABLE"

// Shared reports whether somebody lets ranks share a GPU, so that a host may have more ranks than GPUs.
func Shared() bool { return os.Getenv(envShare) == "1" }

// Place is a rank's place on its host.
type Place struct {
	Rank, World int // among the ranks of the host
}

// longestStall is what fits into what a device is told, which is milliseconds in 32 bits.
const longestStall = math.MaxInt32 * time.Millisecond

// Stall is for how long a message waits for other ranks, in whole milliseconds, rounded up: 0 is for good.
func Stall() (time.Duration, error) {
	text := os.Getenv(EnvStall)
	if text == "" {
		return stall, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("$%s is %.40q: not a duration like 90s or 10m", EnvStall, text)
	}
	if d > longestStall {
		return 0, fmt.Errorf("$%s is %.40q: at most %v, or 0 to wait for good", EnvStall, text, longestStall)
	}
	return (d + time.Millisecond - 1).Truncate(time.Millisecond), nil
}

// OpenCUDA opens the GPU of a rank.
func OpenCUDA(at Place) (kernels.Device, error) {
	path, err := cuda.Find()
	if err != nil {
		return nil, fmt.Errorf("cuda device: %w", err)
	}
	l, err := cuda.Load(path, cuda.Name)
	if err != nil {
		return nil, err
	}
	p, err := l.Probe()
	if err != nil {
		return nil, err
	}
	card, err := cardOf(at, p.Devices, os.Getenv(EnvBound) != "", Shared())
	if err != nil {
		return nil, err
	}
	wait, err := Stall()
	if err != nil {
		return nil, err
	}
	d, err := l.Open(cuda.Options{Device: card, Stall: wait, World: at.World, Rank: at.Rank})
	if err != nil {
		return nil, fmt.Errorf("open the cuda device: %w", err)
	}
	return d, nil
}

// cardOf is the number of a rank's card among those that it sees: as its place on the host, or the first of its own.
func cardOf(at Place, cards int, own, shared bool) (int, error) {
	switch {
	case cards == 0:
		return 0, fmt.Errorf("cuda device: no GPU is visible%s", hidden())
	case own:
		return 0, nil
	case at.World > cards && shared:
		return at.Rank % cards, nil
	case at.World > cards:
		return 0, tooFew(at.World, cards)
	}
	return at.Rank, nil
}

func tooFew(ranks, cards int) error {
	visible := fmt.Sprintf("%d are visible", cards)
	if cards == 1 {
		visible = "1 is visible"
	}
	return fmt.Errorf("cuda device: %d ranks on this host need %d GPUs, and %s%s: a rank has a GPU of its own; lower tp, dp or pp, or take more nodes",
		ranks, ranks, visible, hidden())
}

func hidden() string {
	if h := cuda.Hidden(); h != "" {
		return " (" + h + ")"
	}
	return ""
}

// OpenEmulated opens the emulated device. The library was compiled before, or is now.
func OpenEmulated(ctx context.Context, at Place, say func(format string, args ...any)) (kernels.Device, error) {
	l, err := cuda.Emulator(ctx, say)
	if err != nil {
		return nil, err
	}
	wait, err := Stall()
	if err != nil {
		return nil, err
	}
	d, err := l.Open(cuda.Options{Stall: wait, Mode: cuda.Mode(), World: at.World, Rank: at.Rank})
	if err != nil {
		return nil, fmt.Errorf("open the emulated device: %w", err)
	}
	return d, nil
}

// InProcess opens devices of one kind for ranks that live in this process together: reference cases do. Auto is the processor where nobody
// has settled it.
func InProcess(ctx context.Context, kind string, say func(format string, args ...any)) func(rank, n int) (kernels.Device, error) {
	switch kind {
	case experiment.DeviceCUDA:
		return func(rank, n int) (kernels.Device, error) { return OpenCUDA(Place{rank, n}) }
	case experiment.DeviceEmu:
		return func(rank, n int) (kernels.Device, error) { return OpenEmulated(ctx, Place{rank, n}, say) }
	case "", experiment.DeviceAuto, experiment.DeviceCPU:
	default:
		return func(int, int) (kernels.Device, error) { return nil, unknown(kind) }
	}
	var segment *os.File
	return func(rank, n int) (kernels.Device, error) {
		if rank == 0 {
			if segment != nil {
				if err := segment.Close(); err != nil { // the devices had duplicates
					return nil, err
				}
			}
			var err error
			if segment, err = cpu.NewSegment(); err != nil {
				return nil, err
			}
		}
		return cpu.Open(cpu.Options{Segment: segment, World: n, Rank: rank, Threads: 1})
	}
}

func unknown(kind string) error {
	return fmt.Errorf("there is no device %.40q: %s, %s, %s or %s", kind, experiment.DeviceAuto, experiment.DeviceCPU, experiment.DeviceCUDA, experiment.DeviceEmu)
}

// Prepare does what must be there before ranks start: the emulated device is compiled.
func Prepare(ctx context.Context, kind string, say func(format string, args ...any)) error {
	if kind != experiment.DeviceEmu {
		return nil
	}
	_, err := cuda.Compile(ctx, say)
	return err
}
