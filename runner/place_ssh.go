package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
	"boost-tui/runner/ssh"
	"boost-tui/runner/userconfig"
)

// sshConductor starts the agents of a run on hosts that ssh leads to.
type sshConductor struct {
	hosts []string // that a run begins on
	spare []string // others that were named, for when one of them is lost
}

// newSSHConductor finds out which hosts an experiment names.
func newSSHConductor(w experiment.Where) (conductor, error) {
	hosts, err := ssh.Hosts(w.Hosts)
	if err != nil {
		return nil, err
	}
	_, user, err := reach()
	if err != nil {
		return nil, err
	}
	if _, err := user.Named(w.Setup); err != nil {
		return nil, err
	}
	if w.Nodes > len(hosts) {
		return nil, fmt.Errorf("%d nodes are asked for, and hosts names %d: name more hosts, or ask for fewer nodes", w.Nodes, len(hosts))
	}
	if w.Nodes > 1 { // 1 is what nobody asked for: then all of them are meant
		return sshConductor{hosts[:w.Nodes], hosts[w.Nodes:]}, nil
	}
	return sshConductor{hosts: hosts}, nil
}

// without are the hosts for a run that goes on after some were lost: spare ones take their places, and where there are none a
// host that was lost is tried again.
func (c sshConductor) without(lost []string) []string {
	hosts := slices.Clone(c.hosts)
	spare := slices.DeleteFunc(slices.Clone(c.spare), func(h string) bool { return slices.Contains(lost, h) })
	for i, h := range hosts {
		if slices.Contains(lost, h) && len(spare) > 0 {
			hosts[i], spare = spare[0], spare[1:]
		}
	}
	return hosts
}

// hostNames implements hosted.
func (c sshConductor) hostNames() []string { return c.hosts }

// CheckRun is CheckPlace of a run: its ranks must be enough for the hosts that it names, too.
func CheckRun(e experiment.Experiment) error {
	p, err := placeOf(e.Where)
	if err != nil {
		return err
	}
	return settleHosts(p, &e)
}

// settleHosts makes an experiment's record name the hosts themselves: a file of hosts can change, and its name means nothing
// in another folder.
func settleHosts(p Place, e *experiment.Experiment) error {
	by, ok := p.(conducted)
	if !ok {
		return nil
	}
	c, ok := by.by.(sshConductor)
	if !ok {
		return nil
	}
	if len(c.hosts) > e.World() {
		return fmt.Errorf("%d hosts are named, and the run has %d ranks (tp x pp x dp): name at most as many hosts, or say --nodes %d to take the first ones",
			len(c.hosts), e.World(), e.World())
	}
	e.Where.Hosts, e.Where.Nodes = strings.Join(slices.Concat(c.hosts, c.spare), ","), len(c.hosts)
	return nil
}

// sshFile is ssh.json: what whoever has to reach the hosts of a run again must know.
const sshFile = "ssh.json"

// sshRecord is its content.
type sshRecord struct {
	Schema    int      `json:"schema"`
	Hosts     []string `json:"hosts"`
	Scattered bool     `json:"scattered"`      // the hosts do not see the run's folder
	Left      []string `json:"left,omitempty"` // hosts that could not be reached at the end, and may hold files of the run
}

func readSSH(dir string) (r sshRecord, err error) {
	path := filepath.Join(dir, sshFile)
	data, err := protocol.ReadFile(path, maxFileBytes)
	if err != nil {
		return r, err
	}
	if !ownFile(path) { // hosts would be reached that somebody else names
		return r, fmt.Errorf("%s is another user's", path)
	}
	return parseSSH(data)
}

func parseSSH(data []byte) (r sshRecord, err error) {
	if err := json.Unmarshal(data, &r); err != nil || r.Schema != Schema || len(r.Hosts) == 0 {
		return sshRecord{}, fmt.Errorf("%s is damaged or of another version", sshFile)
	}
	hosts, err := ssh.ParseList(strings.Join(r.Hosts, ","))
	if err == nil && !slices.Equal(hosts, r.Hosts) {
		err = errors.New("it names no hosts")
	}
	if err != nil {
		return sshRecord{}, fmt.Errorf("%s: %w", sshFile, err)
	}
	for _, host := range r.Left {
		if !slices.Contains(r.Hosts, host) {
			return sshRecord{}, fmt.Errorf("%s is damaged: host %q is none of the run's", sshFile, clean(host, 64))
		}
	}
	return r, nil
}

func (r sshRecord) write(dir string) error {
	r.Schema = Schema
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeIn(dir, sshFile, append(data, '\n'))
}

// reach is how ssh is to be used: by what the environment and the user's configuration of this program say now, and never by
// what lies in a run's folder, which may be another user's: options of ssh run programs.
func reach() (ssh.Config, userconfig.Config, error) {
	user, err := userconfig.Load()
	if err != nil {
		return ssh.Config{}, user, err
	}
	c := ssh.Config{Options: user.SSH.Options}
	if c.File = os.Getenv(ssh.EnvConfig); c.File == "" {
		return c, user, nil
	}
	if c.File, err = filepath.Abs(c.File); err == nil {
		_, err = os.Stat(c.File)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if err != nil {
		return c, user, fmt.Errorf("%s=%s: %w", ssh.EnvConfig, clean(c.File, 200), err)
	}
	return c, user, nil
}
