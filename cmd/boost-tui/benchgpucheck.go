package main

import (
	"fmt"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/trainer/prove"
)

// reportCheck is what `bench-gpu --check` says of a file.
type reportCheck struct {
	File   string   `json:"file"`
	Report bool     `json:"report"` // the file is one; else Errors say what is wrong
	Errors []string `json:"errors,omitempty"`
	Device string   `json:"device,omitempty"`
	// EmulatedDevice: its times say nothing about a GPU.
	EmulatedDevice bool   `json:"emulated_device,omitempty"`
	Figures        string `json:"figures,omitempty"`
	*prove.Sum
	Reasons map[string]string `json:"reasons,omitempty"` // of parts that failed or are left out
}

// checkReport says whether a file is a report, and what it comes to. One that is not complete is a check that did not hold.
func (a *app) checkReport(path string) error {
	data, name, err := readAtMost(path, a.in, prove.MostReport)
	if err != nil {
		return usage(err)
	}
	r, err := prove.Parse(data)
	c := reportCheck{File: name, Report: err == nil}
	if err != nil {
		c.Errors = strings.Split(err.Error(), "\n")
	} else {
		sum := r.Sum()
		c.Device, c.EmulatedDevice, c.Figures, c.Sum, c.Reasons = r.Device, r.EmulatedDevice, r.Figures, &sum, map[string]string{}
		for _, p := range r.Parts {
			if p.Reason != "" {
				c.Reasons[p.Name] = p.Reason
			}
		}
	}
	if a.json {
		err = a.printJSON(c)
	} else {
		err = a.printCheck(c)
	}
	switch {
	case err != nil:
		return err
	case !c.Report:
		return silently(exitCheck, "not a report")
	case !c.Complete:
		return silently(exitCheck, "an incomplete report")
	}
	return nil
}

const mostReason = 400 // runes of a reason that are shown; the report has all

// printCheck says it in words.
func (a *app) printCheck(c reportCheck) error {
	for _, text := range c.Errors {
		a.note("%s: not a report: %s", c.File, text)
	}
	if !c.Report {
		return nil
	}
	whole := "complete"
	if !c.Complete {
		whole = "incomplete"
	}
	if err := a.print("%s: a report on %s, %s: %v; %s\n", c.File, c.Device, whole, c.Sum, c.measured()); err != nil {
		return err
	}
	for _, g := range []struct {
		what  string
		parts []string
	}{{"left out, and may be", c.Optional}, {"left out", c.LeftOut}, {"failed", c.Failed}} {
		for _, same := range byReason(g.parts, c.Reasons) {
			if err := a.print("%s: %s: %s\n", g.what, strings.Join(same, ", "), runner.CleanTo(c.Reasons[same[0]], mostReason)); err != nil {
				return err
			}
		}
	}
	if len(c.Absent) > 0 {
		return a.print("broken off before: %s\n", strings.Join(c.Absent, ", "))
	}
	return nil
}

// measured says whether a card was.
func (c reportCheck) measured() string {
	switch {
	case c.Measured && c.Device == experiment.DeviceEmu:
		return "no card was measured: " + c.Figures
	case c.Measured && c.Card != "":
		return fmt.Sprintf("%s, %s", c.Figures, c.Card)
	}
	return c.Figures
}

// byReason are parts that have one reason, together, in the order of their first.
func byReason(parts []string, reasons map[string]string) (out [][]string) {
	at := map[string]int{}
	for _, name := range parts {
		i, ok := at[reasons[name]]
		if !ok {
			i = len(out)
			at[reasons[name]] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], name)
	}
	return out
}
