package runner

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"boost-tui/experiment"
)

// maxIDBytes leaves room for prefixes and endings within a file name's 255 bytes.
const maxIDBytes = 128

// newID is a run's name: sortable by time (UTC), readable, and apart from others of the same second
// by its ending: 20261129-152049-tiny-cola-btp-tp2-k3fz.
func newID(now time.Time, e experiment.Experiment) (string, error) {
	size := e.Model.Size
	if size == "" {
		size = fmt.Sprintf("d%d", e.Model.D)
	}
	words := []string{size, string(e.Model.Variant), string(e.Parallel.Scheme)}
	return NewID(now, append(words, strings.Split(Degrees(e.Parallel), "-")...)...)
}

// Degrees is how a run's id says how its ranks share the work: tp2-dp2-zero1.
func Degrees(p experiment.Parallel) string {
	text := strings.ReplaceAll(p.Degrees(), " ", "-")
	for _, name := range []string{"tp", "dp", "pp", "zero"} {
		text = strings.Replace(text, name+"-", name, 1)
	}
	return text
}

// NewID is a name that sorts by time (UTC), tells of what it is by words, and is apart from others of the same second
// by its ending.
func NewID(now time.Time, words ...string) (string, error) {
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("random ending of an id: %w", err)
	}
	const letters = "abcdefghijkmnpqrstuvwxyz23456789" // 32, without the look-alikes l, o, 0, 1
	for i := range b {
		b[i] = letters[b[i]%32]
	}
	parts := []string{now.UTC().Format(idTime)}
	for _, w := range words {
		parts = append(parts, word(w))
	}
	return strings.Join(append(parts, string(b[:])), "-"), nil
}

// idTime is how an id begins.
const idTime = "20060102-150405"

// after is the time itself, or where the id of that time would not sort behind another one, the next that does.
func after(at time.Time, id string) time.Time {
	before, err := time.Parse(idTime, id[:min(len(id), len(idTime))])
	if next := before.Add(time.Second); err == nil && next.After(at) && next.Sub(at) < noClock {
		return next
	}
	return at
}

// word keeps the characters of an id.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, s)
	s = strings.Trim(s[:min(len(s), 16)], ".-")
	if s == "" {
		return "x"
	}
	return s
}

// checkID refuses what cannot be the name of a run's directory, path elements first of all.
func checkID(id string) error {
	if id == "" {
		return errors.New("a run's id is empty")
	}
	if len(id) > maxIDBytes {
		return fmt.Errorf("a run's id has at most %d characters", maxIDBytes)
	}
	for i, r := range id {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || i > 0 && (r == '-' || r == '.' || r == '_')
		if !ok {
			return fmt.Errorf("%q is not a run's id: %q cannot be in one", clean(id, 40), r)
		}
	}
	return nil
}
