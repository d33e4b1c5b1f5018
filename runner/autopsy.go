package runner

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"boost-tui/internal/regular"
	"boost-tui/profiler/flight"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

const (
	tailLines = 20       // of a rank's log, in its exit record
	tailBytes = 64 << 10 // of the log, that are searched
	// fullBelow is the free space below which a disk counts as full.
	fullBelow = 64 << 10
	fullDisk  = "the disk that holds the runs is full: free some space there, or put the runs elsewhere with --runs"
)

// autopsy completes the record of a rank that has ended: its own, if it wrote one, else from the wait
// status, the flight board and its log. failed is false for a rank that did its work.
func (a *agent) autopsy(e rankExit) (rec protocol.ExitRecord, failed bool) {
	note, err := a.crew.board.Read(a.crew.slot(e.rank))
	if err != nil {
		note = flight.Note{}
	}
	rec = protocol.ExitRecord{Rank: e.rank.index, Step: note.Step}
	own, ownErr := protocol.ReadExit(a.dir, e.rank.index)
	if ownErr == nil {
		rec = own
	}
	rec.Code, rec.Signal = status(e.wait)
	if e.err != nil {
		rec.Code, rec.Cause = -1, "how it ended could not be found out: "+e.err.Error()
	}
	if rec.OK() {
		early := a.ending.state == "" && leftEarly(note, e.rank.proc.Pid, a.run)
		if !early {
			return rec, false
		}
		rec.Cause = fmt.Sprintf(leftWithoutError+" before the run's last step, %d", lastStep(a.run))
	}
	if rec.Code == protocol.CodeCancelled && a.ending.state == Cancelled {
		return rec, false
	}
	rec.Secondary = rec.Secondary || rec.Code == protocol.CodeSecondary
	if rec.Code == protocol.CodeCancelled && e.rank.told == 0 && !rec.Secondary {
		rec.Cause = cmp.Or(rec.Cause, "was told to stop") + ", not by its agent but from outside"
	}
	if rec.TSNanos == 0 {
		rec.TSNanos = e.at.UnixNano()
	}
	if rec.Step == 0 {
		rec.Step = note.Step
	}
	if rec.Operation == "" {
		rec.Operation = note.String()
	}
	tail := readTail(record.LogPath(a.dir, e.rank.index))
	rec.LogTail = lastLines(tail, tailLines)
	if e.rank.told != 0 {
		rec.Secondary = true
		if rec.Cause == "" {
			rec.Cause = "ended by its agent with " + unix.SignalName(e.rank.told)
		}
	}
	if rec.Cause == "" {
		rec.Cause = a.guess(rec, tail)
	}
	rec.OutOfMemory = strings.Contains(rec.Cause, outOfMemory)
	return rec, true
}

// status splits a wait status.
func status(w syscall.WaitStatus) (code int, signal string) {
	if w.Signaled() {
		return -1, unix.SignalName(w.Signal())
	}
	return w.ExitStatus(), ""
}

// leftEarly reports whether a rank that ended without an error cannot have done its work: it noted its
// steps on the board and had not come to the last.
func leftEarly(n flight.Note, pid int, r Run) bool {
	return n.PID == pid && n.Step < lastStep(r)
}

func lastStep(r Run) int {
	t := r.Experiment.Train
	if t.StopAfter > 0 && t.StopAfter < t.Steps {
		return t.StopAfter
	}
	return t.Steps
}

// guess says why a rank ended that could not say it itself.
func (a *agent) guess(rec protocol.ExitRecord, tail []byte) string {
	switch {
	case rec.Signal == "SIGKILL" && oomKills() > a.oomStart:
		return "was killed by SIGKILL, and " + outOfMemory + ": it needs a smaller model or micro-batch, or more memory"
	case rec.Signal == "SIGKILL":
		return "was killed by SIGKILL, from outside or for lack of memory"
	case rec.Signal != "" && crashLine(tail) != "":
		return "was ended by " + rec.Signal + ": " + crashLine(tail)
	case rec.Signal != "":
		return "was ended by " + rec.Signal
	}
	s := fmt.Sprintf("ended with exit code %d", rec.Code)
	if rec.Code == protocol.CodeSecondary {
		s = "ended because another rank or its agent did"
	}
	if line := crashLine(tail); line != "" {
		s += ": " + line
	} else if n := len(rec.LogTail); n > 0 {
		s += ": " + strings.TrimPrefix(rec.LogTail[n-1], "boost-tui: ")
	}
	if strings.Contains(s, syscall.ENOSPC.Error()) {
		return s
	}
	if a.diskFull || diskIsFull(a.dir) {
		a.diskFull = true
		s += "; " + fullDisk
	}
	return s
}

// crashLine is the line of a log that says why a program crashed; a stack of many lines follows it.
func crashLine(log []byte) string {
	for line := range bytes.Lines(log) {
		for _, mark := range []string{"panic: ", "fatal error: ", "runtime: out of memory", "SIGSEGV", "SIGBUS", "SIGILL"} {
			if bytes.HasPrefix(line, []byte(mark)) {
				return clean(string(line), 200)
			}
		}
	}
	return ""
}

// readTail is the end of a log. One that cannot be read is empty: the record can do without.
func readTail(path string) []byte {
	f, err := regular.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil
	}
	at := max(0, st.Size()-tailBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, at, tailBytes))
	if err != nil {
		return nil
	}
	if i := bytes.IndexByte(data, '\n'); at > 0 && i >= 0 {
		data = data[i+1:]
	}
	return data
}

// lastLines are the last n lines that show something, safe for a terminal.
func lastLines(log []byte, n int) []string {
	var lines []string
	for line := range bytes.Lines(log) {
		// A progress bar rewrites its line: what counts is what stood there last.
		line = bytes.TrimRight(line, "\r\n")
		line = line[bytes.LastIndexByte(line, '\r')+1:]
		if s := Clean(string(line)); s != "" {
			lines = append(lines, s)
		}
	}
	return lines[max(0, len(lines)-n):]
}

// lastLine is the last line of a log, empty where there is none.
func lastLine(path string) string {
	lines := lastLines(readTail(path), 1)
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// oomKills is how often the kernel has killed for lack of memory, on the host or in any of its containers.
func oomKills() int64 {
	data, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// diskIsFull looks at the space that this user may still fill.
func diskIsFull(dir string) bool {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(dir, &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && int64(st.Bavail)*st.Bsize < fullBelow
	}
}
