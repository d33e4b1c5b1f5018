package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/internal/parallel"
	"boost-tui/runner"
	"boost-tui/tui/format"
)

// states are what a run can be in, in the order of its life.
var states = []string{string(runner.Pending), string(runner.Running), string(runner.Finished), string(runner.Failed), string(runner.Cancelled),
	string(runner.Lost), string(runner.Unreadable)}

// shortError is how much of an error stands in a table; show has all of it.
const shortError = 32

// runsFlags say which runs are listed, and what of them.
type runsFlags struct {
	state, tag, sweep            string
	archived, all, deleted, disk bool
	limit                        int
}

func newRuns(a *app) *cobra.Command {
	var f runsFlags
	cmd := &cobra.Command{
		Use: "runs", Short: "List the runs of the store, the latest first", GroupID: groupStore, Args: cobra.NoArgs,
		Long: `List the runs of the store, the latest first. Archived runs are left out unless --archived or --all is given; deleted
ones are in the trash, which --deleted lists.`,
		Example: "  boost-tui runs --state failed --limit 20\n  boost-tui runs --disk\n  boost-tui runs gc",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listRuns(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.state, "state", "", "only runs in this state: "+strings.Join(states, ", "))
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp)) // it fails for a flag that is not there
	flags.StringVar(&f.tag, "tag", "", "only runs with this tag")
	flags.StringVar(&f.sweep, "sweep", "", "only runs of this sweep: its `ID`, or the beginning or last part of it")
	flags.BoolVar(&f.archived, "archived", false, "only archived runs")
	flags.BoolVarP(&f.all, "all", "a", false, "archived runs too")
	flags.BoolVar(&f.deleted, "deleted", false, "what is in the trash")
	flags.BoolVar(&f.disk, "disk", false, "what each takes on the disk")
	flags.IntVarP(&f.limit, "limit", "n", 0, "only the latest so many; 0: all")
	cmd.AddCommand(newUndo(a), newGC(a))
	return cmd
}

func (a *app) listRuns(ctx context.Context, f runsFlags) error {
	if f.state != "" && !slices.Contains(states, f.state) {
		return usagef("--state %q: want %s", f.state, strings.Join(states, ", "))
	}
	if f.archived && f.all || f.deleted && (f.archived || f.all) {
		return usagef("--archived, --all and --deleted name different lists: use one of them")
	}
	if f.limit < 0 {
		return usagef("--limit %d: want a number of runs, or 0 for all", f.limit)
	}
	s, err := a.store()
	if err != nil {
		return err
	}
	if f.deleted {
		return a.listDeleted(ctx, s, f)
	}
	infos, errs := s.List(ctx)
	if infos == nil && len(errs) > 0 {
		return errs[0]
	}
	for _, err := range errs[countErrors(infos):] { // about names that are no runs
		a.note("note: %s", runner.Clean(err.Error()))
	}
	views, archived, more := []runView{}, 0, 0
	for i := len(infos) - 1; i >= 0; i-- {
		in := &infos[i]
		if in.Archived != f.archived && !f.all {
			if in.Archived {
				archived++
			}
			continue
		}
		if !f.wants(in) {
			continue
		}
		if f.limit > 0 && len(views) == f.limit {
			more++
			continue
		}
		views = append(views, viewOf(*in))
	}
	if f.disk {
		if err := a.addDisk(ctx, s, views); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(views)
	}
	if len(views) == 0 && len(infos) > 0 {
		a.note("none of the %d runs in %s is such a one", len(infos), s.Root)
	} else if err := a.printRuns(s, views); err != nil {
		return err
	}
	if more > 0 {
		a.note("%s more, which --limit leaves out", format.Many(more, "run"))
	}
	if archived > 0 {
		a.note("%s: --archived lists them", format.Many(archived, "archived run"))
	}
	return nil
}

// countErrors is how many of a list's errors are about runs that are in it.
func countErrors(infos []runner.Info) (n int) {
	for i := range infos {
		if infos[i].Err != nil {
			n++
		}
	}
	return n
}

// wants reports whether a run is one of those that were asked for.
func (f runsFlags) wants(in *runner.Info) bool {
	return (f.state == "" || string(in.State) == f.state) && (f.tag == "" || slices.Contains(in.Tags, f.tag)) && ofSweep(in.Run.Sweep, f.sweep)
}

// listDeleted lists what is in the trash.
func (a *app) listDeleted(ctx context.Context, s *runner.Store, f runsFlags) error {
	deleted, err := s.Deleted(ctx)
	if err != nil {
		return err
	}
	views := []runView{}
	for i := range deleted {
		if d := &deleted[i]; f.wants(&d.Info) && (f.limit == 0 || len(views) < f.limit) {
			v := viewOf(d.Info)
			v.Deleted = &d.When
			views = append(views, v)
		}
	}
	if f.disk {
		if err := a.addDisk(ctx, s, views); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(views)
	}
	if len(views) == 0 {
		a.note("nothing that was deleted is left in %s", s.Root)
		return nil
	}
	return a.printRuns(s, views)
}

