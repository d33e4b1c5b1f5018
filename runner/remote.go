package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"boost-tui/runner/protocol"
)

// A run on hosts that ssh leads to has two helpers on each of them. The session (remote_session.go) speaks with the conductor
// over ssh and lives as long as the connection. The guard (remote_guard.go) starts the host's agent, waits for it and writes
// down how it ended; it survives the connection, so that a break ends no run.

// remoteSetup is what a conductor tells a session, as one line on its stdin.
type remoteSetup struct {
	Schema     int      `json:"schema"`
	Version    string   `json:"version"` // of the program; another one's session refuses
	Run        string   `json:"run"`     // id
	Dir        string   `json:"dir"`     // of the run; empty: the hosts share no file system, and this one keeps its part by itself
	Host       int      `json:"host"`
	Hosts      int      `json:"hosts"`
	Name       string   `json:"name"` // what records call the host
	World      int      `json:"world"`
	Foreground bool     `json:"foreground"`
	Lease      int      `json:"lease_s"`       // how long a foreground run goes on of whose conductor nothing is heard
	Env        []string `json:"env,omitempty"` // NAME=value
}

const (
	// maxSetup bounds the line.
	maxSetup = 1 << 20
	// remoteStale is how long a run may have a result while an agent still runs, before that is ended.
	remoteStale = 10 * time.Second
)

func (s remoteSetup) scattered() bool { return s.Dir == "" }

func (s remoteSetup) share() Share { return Share{Host: s.Host, Hosts: s.Hosts, Name: s.Name} }

func (s remoteSetup) check() error {
	switch {
	case s.Schema != Schema:
		return fmt.Errorf("schema %d of another version", s.Schema)
	case checkID(s.Run) != nil:
		return fmt.Errorf("no run is called %q", clean(s.Run, 60))
	case s.Dir != "" && !filepath.IsAbs(s.Dir):
		return fmt.Errorf("folder %q is not absolute", clean(s.Dir, 80))
	case s.World < 1 || s.World > protocol.MaxRanks || s.Hosts < 1 || s.Hosts > s.World || s.Host < 0 || s.Host >= s.Hosts:
		return fmt.Errorf("host %d of %d, of a run of %d ranks", s.Host, s.Hosts, s.World)
	case s.Lease < 1:
		return fmt.Errorf("a lease of %d s", s.Lease)
	}
	return nil
}

func parseSetup(line []byte) (remoteSetup, error) {
	var s remoteSetup
	if err := json.Unmarshal(line, &s); err != nil {
		return s, fmt.Errorf("what the run asks of this host cannot be read: %w", err)
	}
	if err := s.check(); err != nil {
		return s, fmt.Errorf("what the run asks of this host makes no sense: %w", err)
	}
	return s, nil
}

// hostRecord is host-N.json: what the guard of a host knows of its agent.
type hostRecord struct {
	Schema int       `json:"schema"`
	Name   string    `json:"name"`
	Guard  Process   `json:"guard"`
	Agent  Process   `json:"agent"` // no pid: it is not there yet
	Begun  time.Time `json:"begun"`
	Ended  bool      `json:"ended"`
	Error  string    `json:"error,omitempty"` // how it ended, where that was not in good order
}

// Names of a host's own files in a run's folder. Hosts that share it have one each.
func hostPath(dir string, host int) string {
	return filepath.Join(dir, fmt.Sprintf("host-%d.json", host))
}

// leasePath is a file that changes as long as the conductor is heard.
func leasePath(dir string, host int) string {
	return filepath.Join(dir, fmt.Sprintf(".lease-%d", host))
}

// hostLog is the log of the agent of a host, where the hosts share no file system.
func hostLog(host int) string { return fmt.Sprintf("agent-%d.log", host) }

// readHost is fs.ErrNotExist as long as no guard has come.
func readHost(dir string, host int) (r hostRecord, err error) {
	data, err := protocol.ReadFile(hostPath(dir, host), maxFileBytes)
	if err != nil {
		return r, err
	}
	return parseHost(data)
}

func parseHost(data []byte) (r hostRecord, err error) {
	if err := json.Unmarshal(data, &r); err != nil || r.Schema != Schema {
		return hostRecord{}, errors.New("damaged or of another version")
	}
	return r, nil
}

func (r hostRecord) encode() ([]byte, error) {
	r.Schema = Schema
	data, err := json.Marshal(r)
	return append(data, '\n'), err
}

// scatteredDir is where a host keeps its part of a run, in the user's folder for what can be made again.
func scatteredDir(run string, host int) (string, error) {
	cache, err := remoteCache()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "runs", fmt.Sprintf("%s-h%d", run, host)), nil
}

// remoteCache is this program's folder of this host's user; the script that copies the program says the same.
func remoteCache() (string, error) {
	if c := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(c) {
		return filepath.Join(c, "boost-tui"), nil
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "boost-tui"), nil
	}
	return "", errors.New("neither HOME nor XDG_CACHE_HOME is set, and the runs folder is not shared: there is no place for the run's files")
}

// remoteStatus is what a session tells the conductor again and again.
type remoteStatus struct {
	Begun bool   `json:"begun"` // a guard is there, or was
	Ended bool   `json:"ended"` // the agent has ended
	Error string `json:"error,omitempty"`
	// Stillborn says that the agent could not be started, which nobody but the session knows: on a full disk nothing tells it.
	Stillborn bool `json:"stillborn,omitempty"`
}

// statusOf works out what has become of a host's agent.
func statusOf(dir string, host int, me Process) remoteStatus {
	r, err := readHost(dir, host)
	if errors.Is(err, fs.ErrNotExist) {
		return remoteStatus{}
	}
	if err != nil {
		return remoteStatus{Begun: true, Ended: true, Error: err.Error()}
	}
	// Of another pid namespace of this very host nothing is left: the container that it was is another one now.
	gone := func(p Process) bool { l := p.look(me); return l == dead || l == elsewhere && p.Host == me.Host }
	switch {
	case r.Ended:
		return remoteStatus{Begun: true, Ended: true, Error: r.Error}
	case !gone(r.Guard):
		return remoteStatus{Begun: true}
	case r.Agent.PID > 0 && !gone(r.Agent): // its guard was killed; it goes on, or notices
		return remoteStatus{Begun: true}
	}
	return remoteStatus{Begun: true, Ended: true, Error: "its agent and whoever stood over it are gone (killed from outside, or the machine went down)"}
}

func (s remoteStatus) encode() []byte {
	data, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return data
}

func parseStatus(data []byte) (s remoteStatus, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, errors.New("what the host says of its agent cannot be read")
	}
	s.Error = clean(s.Error, maxLineRunes)
	return s, nil
}

// withEnv is this process's environment with variables of the user's configuration over it.
func withEnv(extra []string) []string { return slices.Concat(os.Environ(), extra) }
