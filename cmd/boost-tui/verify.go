package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/trainer/devices"
	"boost-tui/trainer/golden"
)

// verifyFlags narrow what is verified. What is not given means everything that fits.
type verifyFlags struct {
	cases                          []string
	scheme, norm, grouping, device string
	recompute, dtype               string
	tp, dp, pp, zero               int
	sp                             *bool // nil: not said

	cards int // GPUs that there are, where they compute
	open  func(rank, n int) (kernels.Device, error)
}

func newVerify(a *app) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use: "verify", Short: "Check numbers against reference cases", GroupID: groupHouse, Args: f.args,
		Long: `Train small reference cases and compare losses, gradients and final parameters with what a separate
implementation found. Without flags: every case in this binary, under every scheme and degree that fits it, online
and sync, grouped and not, with every way of recomputing. Exits 3 when a check does not hold.

--dp shares the sequences of a case among replicas, --pp its layers among stages (each sequence is a micro-batch
then), --zero 1 slices the optimizer over the replicas, --sp splits tokens over tp under full-rank. Cases and degrees that
do not divide so are left out, or refused when they are named.

--json prints one object when case, scheme and degree are given, else an array.`,
		Example: "  boost-tui verify\n  boost-tui verify --case cola_base.json --scheme btp --tp 2 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.choose(cmd.Context(), a.note); err != nil {
				return err
			}
			todo, err := f.checks()
			if err != nil {
				return usage(err)
			}
			reports, err := a.verify(cmd.Context(), todo)
			if err != nil {
				return err
			}
			return a.judge(reports, len(f.cases) == 1 && f.scheme != "" && f.tp > 0)
		},
	}
	cmd.Flags().StringSliceVar(&f.cases, "case", nil, "name of a case in this binary, or path of a NAME.json with its weights beside it")
	cmd.Flags().StringVar(&f.scheme, "scheme", "", "only this scheme: full-rank, vanilla, btp")
	cmd.Flags().IntVar(&f.tp, "tp", 0, "only this tensor-parallel degree")
	cmd.Flags().IntVar(&f.dp, "dp", 1, "data-parallel ranks")
	cmd.Flags().IntVar(&f.pp, "pp", 1, "pipeline stages")
	cmd.Flags().IntVar(&f.zero, "zero", 0, "ZeRO stage: 0 or 1")
	cmd.Flags().VarPF(onOff{&f.sp}, "sp", "", "sequence parallelism").NoOptDefVal = "on"
	cmd.Flags().StringVar(&f.norm, "norm", "", "only online or sync (default both, the worst counts)")
	cmd.Flags().StringVar(&f.grouping, "grouping", "", "only on or off (default both, the worst counts)")
	cmd.Flags().StringVar(&f.recompute, "recompute", "", "only none, low-rank or full (default all, the worst counts)")
	cmd.Flags().StringVar(&f.device, "device", experiment.DeviceCPU, "what computes: cpu, cuda, emulated, or auto for cuda where it can be had")
	cmd.Flags().StringVar(&f.dtype, "dtype", experiment.FP32, "type of weights and activations: fp32, or bf16 where the device has it")
	return cmd
}

// oneCheck is a case under a scheme and a degree.
type oneCheck struct {
	c golden.Case
	o golden.Options
}

// checks lists what the flags ask for. A combination that was asked for by name and does not fit is an error.
func (f verifyFlags) checks() ([]oneCheck, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	cases, err := f.load()
	if err != nil {
		return nil, err
	}
	var todo []oneCheck
	for _, c := range cases {
		schemes := c.Schemes()
		if f.scheme != "" && (len(f.cases) > 0 || slices.Contains(schemes, o.Scheme)) {
			schemes = []experiment.Scheme{o.Scheme}
		} else if f.scheme != "" {
			continue
		}
		if len(schemes) == 0 && len(f.cases) > 0 {
			todo = append(todo, oneCheck{c, o}) // which says why it cannot run
		}
		for _, s := range schemes {
			degrees := c.TPs(s)
			if f.tp > 0 && (len(f.cases) > 0 || slices.Contains(degrees, f.tp)) {
				degrees = []int{f.tp}
			} else if f.tp > 0 {
				continue
			}
			for _, n := range degrees {
				one := o
				one.Scheme, one.TP = s, n
				if f.named() || c.Fits(one) == nil && f.room(one) {
					todo = append(todo, oneCheck{c, one})
				}
			}
		}
	}
	if len(todo) == 0 {
		return nil, f.nothing(o, cases)
	}
	return todo, nil
}

