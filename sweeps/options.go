package sweeps

import (
	"errors"
	"fmt"
	"math"

	"boost-tui/sweeps/space"
)

// maxAtOnce bounds the runs at a time, and the other counts of Options: far more than any machine takes.
const maxAtOnce = 1 << 16

// With are the options where a file says nothing else.
func (o Options) With(f space.FileOptions) Options {
	said(&o.Order, f.Order)
	said(&o.AtOnce, f.AtOnce)
	said(&o.MaxTime, f.MaxTime)
	said(&o.MaxDeviceHours, f.MaxDeviceHours)
	said(&o.MaxFailures, f.MaxFailures)
	said(&o.Retries, f.Retries)
	said(&o.StopDiverged, f.StopDiverged)
	said(&o.StopSlower, f.StopSlower)
	return o
}

func said[T any](value, by *T) {
	if by != nil {
		*value = *by
	}
}

// File are the options as a file says them.
func (o Options) File() space.FileOptions {
	return space.FileOptions{
		Order: &o.Order, AtOnce: &o.AtOnce, MaxTime: &o.MaxTime, MaxDeviceHours: &o.MaxDeviceHours,
		MaxFailures: &o.MaxFailures, Retries: &o.Retries, StopDiverged: &o.StopDiverged, StopSlower: &o.StopSlower,
	}
}

// Check says everything that is wrong with the options.
func (o Options) Check() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.Order != OrderGiven && o.Order != OrderCheapest && o.Order != OrderRandom, "order: %q is unknown; allowed: %s, %s or %s", text(o.Order), OrderGiven, OrderCheapest, OrderRandom)
	bad(o.AtOnce < 1 || o.AtOnce > maxAtOnce, "at-once: %d runs at a time; allowed: from 1 to %d", o.AtOnce, maxAtOnce)
	bad(o.MaxTime < 0, "max-time: %s is negative; 0 means no limit", o.MaxTime)
	bad(!(o.MaxDeviceHours >= 0) || math.IsInf(o.MaxDeviceHours, 0), "max-device-hours: %g; allowed: a number from 0, 0 means no limit", o.MaxDeviceHours)
	bad(o.MaxFailures < 0 || o.MaxFailures > maxAtOnce, "max-failures: %d; allowed: from 0 to %d, 0 means no limit", o.MaxFailures, maxAtOnce)
	bad(o.Retries < 0 || o.Retries > maxAtOnce, "retries: %d; allowed: from 0 to %d", o.Retries, maxAtOnce)
	return errors.Join(errs...)
}
