package preflight

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/runner/protocol"
)

// trips is how often the clocks are compared. On a quiet network that takes some milliseconds.
const trips = 64

// clock compares this host's clock with the first one's.
func (p *probe) clock(ctx context.Context) error {
	if !p.leads() || p.Spec.Rank == 0 {
		return nil
	}
	o, err := p.Meet.Offset(ctx, trips)
	if err != nil {
		return err
	}
	n := &p.found.Node
	n.ClockOffset, n.ClockError, n.RoundTrip = -o.Ahead.Seconds(), o.Error.Seconds(), o.Trip.Seconds()
	return nil
}

// lookEvery is how often a file is looked for that another host writes.
const lookEvery = 2 * time.Millisecond

// maxProbeBytes bounds the files that hosts write for each other.
const maxProbeBytes = 256

func pingPath(dir string) string { return filepath.Join(dir, ".preflight-ping") }

func pongPath(dir string, host int) string {
	return filepath.Join(dir, fmt.Sprintf(".preflight-pong-%d", host))
}

// files sends a file from the first host to all others and back, through the folder of the run. What is measured is
// what one host takes to see what another wrote, by the clock of one alone.
func (p *probe) files(ctx context.Context) error {
	if !p.leads() {
		return nil
	}
	dir := p.Spec.RunDir
	if p.Spec.Rank == 0 {
		return p.ping(ctx, dir)
	}
	word, err := p.Meet.Wait(ctx, "preflight/ping", 0)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := await(ctx, pingPath(dir), word); err != nil {
		return fmt.Errorf("%s does not see in %s what %s wrote there: %w", p.here().Name, dir, p.hosts[0].Name, err)
	}
	seen := time.Since(began)
	began = time.Now()
	if err := protocol.WriteFile(pongPath(dir, p.own), word); err != nil {
		return err
	}
	p.found.Node.FileWrite = time.Since(began).Seconds()
	p.Log("saw a file of the first host after %v", seen)
	return nil
}

// ping writes the file and waits for the answers.
func (p *probe) ping(ctx context.Context, dir string) (err error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return err
	}
	word := []byte(hex.EncodeToString(b[:]))
	began := time.Now()
	if err := protocol.WriteFile(pingPath(dir), word); err != nil {
		return err
	}
	p.found.Node.FileWrite = time.Since(began).Seconds()
	defer func() { err = errors.Join(err, forget(dir, len(p.hosts))) }()
	if err := p.Meet.Set(ctx, "preflight/ping", word); err != nil {
		return err
	}
	began = time.Now()
	p.found.Answers = make([]float64, len(p.hosts))
	for missing := len(p.hosts) - 1; missing > 0; {
		for i := 1; i < len(p.hosts); i++ {
			if p.found.Answers[i] == 0 && holds(pongPath(dir, i), word) {
				p.found.Answers[i] = time.Since(began).Seconds()
				missing--
			}
		}
		if missing > 0 && !pause(ctx, lookEvery) {
			return nil // who is missing is judged
		}
	}
	return nil
}

// forget removes the files. Those of hosts that do not share the folder are their own.
func forget(dir string, hosts int) error {
	err := ignoreMissing(os.Remove(pingPath(dir)))
	for i := 1; i < hosts; i++ {
		err = errors.Join(err, ignoreMissing(os.Remove(pongPath(dir, i))))
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// holds reports whether a file says the word.
func holds(path string, word []byte) bool {
	data, err := protocol.ReadFile(path, maxProbeBytes)
	return err == nil && string(data) == string(word)
}

func await(ctx context.Context, path string, word []byte) error {
	for !holds(path, word) {
		if !pause(ctx, lookEvery) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// pause reports whether it was let sleep to the end.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
