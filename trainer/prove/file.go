package prove

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"boost-tui/internal/regular"
)

// ErrOut is wrapped when no report can be written where it was asked for. Nothing was measured then.
var ErrOut = errors.New("no report can be written")

// reportFile is where a report is: under a name that was free, and whole whenever there is something.
type reportFile struct {
	path string
	ours bool // the file of that name is this one's
}

// write replaces what is there, once it is ours. A full disk leaves what was there, and nothing beside it.
func (f *reportFile) write(data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the report %s: %w", f.path, bare(err))
		}
	}()
	aside, err := regular.Aside(filepath.Dir(f.path), "."+filepath.Base(f.path)+".")
	if err != nil {
		return err
	}
	_, err = aside.Write(data)
	if err == nil {
		err = aside.Sync()
	}
	if err = errors.Join(err, aside.Close()); err == nil {
		if err = f.place(aside.Name()); err == nil {
			f.ours = true
			return nil
		}
	}
	if gone := os.Remove(aside.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

func (f *reportFile) place(aside string) error {
	if f.ours {
		return os.Rename(aside, f.path)
	}
	return regular.PlaceNew(aside, f.path)
}

// bare is an error without the names of files that the user did not give.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// freeName refuses what cannot become a report, by its name alone.
func freeName(path string) error {
	switch at, err := os.Lstat(path); {
	case path == "":
		return fmt.Errorf("%w: the name of its file is empty", ErrOut)
	case strings.HasSuffix(path, "/"), err == nil && at.IsDir():
		return fmt.Errorf("%w: %s is a folder; name a new file", ErrOut, path)
	case err == nil:
		return fmt.Errorf("%w: %s is there already, and is not replaced; name a new file", ErrOut, path)
	}
	return nil
}

// write puts the report where it belongs, whole.
func (p *proof) write() error {
	p.report.Seconds = time.Since(p.begun).Seconds()
	p.report.Complete, p.report.Figures = p.report.Sum().Complete, p.report.meaning(p.lacks)
	data, err := json.MarshalIndent(p.report, "", " ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return p.out.write(append(data, '\n'))
}
