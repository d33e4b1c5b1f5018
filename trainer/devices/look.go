package devices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"boost-tui/experiment"
	"boost-tui/kernels/cuda"
)

// GPUs is what this machine has for the cuda device.
type GPUs struct {
	Driver    string         // version and path; empty: none
	Cards     int            // that are visible
	Library   string         // path of libboost_cuda.so; empty: none will do
	Findings  []cuda.Finding // what the library says: cards, cuBLASLt, NCCL; without one, where those two lie
	noDriver  error
	noLibrary error
	noDevice  error // the first rank's device was to be opened and does not
	usable    int   // cards that the library sees
}

// Look finds out. It opens no device, and no library in this process: whatever one does when it is opened becomes a line here.
func Look(ctx context.Context) GPUs { return look(ctx, cuda.Question{}) }

func look(ctx context.Context, q cuda.Question) GPUs {
	var g GPUs
	q.Name, q.Driver = cuda.Name, !cuda.NoDriver()
	if !q.Driver {
		g.noDriver = cuda.ErrNoDriver
	}
	q.Library, g.noLibrary = cuda.Find()
	if !q.Driver && g.noLibrary != nil {
		g.Findings = cuda.Libraries()
		return g
	}
	a := cuda.Examine(ctx, q)
	if q.Driver {
		if g.noDriver = a.NoDriver; a.NoDriver == nil {
			g.Driver, g.Cards = a.Driver.String(), a.Driver.Cards
		}
	}
	g.noLibrary = cmp.Or(g.noLibrary, a.NoLibrary)
	if g.noLibrary == nil {
		g.Library, g.Findings, g.noDevice = q.Library, a.Probe.Findings, a.NoDevice
		g.usable = a.Probe.Devices
	} else { // it cannot say by itself what it lacks
		g.Findings = cuda.Libraries()
	}
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
		out = append(out, Lack{"library", g.noLibrary.Error()})
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

// missing says in one error what keeps so many ranks from GPUs; nil: nothing does.
func (g GPUs) missing(ranks int) error {
	lacks := g.Lacks(ranks)
	if len(lacks) == 0 {
		return nil
	}
	words := make([]string, len(lacks))
	for i, l := range lacks {
		words[i] = l.What + ": " + withoutPlaces(l.Why)
	}
	return errors.New(strings.Join(words, "; "))
}

// withoutPlaces leaves out where a library was looked for, which takes lines for each (kernels/cuda/src/places.h): doctor has that.
func withoutPlaces(why string) string {
	before, after, cut := strings.Cut(why, "; looked in ")
	_, remedy, whole := strings.Cut(after, ". ")
	if !cut || !whole {
		return why
	}
	return before + ". " + remedy
}

// Check says in one error what keeps so many ranks of this host from computing on GPUs.
func (g GPUs) Check(ranks int) error {
	if err := g.missing(ranks); err != nil {
		return fmt.Errorf("device cuda cannot be had here; missing: %w", err)
	}
	return nil
}

// CheckRun says what keeps a run whose ranks are on this host from its device, and what auto means for it. The device is
// opened, so that what no look finds out is found out before ranks start.
func CheckRun(ctx context.Context, kind string, ranks int) (device string, err error) {
	device, _, err = Settle(ctx, kind, ranks)
	return device, err
}

// Settle is CheckRun that says, too, why auto is not the GPUs here; nil: it is, or it was not asked for.
func Settle(ctx context.Context, kind string, ranks int) (device string, why, err error) {
	kind = cmp.Or(kind, experiment.DeviceAuto)
	switch kind {
	case experiment.DeviceCPU:
		return kind, nil, nil
	case experiment.DeviceAuto, experiment.DeviceCUDA, experiment.DeviceEmu:
	default:
		return "", nil, unknown(kind)
	}
	if err := checkEnvironment(kind); err != nil {
		return "", nil, err
	}
	if kind == experiment.DeviceEmu {
		return kind, nil, nil
	}
	auto := kind == experiment.DeviceAuto
	if auto && cuda.NoDriver() { // so it is on most machines, and is known in no time
		return experiment.DeviceCPU, cuda.ErrNoDriver, nil
	}
	path, err := tryFirst(ctx, ranks)
	switch {
	case err == nil:
		// Ranks work in another folder and must find the same library.
		return experiment.DeviceCUDA, nil, os.Setenv(cuda.EnvLibrary, path)
	case auto:
		return experiment.DeviceCPU, err, nil
	}
	return "", nil, err
}

// Missing is all that keeps so many ranks of this host from computing on GPUs, of which the first is opened; nil: nothing does.
func Missing(ctx context.Context, ranks int) []Lack {
	g := look(ctx, cuda.Question{Open: &cuda.Options{World: ranks}})
	out := g.Lacks(ranks)
	if out == nil && g.noDevice != nil {
		out = []Lack{{"device " + experiment.DeviceCUDA, g.noDevice.Error()}}
	}
	return out
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

// tryFirst looks whether there is all that ranks need, and opens and closes the first one's device on the way. It gives the library's path.
func tryFirst(ctx context.Context, ranks int) (library string, err error) {
	wait, err := Stall()
	if err != nil {
		return "", err
	}
	g := look(ctx, cuda.Question{Open: &cuda.Options{Stall: wait, World: ranks}})
	if err := g.Check(ranks); err != nil {
		return "", err
	}
	if _, err := cardOf(Place{0, ranks}, g.usable, os.Getenv(EnvBound) != "", Shared()); err != nil {
		return "", err
	}
	return g.Library, g.noDevice
}
