package preflight

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"boost-tui/internal/hostmem"
	"boost-tui/profiler/record"
	"boost-tui/profiler/sample"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/rendezvous"
)

// describe says what the host is.
func (p *probe) describe(ctx context.Context) error {
	p.found.CPUs = allowed() // a rank may be bound to some of those that the host's ranks have
	if !p.leads() {
		return nil
	}
	n := &p.found.Node
	n.Version, n.Cores = p.Spec.Version, runtime.NumCPU()
	n.MemTotal, n.MemAvailable = hostmem.Read()
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		n.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var err error
	n.Binary, err = rendezvous.BinaryHash()
	return errors.Join(err, p.cards(ctx))
}

// maxCPUs bounds the numbers of processors that are looked at, as the kernel's sets do.
const maxCPUs = 1024

// allowed are the processors that this process may use; nil: unknown.
func allowed() (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// cards reads the GPUs. A driver that hangs is left behind when the stage's time is up.
func (p *probe) cards(ctx context.Context) error {
	type seen struct {
		list []protocol.GPU
		err  error
	}
	done := make(chan seen, 1)
	go func() { // it ends with the driver's answer; nobody can end it before
		list, err := readCards(p.Cards)
		done <- seen{list, err}
	}()
	select {
	case s := <-done:
		p.found.Node.GPUs = s.list
		if s.err != nil {
			p.found.Node.NoGPUs = cut(s.err.Error())
		}
	case <-ctx.Done():
		p.found.Node.NoGPUs = "the driver of the GPUs does not answer"
		return errors.New(p.found.Node.NoGPUs)
	}
	return nil
}

func readCards(open func() (sample.GPUs, error)) (list []protocol.GPU, err error) {
	if open == nil {
		return nil, nil
	}
	gpus, err := open()
	if err != nil || gpus == nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil { // whatever the driver's binding does
			err = fmt.Errorf("the driver's binding: %v", p)
		}
		err = errors.Join(err, gpus.Close())
	}()
	for _, g := range gpus.List() {
		d := g.Describe()
		l := record.NewHealthLine(record.KindGPU, 0)
		g.Read(&l)
		list = append(list, protocol.GPU{Index: d.Index, Name: d.Name, MemTotal: d.MemTotalBytes, MemUsed: l.MemUsedBytes, SMMHz: l.SMMHz,
			TempC: l.TempC, ECCFatal: l.ECCFatal, Throttled: reasons(l.Reasons), Busy: len(g.PIDs())})
	}
	return list, nil
}

// reasons are why a GPU holds its clocks down, of those that mean trouble.
func reasons(bits int64) (out []string) {
	if bits < 0 {
		return nil
	}
	for _, r := range []struct {
		bit  int64
		text string
	}{
		{sample.HwSlowdown, "hardware slowdown"}, {sample.SwThermal, "heat"}, {sample.HwThermal, "heat (hardware)"},
		{sample.HwPowerBrake, "power brake"}, {sample.SwPowerCap, "power cap"},
	} {
		if bits&r.bit != 0 {
			out = append(out, r.text)
		}
	}
	return out
}
