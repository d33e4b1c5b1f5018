package live

import (
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/tui/feed"
	"boost-tui/tui/widget/stepbar"
)

const (
	// columns is how finely a series is handed to the charts: more than any
	// terminal has dots.
	columns = 512
	// sampleSize is how many records give the first picture of a long run.
	sampleSize = 600
	// refineChunk is read between two looks at the clock.
	refineChunk = 256 << 10
	// stepTail and healthTail are how much of an existing file is of interest:
	// more than held lines, and several samples of every rank of a host.
	stepTail   = 64 << 10
	healthTail = 16 << 10
	// followRanks bounds the ranks whose step lines are followed: of a larger run, those near the page.
	followRanks = 2048
	// followWhole is up to how many ranks all steps are held that the search for a straggler needs; of more ranks,
	// those of the window alone.
	followWhole = 512
)

// ask is what a read should look at.
type ask struct {
	span, end   int64 // steps that the charts show, and the last of them (see Model)
	first       int   // rank at the head of the page
	world       int
	hosts       []string  // of the run as its record names them; fewer than two: known by their samples alone
	now         time.Time // by the screen's clock
	look        bool      // the run looks at its machines instead of training
	cores       float64   // of a rank; 0 unknown
	memoryBytes int64     // of the machine; 0 unknown
}

// snapshot is what a read found. Nothing in it changes afterwards.
type snapshot struct {
	by          *follower
	from, to    int64 // of cols
	first, last int64 // of the run
	some        bool  // there are steps
	cols        []record.Column
	whole       bool // the series was read to its end
	skipped     int  // records that could not be read

	ranks       []rankStat // by rank; those that are not followed are unknown
	parts       stepbar.Parts
	steps       int // that parts rests on
	newest      record.StepLine
	stepNanos   int64 // of the newest step line
	healthNanos int64 // of the newest line or sample of any rank
	// When this screen saw these two for the first time, by its own clock.
	stepSeen, healthSeen time.Time
	period               float64 // seconds of a step, of the window
	hosts                []hostStat
	slowHost             straggler // whose ranks are numbers of hosts
	evals                []record.Evaluation
	look                 *protocol.Preflight // of a run that looks at its machines; nil: not yet
	nonFinites           int                 // steps so in the picture
	nonFinite            int64               // first step whose loss was no number; negative: none
	slow                 straggler
	comm                 feed.Collectives
}

// follower reads what a run's ranks write, only ever what is new. One Cmd at a
// time uses it.
type follower struct {
	dir     string
	series  *record.Series
	sampled bool
	tails   map[int]*stepTailer
	health  map[string]*healthTailer
	cpu     map[int]sample
	pulses  map[string]*pulse // of the hosts' samples
	named   []runner.Host     // as hosts.json names them; nil: not yet
	namedAt time.Time
	evals   evalTailer
	comm    feed.Collectives
	commAt  int64 // size of the timelines that comm was read from
	next    int   // rank at which the next read of step lines begins
	round   bool  // every rank was read once
}

type stepTailer struct {
	*record.Tailer
	lines []record.StepLine // the last of them, at most held
}

// last are the lines of the window that shares and breakdown rest on.
func (t *stepTailer) last() []record.StepLine {
	return t.lines[max(0, len(t.lines)-window):]
}

func newFollower(dir string) *follower {
	return &follower{dir: dir, tails: map[int]*stepTailer{}, health: map[string]*healthTailer{}, cpu: map[int]sample{}, pulses: map[string]*pulse{},
		evals: evalTailer{Tailer: record.NewTailer(record.EventsPath(dir))}}
}

