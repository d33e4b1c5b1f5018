// Package protocol is what the roles of the program say to each other inside a run: the agent hands
// each rank a RankSpec on its stdin, and every rank leaves an ExitRecord behind.
//
// Start reading at RankSpec (how a rank comes to know what it is) and ExitRecord (how it ended).
// files.go names the files of a run directory that the roles share; those that hold measurements
// are named by profiler/record.
package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"boost-tui/experiment"
)

// Schema is the version of RankSpec and ExitRecord.
const Schema = 1

// MaxRanks bounds the ranks of a run, so that a damaged number cannot ask for the moon.
const MaxRanks = 1 << 16

// MaxSpecBytes bounds the line of a RankSpec.
const MaxSpecBytes = 1 << 20

// NoFD says that a descriptor of a RankSpec is absent.
const NoFD = -1

// RankSpec is everything that a rank is told. The agent writes it as one JSON line to the rank's
// stdin and keeps the pipe open: its end means that the agent is gone, and the rank must leave
// within 2 s.
type RankSpec struct {
	Schema     int    `json:"schema"`
	RunDir     string `json:"run_dir"` // absolute
	Rank       int    `json:"rank"`
	World      int    `json:"world"`
	LocalRank  int    `json:"local_rank"`  // among the ranks of this host
	LocalWorld int    `json:"local_world"` // how many those are
	Threads    int    `json:"threads"`     // compute threads of this rank
	// Rendezvous is the host:port of the store at rank 0. A run of one host may share memory and need it only to exchange ids.
	Rendezvous string `json:"rendezvous"`
	Secret     string `json:"secret"` // of the run; proves to the store, and to other ranks, that a peer belongs to it
	// Address is what this rank is reached at by ranks on other hosts: an IP address, or a network interface of its host.
	// Empty: all ranks of the run are on this host.
	Address    string                `json:"address,omitempty"`
	Experiment experiment.Experiment `json:"experiment"`
	// HostName is what records call the rank's host.
	HostName string `json:"host_name,omitempty"`
	// Preflight is what the rank looks at instead of training; nil: it trains.
	Preflight *PreflightSpec `json:"preflight,omitempty"`
	// Version is the binary's; a rank of another version refuses to start.
	Version string `json:"version"`
	// Inherited descriptors, NoFD where absent: shared memory of the host's ranks, the flight board,
	// and (rank 0 only) the socket that already listens at Rendezvous.
	SegmentFD  int `json:"segment_fd"`
	BoardFD    int `json:"board_fd"`
	ListenerFD int `json:"listener_fd"`
	// LauncherFD hangs up when the program in front is gone; it is watched, never read. NoFD where nobody stands
	// in front; 0, the rank's own stdin, is none either.
	LauncherFD int `json:"launcher_fd"`
}

// Check says whether the spec can be followed.
func (s RankSpec) Check() error {
	switch {
	case s.Schema != Schema:
		return fmt.Errorf("rank specification has schema %d, this program knows %d: agent and rank are different versions of boost-tui", s.Schema, Schema)
	case !strings.HasPrefix(s.RunDir, "/"):
		return fmt.Errorf("rank specification: run directory %q is not absolute", s.RunDir)
	case s.World < 1 || s.World > MaxRanks || s.Rank < 0 || s.Rank >= s.World:
		return fmt.Errorf("rank specification: rank %d of %d", s.Rank, s.World)
	case s.LocalWorld < 1 || s.LocalWorld > s.World || s.LocalRank < 0 || s.LocalRank >= s.LocalWorld:
		return fmt.Errorf("rank specification: local rank %d of %d", s.LocalRank, s.LocalWorld)
	case s.Address == "" && s.LocalWorld != s.World:
		return fmt.Errorf("rank specification: %d of %d ranks are on this host, and there is no address to reach the others from", s.LocalWorld, s.World)
	case s.Threads < 1 || s.Threads > 1<<16:
		return fmt.Errorf("rank specification: %d threads", s.Threads)
	case s.SegmentFD < NoFD || s.BoardFD < NoFD || s.ListenerFD < NoFD || s.LauncherFD < NoFD:
		return errors.New("rank specification: bad descriptor")
	}
	return nil
}

// WriteSpec writes the line.
func WriteSpec(w io.Writer, s RankSpec) error {
	s.Schema = Schema
	if err := s.Check(); err != nil {
		return err
	}
	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode specification of rank %d: %w", s.Rank, err)
	}
	if len(line) >= MaxSpecBytes {
		return fmt.Errorf("specification of rank %d takes %d bytes, more than %d", s.Rank, len(line), MaxSpecBytes)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("hand rank %d its specification: %w", s.Rank, err)
	}
	return nil
}

// ReadSpec reads the line and nothing after it: r stays usable as the rank's lifeline.
func ReadSpec(r io.Reader) (RankSpec, error) {
	line, err := readLine(r, MaxSpecBytes)
	if err != nil {
		return RankSpec{}, fmt.Errorf("read rank specification from stdin: %w (ranks are started by `boost-tui run`, not by hand)", err)
	}
	var s RankSpec
	if err := json.Unmarshal(line, &s); err != nil {
		return RankSpec{}, fmt.Errorf("rank specification: %w", err)
	}
	return s, s.Check()
}

// readLine reads up to the first newline. The writer sends nothing behind it, so bytes that follow are an error.
func readLine(r io.Reader, limit int) ([]byte, error) {
	var line []byte
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		line = append(line, buf[:n]...)
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			if i != len(line)-1 {
				return nil, errors.New("something follows the line")
			}
			return line[:i], nil
		}
		if len(line) > limit {
			return nil, fmt.Errorf("line is longer than %d bytes", limit)
		}
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
}
