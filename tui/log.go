package tui

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// logLimit is the size from which an old log is put aside.
const logLimit = 1 << 20

// logFile is the UI's log; standard error goes there too.
type logFile struct {
	file *os.File
	lock *stateLock // given up with the log; may be nil
}

// stateDir is where the UI keeps its log and session: $XDG_STATE_HOME or
// ~/.local/state, in boost-tui. Empty when neither is known.
func stateDir(getenv func(string) string) string {
	if s := getenv("XDG_STATE_HOME"); filepath.IsAbs(s) {
		return filepath.Join(s, "boost-tui")
	}
	if h := getenv("HOME"); h != "" {
		return filepath.Join(h, ".local", "state", "boost-tui")
	}
	return ""
}

// openLog opens the log in the state folder, or, where nothing can be written
// there, a temporary file, or nothing.
func openLog(getenv func(string) string) (*logFile, error) {
	if dir := stateDir(getenv); dir != "" {
		path := filepath.Join(dir, "ui.log")
		if err := os.MkdirAll(dir, 0o700); err == nil {
			if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
				_ = os.Rename(path, path+".old") // an append to a large file is no harm
			}
			if f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
				return &logFile{file: f}, nil
			}
		}
	}
	if f, err := os.CreateTemp("", "boost-tui-*.log"); err == nil {
		return &logFile{file: f}, nil
	}
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("open a log for the UI: %w", err)
	}
	return &logFile{file: f}, nil
}

// Printf adds a line with its time. It may be called from any goroutine.
func (l *logFile) Printf(format string, args ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintf(l.file, "%s %s\n", time.Now().Format(time.RFC3339), text)
}

// Close closes the file and gives up the lock.
func (l *logFile) Close() error {
	if l.lock != nil {
		return errors.Join(l.lock.Close(), l.file.Close())
	}
	return l.file.Close()
}
