package protocol

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"boost-tui/internal/regular"

	"golang.org/x/sys/unix"
)

// Files of a run directory that are not measurements.
const (
	RunFile       = "run.json"       // what the run is; written once, before anything starts
	ResultFile    = "result.json"    // how it ended; written once
	ReserveFile   = "result.reserve" // space kept for result.json and the exit records on a disk that fills
	AgentFile     = "agent.json"     // which process looks after the run
	HeartbeatFile = "heartbeat"      // its modification time is the agent's sign of life
	WaitingFile   = "waiting"        // as long as it is there, the run waits for the one before it; the agent removes it
	CancelFile    = "cancel"         // its presence asks the agent to end the run
	StoppedFile   = "stopped"        // unless it is empty: that all ranks of the run are stopped (SIGSTOP), and how they go on
	NotesFile     = "notes.json"     // the user's tags and notes, which change later
	AgentLogFile  = "agent.log"      // stderr of a detached agent
	CheckpointDir = "ckpt"           // the folder of the checkpoints
	MeetFile      = "meet.json"      // where the agents of a run on several hosts let their ranks meet, and the run's secret; gone when it ends
	ConductFile   = "conduct.json"   // which process stands over the agents of the run, where one does
	ScatteredFile = "scattered"      // this folder is one host's own part of a run: the other hosts' parts, and the run's folder, are elsewhere
	JobFile       = "job.json"       // the scheduler's job that the run is, where it is one
	HostsFile     = "hosts.json"     // which hosts a run's ranks are on, where they are on several, and how far their clocks are off
	exitDir       = "exit"
)

// CheckpointAside begins the name of what lies beside the checkpoints: one that is being written, or is on its way out.
const CheckpointAside = ".step-"

// A host's part of a checkpoint, where the hosts of a run share no file system: its folder is called so instead, and what rank 0
// says of the whole lies in its own.
const (
	CheckpointPart  = "part-"
	CheckpointDraft = "draft.json"
)

// Modes of what the program creates: a run is private until its owner opens it.
const (
	DirMode  fs.FileMode = 0o700
	FileMode fs.FileMode = 0o600
)

// ExitDir is the folder of the exit records.
func ExitDir(runDir string) string { return filepath.Join(runDir, exitDir) }

// ExitPath is the exit record of a rank.
func ExitPath(runDir string, rank int) string {
	return filepath.Join(runDir, exitDir, fmt.Sprintf("r%05d.json", rank))
}

// PartPath is how the ranks of a host ended that is not the first of the run's.
func PartPath(runDir string, host int) string {
	return filepath.Join(runDir, fmt.Sprintf("part-%d.json", host))
}

// WriteFile replaces a file as a whole: a reader, a crash or a full disk sees the old content or the
// new, never a part. The new content is on the disk before the name points to it.
func WriteFile(path string, data []byte) error { return writeAside(path, data, os.Rename) }

// WriteNew is WriteFile for a name that must be free: errors.Is(err, fs.ErrExist) when it is not. Of several
// that try at once one succeeds, and nobody ever sees a part of the file.
func WriteNew(path string, data []byte) error {
	return writeAside(path, data, regular.PlaceNew)
}

func writeAside(path string, data []byte, place func(tmp, path string) error) error {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+hex.EncodeToString(b[:]))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, FileMode)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, bare(err))
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	written, serr := f.Stat()
	err = errors.Join(err, serr, f.Close())
	if err == nil {
		if err = place(tmp, path); placed(err, written, path) {
			err = nil
			_ = os.Remove(tmp) // a link's other name
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, bare(err)), ignoreMissing(os.Remove(tmp)))
	}
	return nil
}

// placed reports that a file got its name although the system says it did not: a client of NFS that hears no answer asks
// again, and is told the second time that the old name is gone or the new one is there.
func placed(err error, written fs.FileInfo, path string) bool {
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(named, written)
}

// ReadFile reads a regular file of at most limit bytes. It does not hang on a FIFO that somebody put there. On NFS a file
// that is replaced while it is read may become stale: the new one is read then.
func ReadFile(path string, limit int64) ([]byte, error) {
	for range staleTries {
		data, err := regular.ReadFile(path, limit)
		if !errors.Is(err, unix.ESTALE) {
			return data, err
		}
	}
	return regular.ReadFile(path, limit)
}

// staleTries is how often a file that was replaced while it was read is read again.
const staleTries = 3

// bare takes the hidden name off an error, which would only confuse beside the real one.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
