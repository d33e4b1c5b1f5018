package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Schema is the version of the files that this program writes. Lines of schema 1 do not say so;
// later ones carry "schema".
const Schema = 1

// ErrNewerSchema is wrapped by errors about records of a later version of the program.
var ErrNewerSchema = errors.New("written by a newer version of the program")

// StepsPath is the file of a rank's step lines.
func StepsPath(dir string, rank int) string { return rankPath(dir, "steps", rank, ".jsonl") }

// TimelinePath is the file of a rank's sampled spans.
func TimelinePath(dir string, rank int) string { return rankPath(dir, "timeline", rank, ".btl") }

// LogPath is the file of a rank's standard output and standard error.
func LogPath(dir string, rank int) string { return rankPath(dir, "log", rank, ".log") }

// EventsPath is the file of the run's events.
func EventsPath(dir string) string { return filepath.Join(dir, "events.jsonl") }

// RollupPath is the aggregate per step over the ranks.
func RollupPath(dir string) string { return filepath.Join(dir, "rollup.bin") }

// HealthPath is the file of a host's samples. Characters of the name that do not belong into a
// file name become '_'.
func HealthPath(dir, host string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, host)
	return filepath.Join(dir, "health", "h"+name+".jsonl")
}

func rankPath(dir, folder string, rank int, ext string) string {
	return filepath.Join(dir, folder, fmt.Sprintf("r%05d%s", rank, ext))
}

// StepRanks lists the ranks that have a file of step lines, in order. No folder is no ranks.
func StepRanks(dir string) ([]int, error) { return ranksIn(filepath.Join(dir, "steps"), ".jsonl") }

// TimelineRanks lists the ranks that have a timeline, in order.
func TimelineRanks(dir string) ([]int, error) { return ranksIn(filepath.Join(dir, "timeline"), ".btl") }

// HealthHosts lists the hosts that have health lines, as their file names spell them, in order.
func HealthHosts(dir string) ([]string, error) {
	names, err := namesIn(filepath.Join(dir, "health"), "h", ".jsonl")
	slices.Sort(names)
	return names, err
}

func ranksIn(folder, ext string) ([]int, error) {
	names, err := namesIn(folder, "r", ext)
	var ranks []int
	for _, n := range names {
		if r, err := strconv.Atoi(n); err == nil && r >= 0 {
			ranks = append(ranks, r)
		}
	}
	slices.Sort(ranks)
	return ranks, err
}

func namesIn(folder, prefix, ext string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	var names []string
	for _, e := range entries {
		n, ok := strings.CutPrefix(e.Name(), prefix)
		n, ok2 := strings.CutSuffix(n, ext)
		if ok && ok2 && n != "" && !e.IsDir() {
			names = append(names, n)
		}
	}
	return names, nil
}
