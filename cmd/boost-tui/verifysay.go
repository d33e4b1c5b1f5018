package main

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/trainer/golden"
)

// judge prints the reports and fails when one does not hold.
func (a *app) judge(reports []golden.Report, single bool) error {
	bad := 0
	for _, r := range reports {
		if !r.OK {
			bad++
		}
	}
	var err error
	switch {
	case a.json && single:
		err = a.printJSON(reports[0])
	case a.json:
		err = a.printJSON(reports)
	default:
		err = a.printReports(reports, bad)
	}
	if err != nil {
		return err
	}
	if bad > 0 {
		return silently(exitCheck, "a check did not hold")
	}
	return nil
}

func (a *app) printReports(reports []golden.Report, bad int) error {
	degrees := func(r golden.Report) string {
		return experiment.Parallel{TP: r.TP, DP: r.DP, PP: r.PP, Zero: r.Zero, SP: r.SP}.Degrees()
	}
	wide := 4
	for _, r := range reports {
		wide = max(wide, len(degrees(r)))
	}
	last := "final"
	if reports[0].DType == experiment.BF16 {
		last = "change"
	}
	if err := a.print("%-22s %-10s %-*s  %-5s %10s %10s %10s\n", "case", "scheme", wide, "", "", "loss", "gradient", last); err != nil {
		return err
	}
	for _, r := range reports {
		mark := "ok"
		if !r.OK {
			mark = "FAIL"
		}
		if err := a.print("%-22s %-10s %-*s  %-5s %10.2e %10.2e %10.2e\n", r.Case, r.Scheme, wide, degrees(r), mark, r.LossMaxAbsError, r.GradientMaxRelError, r.FinalMaxRelError); err != nil {
			return err
		}
		for _, m := range r.Misses {
			if err := a.print("    %s\n", m); err != nil {
				return err
			}
		}
	}
	return a.print("%d of %d checks hold on %s (%s)\n", len(reports)-bad, len(reports), reports[0].Device, limitWords(reports))
}

// limitWords says what the checks were held to; where degrees differ in that, of each kind.
func limitWords(reports []golden.Report) string {
	var kinds []golden.Limits
	degrees := map[golden.Limits][]string{}
	for _, r := range reports {
		if _, known := degrees[r.Limits]; !known {
			kinds = append(kinds, r.Limits)
		}
		if tp := fmt.Sprint(r.TP); !slices.Contains(degrees[r.Limits], tp) {
			degrees[r.Limits] = append(degrees[r.Limits], tp)
		}
	}
	var words []string
	for _, l := range kinds {
		text := fmt.Sprintf("loss %.0e absolute, gradient %.0e, final %.0e relative", l.Loss, l.Gradient, l.Final)
		if l.GradientMedian > 0 {
			text = fmt.Sprintf("loss %.0e absolute, gradient %.0e, in the median %.0e, change of a step %.0e, in the median %.0e, moments %.0e relative",
				l.Loss, l.Gradient, l.GradientMedian, l.Final, l.FinalMedian, l.Moment)
		}
		if len(kinds) > 1 {
			text = "tp " + strings.Join(degrees[l], ", ") + ": " + text
		}
		words = append(words, text)
	}
	text := "limits: " + strings.Join(words, "; ")
	if reports[0].DType == experiment.BF16 {
		text += "; all against the reference device in bf16, step by step"
	}
	return text
}