// read brings everything up to date as far as the deadline allows. more says
// that the series has more to give.
func (f *follower) read(a ask, deadline time.Time) (s snapshot, more bool, err error) {
	s.by, s.nonFinite = f, -1
	behind, err := f.readSteps(a, deadline)
	if err != nil {
		return s, false, err
	}
	if err := f.readHealth(a.now); err != nil {
		return s, false, err
	}
	f.readHosts(a.now)
	if a.look {
		if found, err := protocol.ReadPreflight(f.dir); err == nil {
			s.look = &found
		}
	}
	evals, err := f.evals.read(deadline)
	if err != nil {
		return s, false, err
	}
	if more, err = f.readSeries(a, deadline, &s); err != nil {
		return s, false, err
	}
	more = more || behind || evals
	if err := f.readCollectives(); err != nil {
		return s, false, err
	}
	f.summarise(a, &s)
	return s, more, nil
}

// wanted lists the ranks whose step lines are followed: all, or those near the
// page.
func (a ask) wanted() (from, to int) {
	if a.world <= followRanks {
		return 0, a.world
	}
	from = max(0, min(a.first, a.world-followRanks))
	return from, from + followRanks
}

// depth is how many lines of a rank are held.
func (a ask) depth() int {
	if a.world > followWhole {
		return window
	}
	return held
}

// readSteps reads what is new of every rank, going on with the rank that the last read had no time for. behind says that
// there are ranks which were never read.
func (f *follower) readSteps(a ask, deadline time.Time) (behind bool, err error) {
	from, to := a.wanted()
	for r := range f.tails {
		if r < from || r >= to {
			delete(f.tails, r)
		}
	}
	n := max(1, to-from)
	// The other half of the time is the charts'.
	deadline = time.Now().Add(time.Until(deadline) / 2)
	for i := range to - from {
		if i >= pageRanks && time.Now().After(deadline) {
			f.next = (f.next + i) % n
			return !f.round, nil
		}
		r := from + (f.next+i)%n
		t := f.tails[r]
		if t == nil {
			t = &stepTailer{Tailer: record.NewTailer(record.StepsPath(f.dir, r))}
			if err := t.SkipToLast(stepTail); err != nil {
				return false, err
			}
			f.tails[r] = t
		}
		if err := t.poll(a.depth()); err != nil {
			return false, err
		}
	}
	f.round = true
	return false, nil
}

func (t *stepTailer) poll(depth int) error {
	for more := true; more; {
		var err error
		more, err = t.Poll(refineChunk, func(line []byte) {
			var l record.StepLine
			if l.Decode(line) != nil {
				return
			}
			if len(t.lines) >= depth {
				copy(t.lines, t.lines[len(t.lines)-depth+1:])
				t.lines = t.lines[:depth-1]
			}
			t.lines = append(t.lines, l)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readCollectives reads the sampled steps when there are an eighth more than
// before; what was known stays when they become too many to read.
func (f *follower) readCollectives() error {
	size, err := feed.TimelineBytes(f.dir)
	if err != nil || size == f.commAt || f.commAt > 0 && size-f.commAt < f.commAt/8 {
		return err
	}
	comm, err := feed.ReadCollectives(f.dir)
	if f.commAt = size; err == nil && (!comm.TooLong || f.comm.Steps == 0) {
		f.comm = comm
	}
	return err
}

// readSeries refines the series and puts the asked columns into s.
func (f *follower) readSeries(a ask, deadline time.Time, s *snapshot) (more bool, err error) {
	if f.series == nil {
		if f.series, err = record.OpenSeries(f.dir); err != nil {
			return false, err
		}
		if err := f.series.Sample(sampleSize); err != nil {
			return false, err
		}
	}
	more = true
	for first := true; more && (first && f.sampled || !first && time.Now().Before(deadline)); first = false {
		if more, err = f.series.Refine(refineChunk); err != nil {
			return false, err
		}
	}
	f.sampled = true
	s.whole, s.skipped = !more, f.series.Skipped()
	if s.first, s.last, s.some = f.series.Range(); !s.some {
		return more, nil
	}
	s.from, s.to = windowOf(s.first, s.last, a.span, a.end)
	s.cols, err = f.series.Zoom(s.from, s.to, columns)
	return more, err
}
