// Package devices opens what ranks compute on, and says of each kind of device whether this machine can have it and what is
// missing: the processor, NVIDIA's GPUs by libboost_cuda.so, and the emulator.
//
// Start reading at InProcess; Look says what there is for GPUs.
package devices

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
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

// Stall is for how long a message waits for other ranks.
func Stall() (time.Duration, error) {
	text := os.Getenv(EnvStall)
	if text == "" {
		return stall, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("$%s is %q: not a duration like 90s or 10m", EnvStall, text)
	}
	return d, nil
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

// InProcess opens devices of one kind for ranks that live in this process together: reference cases do.
func InProcess(ctx context.Context, kind string, say func(format string, args ...any)) func(rank, n int) (kernels.Device, error) {
	switch kind {
	case experiment.DeviceCUDA:
		return func(rank, n int) (kernels.Device, error) { return OpenCUDA(Place{rank, n}) }
	case experiment.DeviceEmu:
		return func(rank, n int) (kernels.Device, error) { return OpenEmulated(ctx, Place{rank, n}, say) }
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

// Prepare does what must be there before ranks start: the emulated device is compiled.
func Prepare(ctx context.Context, kind string, say func(format string, args ...any)) error {
	if kind != experiment.DeviceEmu {
		return nil
	}
	_, err := cuda.Compile(ctx, say)
	return err
}

// GPUs is what this machine has for the cuda device.
type GPUs struct {
	Driver    string         // version and path; empty: none
	Cards     int            // that are visible
	Library   string         // path of libboost_cuda.so; empty: none will do
	Findings  []cuda.Finding // what the library says: cards, cuBLASLt, NCCL
	noDriver  error
	noLibrary error
}

// Look finds out. It opens no device.
func Look() GPUs {
	var g GPUs
	d, err := cuda.FindDriver()
	if g.noDriver = err; err == nil {
		g.Driver, g.Cards = d.String(), d.Cards
	}
	path, err := cuda.Find()
	if err != nil {
		g.noLibrary = err
		return g
	}
	l, err := cuda.Load(path, cuda.Name)
	if err != nil {
		g.noLibrary = err
		return g
	}
	p, err := l.Probe()
	if err != nil {
		g.noLibrary = err
		return g
	}
	g.Library, g.Findings = l.Path, p.Findings
	return g
}

// Lack is something that the cuda device lacks here.
type Lack struct{ What, Why string }

// Lacks is what keeps so many ranks of this host from computing on GPUs, in the order in which it is to be put right; nil: nothing does.
func (g GPUs) Lacks(ranks int) []Lack {
	var out []Lack
	switch {
	case g.noDriver != nil:
		out = append(out, Lack{"driver", g.noDriver.Error()})
	case g.Cards == 0:
		out = append(out, Lack{"GPU", "no GPU is visible" + hidden()})
	case g.Cards < ranks && !Shared():
		out = append(out, Lack{"GPUs", strings.TrimPrefix(tooFew(ranks, g.Cards).Error(), "cuda device: ")})
	}
	if g.noLibrary != nil {
		return append(out, Lack{"library", g.noLibrary.Error()})
	}
	for _, f := range g.Findings {
		if f.Lacks == "" || g.Cards == 0 && !isLibrary(f.What) || ranks == 1 && strings.Contains(f.What, "NCCL") {
			continue
		}
		out = append(out, Lack{f.What, f.Lacks})
	}
	return out
}

// isLibrary tells libraries from what a machine without a driver lacks anyway.
func isLibrary(what string) bool {
	return strings.Contains(what, "NCCL") || strings.Contains(what, "cuBLAS")
}

// Check says in one error what keeps so many ranks of this host from computing on GPUs.
func (g GPUs) Check(ranks int) error {
	lacks := g.Lacks(ranks)
	if len(lacks) == 0 {
		return nil
	}
	words := make([]string, len(lacks))
	for i, l := range lacks {
		words[i] = l.What + ": " + l.Why
	}
	return fmt.Errorf("device cuda cannot be had here; missing: %s", strings.Join(words, "; "))
}

// CheckRun says what keeps a run whose ranks are on this host from its device, and what auto means for it. The device is
// opened, so that what no look finds out is found out before ranks start.
func CheckRun(kind string, ranks int) (device string, err error) {
	kind = cmp.Or(kind, experiment.DeviceAuto)
	if kind == experiment.DeviceCPU {
		return kind, nil
	}
	if err := checkEnvironment(kind); err != nil {
		return "", err
	}
	if kind != experiment.DeviceCUDA && kind != experiment.DeviceAuto {
		return kind, nil
	}
	if kind == experiment.DeviceAuto {
		if _, err := cuda.FindDriver(); err != nil { // what most machines say, in no time
			return experiment.DeviceCPU, nil
		}
	}
	g := Look()
	err = g.Check(ranks)
	if err == nil {
		err = tryFirst(ranks)
	}
	switch {
	case err == nil:
		// Ranks work in another folder and must find the same library.
		return experiment.DeviceCUDA, os.Setenv(cuda.EnvLibrary, g.Library)
	case kind == experiment.DeviceAuto:
		return experiment.DeviceCPU, nil
	}
	return "", err
}

// checkEnvironment refuses what ranks would refuse later.
func checkEnvironment(kind string) error {
	if _, err := Stall(); err != nil {
		return err
	}
	if kind == experiment.DeviceEmu {
		return cuda.CheckMode()
	}
	return nil
}

// tryFirst opens the first rank's device and closes it.
func tryFirst(ranks int) error {
	d, err := OpenCUDA(Place{0, ranks})
	if err != nil {
		return err
	}
	return d.Close()
}
