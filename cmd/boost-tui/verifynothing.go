package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/trainer/golden"
)

// args takes the word behind --sp, which says it as `run` takes it, and nothing else.
func (f *verifyFlags) args(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && cmd.Flags().Changed("sp") {
		if err := (onOff{&f.sp}).Set(args[0]); err == nil {
			return nil
		}
	}
	return cobra.NoArgs(cmd, args)
}

// reasonsTold bounds how many reasons are told why nothing is there to check.
const reasonsTold = 3

// nothing says why there is nothing to check: what most cases do not fit by.
func (f verifyFlags) nothing(o golden.Options, cases []golden.Case) error {
	of := map[string][]string{} // cases by what is wrong
	for _, c := range cases {
		for _, reason := range f.misfits(o, c) {
			if !slices.Contains(of[reason], c.Name) {
				of[reason] = append(of[reason], c.Name)
			}
		}
	}
	reasons := make([]string, 0, len(of))
	for r := range of {
		reasons = append(reasons, r)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(of[b]), len(of[a])), cmp.Compare(a, b))
	})
	var text []string
	for _, r := range reasons[:min(len(reasons), reasonsTold)] {
		if n := len(of[r]); n < len(cases) {
			r += fmt.Sprintf(" (%d %s, such as %s)", n, plural("case", int64(n)), of[r][0])
		}
		text = append(text, r)
	}
	if n := len(reasons) - reasonsTold; n > 0 {
		text = append(text, fmt.Sprintf("and %d more such %s", n, plural("reason", int64(n))))
	}
	return fmt.Errorf("no case fits: %s; boost-tui verify without flags checks all that there are", strings.Join(text, "; "))
}

// misfits is what keeps a case from being checked, under each scheme and degree that was asked for.
func (f verifyFlags) misfits(o golden.Options, c golden.Case) (reasons []string) {
	schemes := c.Schemes()
	if f.scheme != "" {
		schemes = []experiment.Scheme{o.Scheme}
	}
	for _, s := range schemes {
		degrees := c.TPs(s)
		if f.tp > 0 {
			degrees = []int{f.tp}
		}
		for _, n := range degrees {
			one := o
			one.Scheme, one.TP = s, n
			if err := c.Fits(one); err != nil {
				text := strings.TrimPrefix(err.Error(), golden.ErrFit.Error()+": case "+c.Name)
				reasons = append(reasons, strings.TrimPrefix(strings.TrimSpace(text), ": "))
			}
		}
	}
	return reasons
}
