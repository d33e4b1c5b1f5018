package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// queueFlags say how the queue of a sweep is worked off. What the command line does not name stays as it is.
type queueFlags struct {
	flags                    *pflag.FlagSet
	order                    string
	atOnce, failures, again  int
	time                     time.Duration
	hours                    float64
	stopDiverged, stopSlower *bool
}

// register adds the flags to a command.
func (q *queueFlags) register(cmd *cobra.Command) {
	q.flags = cmd.Flags()
	q.flags.SortFlags = false
	def := sweeps.DefaultOptions()
	q.flags.StringVar(&q.order, "order", def.Order, "`WORD`: given (as written, twins first), cheapest (fewest FLOPs first) or random")
	q.flags.IntVar(&q.atOnce, "at-once", def.AtOnce, "runs at a time, where memory allows; more than 1 makes step times say little")
	q.flags.DurationVar(&q.time, "max-time", 0, "stop when the sweep was worked on so long, as in 90m or 2h30m; 0: no limit")
	q.flags.Float64Var(&q.hours, "max-device-hours", 0, "stop when its runs took so many ranks times hours; 0: no limit")
	q.flags.IntVar(&q.failures, "max-failures", def.MaxFailures, "stop after so many failures in a row; 0: never")
	q.flags.IntVar(&q.again, "retries", def.Retries, "how often a run that the machine ended is started again")
	q.flags.VarPF(onOff{&q.stopDiverged}, "stop-diverged", "", "end a run whose loss is no number or grows beyond its start (default on)").NoOptDefVal = "on"
	q.flags.VarPF(onOff{&q.stopSlower}, "stop-slower", "", "end a run that is clearly slower than the best at the same step (default off)").NoOptDefVal = "on"
	_ = cmd.RegisterFlagCompletionFunc("order", cobra.FixedCompletions(space.Orders(), cobra.ShellCompDirectiveNoFileComp)) // it fails for a flag that is not there
}

// over puts what the command line says over other options.
func (q *queueFlags) over(o sweeps.Options) sweeps.Options {
	set := func(name string, take func()) {
		if q.flags.Changed(name) {
			take()
		}
	}
	set("order", func() { o.Order = q.order })
	set("at-once", func() { o.AtOnce = q.atOnce })
	set("max-time", func() { o.MaxTime = q.time })
	set("max-device-hours", func() { o.MaxDeviceHours = q.hours })
	set("max-failures", func() { o.MaxFailures = q.failures })
	set("retries", func() { o.Retries = q.again })
	return o.With(space.FileOptions{StopDiverged: q.stopDiverged, StopSlower: q.stopSlower})
}

// wrong names all values of the command line that no queue takes, each with its flag.
func (q *queueFlags) wrong() error {
	err := q.over(sweeps.DefaultOptions()).Check()
	all, joined := err.(interface{ Unwrap() []error })
	if !joined {
		return err
	}
	var errs []error
	for _, err := range all.Unwrap() {
		errs = append(errs, fmt.Errorf("--%w", err)) // each begins with the name
	}
	return errors.Join(errs...)
}
