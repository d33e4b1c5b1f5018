package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// startFlags say what `sweep` does with the space that it is given.
type startFlags struct {
	dryRun, detach, fresh bool
}

func newSweep(a *app) *cobra.Command {
	var f spaceFlags
	var q queueFlags
	var o startFlags
	cmd := &cobra.Command{
		Use: "sweep [FILE.toml]", Short: "Run many experiments: expand, prune, queue, measure", GroupID: groupWork,
		Long: `Run every experiment of a space, one after another, and put them into one table with speed-ups over their own
full-rank and vanilla twins. The space is a FILE (TOML, - for stdin), or axes on the command line, or both: the
command line wins. The same command again goes on with what it left unfinished, whatever ended it; a run that is
still alive is adopted, and none runs twice. Ctrl-C ends the run that is going on and keeps the rest for later.

Keys of an experiment are set for all points as in boost-tui run.`,
		Example: `  boost-tui sweep --axis scheme=vanilla,btp --axis tp=1,2 --axis rank=32,64 --twins --size tiny --steps 200
  boost-tui sweep sizes.toml --dry-run
  boost-tui sweep sizes.toml --detach`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"toml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := someSpace(cmd, args); err != nil {
				return err
			}
			file, err := f.file(args)
			if err := errors.Join(err, usage(q.wrong())); err != nil {
				return usage(err)
			}
			x, err := a.expand(cmd.Context(), &file.Spec)
			if err != nil {
				return err
			}
			if o.dryRun {
				return a.dryRun(cmd.Context(), file, x, q.over(sweeps.DefaultOptions().With(file.Options)))
			}
			return a.startSweep(cmd.Context(), file, x, q, o)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the points, what was pruned and why, and what it costs; start nothing")
	cmd.Flags().BoolVar(&o.detach, "detach", false, "print the sweep's id and leave it to itself")
	cmd.Flags().BoolVar(&o.fresh, "new", false, "another sweep, also where the same one is unfinished")
	f.register(cmd, a)
	q.register(cmd)
	f.experiment.register(cmd)
	cmd.Flags().Lookup("name").Usage = "what to call the sweep"
	cmd.Flags().Lookup("tags").Usage = "words to find its runs by, separated by commas"
	cmd.AddCommand(newSweepStatus(a), newSweepList(a), newSweepResults(a), newSweepPause(a), newSweepResume(a), newSweepGrow(a),
		newSweepOrder(a), newSweepFirst(a), newSweepSkip(a), newSweepRetry(a), newSweepCancel(a))
	return cmd
}

// someSpace refuses a command line that says no space, and names the command that a word which is no file was meant to be.
func someSpace(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		if !cmd.Flags().Changed("axis") && !cmd.Flags().Changed("repeats") {
			return usagef("a sweep needs axes: a FILE.toml, or --axis KEY=VALUES as in --axis tp=1,2; boost-tui sweep --help says more")
		}
		return nil
	}
	word := args[0]
	if _, err := os.Stat(word); word == "-" || !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(word, "./") {
		return nil
	}
	if word == "on" || word == "off" {
		return usagef("there is no file %q; a switch takes its word behind =, as in --stop-slower=%s", word, word)
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return usagef("there is no file %q, and no command of that name; nearest: boost-tui sweep %s", word, experiment.Closest(word, names))
}

// startSweep creates a sweep, or goes on with the unfinished one over the same space.
func (a *app) startSweep(ctx context.Context, file space.File, x *space.Expansion, q queueFlags, o startFlags) error {
	s, err := a.store()
	if err != nil {
		return err
	}
	if err := a.compileFor(ctx, x.Base, x.Points); err != nil {
		return err
	}
	sw, err := a.createOrFind(ctx, s, file, x, q, o)
	if err != nil {
		return a.noSweep(ctx, err)
	}
	if o.detach {
		return a.spawnSweep(ctx, s, sw)
	}
	return a.lookAfter(ctx, s, sw)
}

// createOrFind gives the unfinished sweep over the same space, ready to go on, or a new one.
func (a *app) createOrFind(ctx context.Context, s *runner.Store, file space.File, x *space.Expansion, q queueFlags, o startFlags) (*sweeps.Sweep, error) {
	folder := sweeps.OpenFolder(s)
	over := func(o sweeps.Options) sweeps.Options { return q.over(o.With(file.Options)) }
	var sw *sweeps.Sweep
	var err error
	made := true
	if o.fresh {
		sw, err = folder.Create(file, x, over(sweeps.DefaultOptions()), os.Args)
	} else {
		sw, made, err = folder.SameOrCreate(file, x, over(sweeps.DefaultOptions()), os.Args)
	}
	if err != nil {
		return nil, err
	}
	if !made {
		a.note("sweep %s goes on; --new makes another of the same space", sw.ID)
		return sw, a.resume(ctx, sw, over)
	}
	a.note("sweep %s in %s: %s", sw.ID, sw.Dir, summary(x))
	return sw, nil
}
