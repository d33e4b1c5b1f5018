package sweeps

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

// holder is holder.json: the program that looks after the sweep. It removes the file when it leaves.
type holder struct {
	Schema int `json:"schema"`
	runner.Process
	Started time.Time `json:"started"`
}

// presence is what can be seen of a sweep's holder from here.
type presence struct {
	holder holder
	named  bool      // there is a holder.json
	held   bool      // and the program it names is there, as far as can be told
	beat   time.Time // its last sign of life; zero: unknown
}

// look says whether a program looks after the sweep in a directory: by the process table where it is of this machine,
// else by its heartbeat.
func look(dir string, now time.Time) presence {
	var p presence
	if st, err := os.Lstat(filepath.Join(dir, HeartbeatFile)); err == nil {
		p.beat = st.ModTime()
	}
	data, err := protocol.ReadFile(filepath.Join(dir, HolderFile), maxFileBytes)
	if err != nil {
		p.named = !errors.Is(err, fs.ErrNotExist)
	} else {
		p.named = true
		p.holder, err = parseHolder(data)
	}
	if !p.named {
		return p
	}
	alive, known := false, false
	if err == nil && p.holder.PID > 0 {
		alive, known = p.holder.Alive()
	}
	if known {
		p.held = alive
	} else { // elsewhere, or a file that cannot be understood: a fresh heartbeat is a sign, also one from the future
		p.held = !p.beat.IsZero() && now.Add(skew(dir)).Sub(p.beat) < runner.StaleAfter
	}
	return p
}

// parseHolder reads holder.json. Of one that is damaged nothing is known.
func parseHolder(data []byte) (h holder, err error) {
	if err := json.Unmarshal(data, &h); err != nil {
		return holder{}, fmt.Errorf("%s is damaged: %w", HolderFile, err)
	}
	h.Host = runner.CleanTo(h.Host, 64)
	return h, nil
}

// skew is how far the file system's clock, which heartbeats bear, is ahead of this machine's.
func skew(dir string) time.Duration {
	here := time.Now()
	return runner.FileNow(dir, here).Sub(here)
}

// who names the holder for people.
func (p presence) who() string {
	if p.holder.PID <= 0 {
		return "a program that cannot be named"
	}
	return processOn(p.holder.PID, p.holder.Host)
}

// processOn names a process, of a host where that is known.
func processOn(pid int, host string) string {
	if host == "" {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d on %s", pid, host)
}

// ErrHeld is the error about a sweep that another program looks after. Zero values are unknown.
type ErrHeld struct {
	PID  int
	Host string
}

func (e ErrHeld) Error() string {
	who := "another program"
	if e.PID > 0 {
		who = processOn(e.PID, e.Host)
	}
	return who + " looks after the sweep already"
}
