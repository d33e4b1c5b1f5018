package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Binary is the absolute path of this program, for starting agents and ranks from. A file that was
// replaced or deleted since this process started is an error: its ranks would be another program.
func Binary() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's own file: %w", err)
	}
	running, err := os.Stat("/proc/self/exe") // the file itself, under whatever name, even none
	if err != nil {
		return "", fmt.Errorf("find this program's own file: %w", err)
	}
	st, err := os.Stat(path)
	if err != nil || !os.SameFile(st, running) {
		return "", fmt.Errorf("%s was replaced or deleted while this program runs: start it again, then launch", path)
	}
	return path, nil
}

// checkBinary says whether a file can be started.
func checkBinary(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("program %q is not an absolute path", path)
	}
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("program to start: %w", err)
	}
	if !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return fmt.Errorf("program %s cannot be executed", path)
	}
	return nil
}

// program remembers the hash of the file that runs were last started from: reading it takes longer than all else
// between two runs of a sweep.
type program struct {
	mu   sync.Mutex
	file fs.FileInfo
	sum  string
}

func (p *program) hash(path string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if p.file != nil && os.SameFile(p.file, st) && p.file.Size() == st.Size() && p.file.ModTime().Equal(st.ModTime()) {
		return p.sum, nil
	}
	sum, err := hashFile(path)
	if err != nil {
		return "", err
	}
	p.file, p.sum = st, sum
	return sum, nil
}

// hashFile is the sha256 of a file, by which runs say which program they are of.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