// addDisk counts what runs take on the disk. What cannot be counted is said and left out.
func (a *app) addDisk(ctx context.Context, s *runner.Store, views []runView) error {
	errs := make([]error, len(views))
	if err := parallel.Each(ctx, len(views), func(i int) {
		var u runner.Usage
		if u, errs[i] = runner.UsageOf(ctx, views[i].Dir); errs[i] == nil {
			views[i].Disk, views[i].DiskCheckpoints = &u.Bytes, &u.Checkpoints
		}
	}); err != nil {
		return fmt.Errorf("count what runs take on the disk: %w", err)
	}
	var all, checkpoints int64
	for i, v := range views {
		if errs[i] != nil {
			a.note("note: %s", runner.Clean(errs[i].Error()))
			continue
		}
		all, checkpoints = all+*v.Disk, checkpoints+*v.DiskCheckpoints
	}
	a.note("%s, %s of it in checkpoints; `boost-tui runs gc` finds what can be freed", format.Bytes(all), format.Bytes(checkpoints))
	return nil
}

func (a *app) printRuns(s *runner.Store, views []runView) error {
	if len(views) == 0 {
		a.note("no runs in %s; `boost-tui run` makes one", s.Root)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	// Columns that most stores need not.
	has := func(f func(v runView) bool) bool { return slices.ContainsFunc(views, f) }
	// A device stands in the record of a run whose experiment could be read; that of most runs is the processor.
	devices := has(func(v runView) bool { return v.Device != "" && v.Device != experiment.DeviceCPU })
	swept := has(func(v runView) bool { return v.Sweep != nil })
	owned := has(func(v runView) bool { return v.Owner != "" })
	disk := has(func(v runView) bool { return v.Disk != nil })
	deleted := has(func(v runView) bool { return v.Deleted != nil })
	head := "RUN\tSTATE\tSTEP\tLOSS\tSTARTED\tNAME\tTAGS"
	for _, c := range []struct {
		is    bool
		title string
	}{{devices, "DEVICE"}, {swept, "SWEEP"}, {owned, "OWNER"}, {disk, "DISK\tCHECKPOINTS"}, {deleted, "DELETED"}} {
		if c.is {
			head += "\t" + c.title
		}
	}
	fmt.Fprintln(w, head)
	now := time.Now()
	for _, v := range views {
		fmt.Fprint(w, v.row(now))
		if devices {
			fmt.Fprintf(w, "\t%s", cmp.Or(runner.Clean(v.Device), "-"))
		}
		if swept {
			fmt.Fprintf(w, "\t%s", lastPart(v.Sweep))
		}
		if owned {
			fmt.Fprintf(w, "\t%s", v.Owner)
		}
		if disk {
			fmt.Fprintf(w, "\t%s\t%s", bytesOr(v.Disk), bytesOr(v.DiskCheckpoints))
		}
		if deleted {
			fmt.Fprintf(w, "\t%s", format.When(v.Deleted.Local(), now))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// row is what stands in the table of every run.
func (v runView) row(now time.Time) string {
	step, loss, state := "-", "-", v.State
	if v.Step != nil {
		step = fmt.Sprintf("%d/%d", *v.Step, v.Steps)
	}
	if v.Loss != nil {
		loss = fmt.Sprintf("%.4f", *v.Loss)
	}
	if v.Error == "" && v.why() != "" {
		state += " (" + short(runner.Clean(v.why()), shortError) + ")"
	}
	if v.Error != "" {
		state += " (" + short(runner.Clean(v.Error), shortError) + ")"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", v.ID, state, step, loss, format.When(v.Created, now),
		runner.Clean(v.Name), runner.Clean(strings.Join(v.Tags, ",")))
}

// slurmJob is how the cause of a run that waits for Slurm begins.
var slurmJob = regexp.MustCompile(`^(to be started again: )?Slurm job \d+:? `)

// why is in short what a run waits for, or that nobody looks after it; empty: for nothing, or nobody knows.
func (v runView) why() string {
	if v.ComesBack != "" {
		what, _, _ := strings.Cut(v.ComesBack, ":")
		return what
	}
	if v.State == string(runner.Running) {
		return v.Cause
	}
	if v.State != string(runner.Pending) {
		return ""
	}
	what, _, _ := strings.Cut(slurmJob.ReplaceAllString(v.Cause, ""), ";")
	return what
}

func bytesOr(n *int64) string {
	if n == nil {
		return "-"
	}
	return format.Bytes(*n)
}

// short is at most n characters of a text, the last of them then an ellipsis.
func short(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// lastPart is the ending of a sweep's id, which is what people remember of it.
func lastPart(ref *runner.SweepRef) string {
	if ref == nil {
		return ""
	}
	return "#" + ref.ID[strings.LastIndexByte(ref.ID, '-')+1:]
}

// ofSweep reports whether a run is one of the sweep that the text names; empty: of any or none.
func ofSweep(ref *runner.SweepRef, text string) bool {
	return text == "" || ref != nil && (strings.HasPrefix(ref.ID, text) || strings.HasSuffix(ref.ID, "-"+text))
}