// named reports whether one check was asked for by name: that it does not fit is an error then.
func (f verifyFlags) named() bool { return len(f.cases) > 0 && f.tp > 0 }

// choose settles what computes, before anything does: that a device cannot be had is wrong input.
func (f *verifyFlags) choose(ctx context.Context, note func(string, ...any)) error {
	device, why, err := devices.Settle(ctx, f.device, max(f.tp, 1)*max(f.dp, 1)*max(f.pp, 1))
	if err != nil {
		return usage(err)
	}
	if f.device == experiment.DeviceAuto {
		note("%s", settled(device, why))
	}
	f.device = device
	if device == experiment.DeviceCUDA {
		f.cards = devices.Look(ctx).Cards
	}
	if err := devices.Prepare(ctx, device, note); err != nil {
		return missingCompiler(err)
	}
	f.open = devices.InProcess(ctx, device, note)
	return nil
}

// room reports whether there is a GPU for every rank, where GPUs compute.
func (f verifyFlags) room(o golden.Options) bool {
	return f.device != experiment.DeviceCUDA || max(o.TP, 1)*max(o.DP, 1)*max(o.PP, 1) <= f.cards
}

// options are those that all checks share.
func (f verifyFlags) options() (golden.Options, error) {
	scratch := experiment.Default()
	for _, kv := range []assignment{{"scheme", f.scheme}, {"norm", f.norm}, {"grouping", f.grouping}, {"device", f.device}, {"dtype", f.dtype}, {"recompute", f.recompute}} {
		if kv.value == "" {
			continue
		}
		if err := scratch.Set(kv.key, kv.value); err != nil {
			return golden.Options{}, err
		}
	}
	scratch.Parallel.DP, scratch.Parallel.PP, scratch.Parallel.Zero = f.dp, f.pp, f.zero
	for _, v := range scratch.OutOfRange() {
		if slices.Contains([]string{"dp", "pp", "zero"}, v.Key) {
			return golden.Options{}, errors.New(v.String())
		}
	}
	o := golden.Options{Scheme: scratch.Parallel.Scheme, DP: f.dp, PP: f.pp, Zero: f.zero, SP: f.sp != nil && *f.sp, Open: f.open}
	if scratch.Step.DType == experiment.BF16 {
		if f.device == experiment.DeviceCPU {
			return o, fmt.Errorf("dtype %s: device %s computes in %s only; say --device cuda or emulated", experiment.BF16, f.device, experiment.FP32)
		}
		o.DType = kernels.BF16
	}
	if f.norm != "" {
		sync := scratch.Step.Norm == experiment.NormSync
		o.SyncNorm = &sync
	}
	if f.grouping != "" {
		o.Grouped = &scratch.Step.Grouping
	}
	if f.recompute != "" {
		o.Recompute = []string{scratch.Step.Recompute}
	}
	return o, nil
}

// load finds the cases: files where they exist, else cases of this binary by name.
func (f verifyFlags) load() ([]golden.Case, error) {
	if len(f.cases) == 0 {
		return golden.Cases()
	}
	var out []golden.Case
	for _, name := range f.cases {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			c, err := golden.LoadCase(name)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
			continue
		}
		all, err := golden.Cases()
		if err != nil {
			return nil, err
		}
		want := strings.TrimSuffix(filepath.Base(name), ".json")
		at := slices.IndexFunc(all, func(c golden.Case) bool { return c.Name == want })
		if at < 0 {
			var names []string
			for _, c := range all {
				names = append(names, c.Name)
			}
			return nil, fmt.Errorf("there is no file %s and no case %s in this binary; it has %s", name, want, strings.Join(names, ", "))
		}
		out = append(out, all[at])
	}
	return out, nil
}

// verify runs the checks one after another.
func (a *app) verify(ctx context.Context, todo []oneCheck) ([]golden.Report, error) {
	var reports []golden.Report
	for i, t := range todo {
		if isTerminal(a.err) {
			fmt.Fprintf(a.err, "\r%d/%d %-60s", i+1, len(todo), fmt.Sprintf("%s %s tp %d dp %d pp %d", t.c.Name, t.o.Scheme, t.o.TP, t.o.DP, t.o.PP))
		}
		r, err := golden.Verify(ctx, t.c, t.o)
		if errors.Is(err, golden.ErrFit) {
			return nil, usage(err)
		}
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	if isTerminal(a.err) {
		fmt.Fprintf(a.err, "\r%80s\r", "")
	}
	return reports, nil
}
