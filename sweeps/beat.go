package sweeps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

// beatEvery is how often the holder of a sweep shows that it lives.
const beatEvery = time.Second

// beat shows that this program lives, and notices when the sweep is no longer its own.
func (h *Hold) beat(ctx context.Context) {
	defer h.beating.Done()
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !h.mine() {
			h.lose()
			return
		}
		// A disk may be in trouble for a moment; the next one may succeed. It is never made anew: somebody who deletes
		// the sweep meanwhile would find his folder not empty.
		_ = touch(h.sweep.Dir, 0)
	}
}

// mine reports whether holder.json still names this process. One that cannot be read for a moment says nothing; one
// that is gone while its folder is there was removed by hand, which takes nothing over.
func (h *Hold) mine() bool {
	data, err := protocol.ReadFile(filepath.Join(h.sweep.Dir, HolderFile), maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Lstat(filepath.Join(h.sweep.Dir, JournalFile))
		return !errors.Is(err, fs.ErrNotExist)
	}
	if err != nil {
		return true
	}
	var o holder
	if json.Unmarshal(data, &o) != nil {
		return true
	}
	return o.Process == h.me
}

// touch renews the heartbeat. The file system of the sweep sets the time, so that hosts need not agree on theirs more
// than they do with it.
func touch(dir string, flag int) error {
	f, err := regular.OpenFile(filepath.Join(dir, HeartbeatFile), os.O_WRONLY|flag, protocol.FileMode)
	if err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	_, err = fmt.Fprintf(f, "%020d\n", time.Now().UnixNano())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return nil
}

// reserveBytes is kept free for the last words on a disk that fills up.
const reserveBytes = 16 << 10

// writeReserve takes the room.
func writeReserve(dir string) error {
	path := filepath.Join(dir, ReserveFile)
	if st, err := os.Lstat(path); err == nil && st.Size() == reserveBytes {
		return nil
	}
	return protocol.WriteFile(path, runner.Reserve(reserveBytes))
}

func dropReserve(dir string) error { return os.Remove(filepath.Join(dir, ReserveFile)) }
