package runner

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// Host is a host of a run, as hosts.json has it: the agent of the first one writes that once it knows all, and again at the
// end, when the clocks are known best.
type Host struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	First   int    `json:"first"` // rank
	Ranks   int    `json:"ranks"`
	// OffsetNanos is how far the host's clock is ahead of the first one's, give or take ErrorNanos; absent: unknown.
	OffsetNanos *int64 `json:"offset_ns,omitempty"`
	ErrorNanos  int64  `json:"error_ns,omitempty"`
}

type hostsFile struct {
	Schema int    `json:"schema"`
	Hosts  []Host `json:"hosts"`
}

// writeHosts writes hosts.json once every host has said who it is.
func (a *agent) writeHosts() error {
	if a.others.named < len(a.others.hosts)-1 || a.gone {
		return nil
	}
	a.others.written, a.others.error = time.Now(), a.others.worst()
	f := hostsFile{Schema: Schema}
	for i, o := range a.others.hosts {
		first, end := a.o.Share.of(i).ranks(a.run.World())
		h := Host{Name: o.Name, Address: o.Address, First: first, Ranks: end - first}
		if ahead := a.others.server.Offset(i); i == 0 {
			h.OffsetNanos = new(int64)
		} else if ahead.Known {
			n := ahead.Offset.Nanoseconds()
			h.OffsetNanos, h.ErrorNanos = &n, ahead.Error.Nanoseconds()
		}
		f.Hosts = append(f.Hosts, h)
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return record.Explain(protocol.WriteFile(filepath.Join(a.dir, protocol.HostsFile), append(data, '\n')))
}

// Hosts reads which hosts a run's ranks are on; fs.ErrNotExist where it has only one, or they have not all come.
func Hosts(dir string) ([]Host, error) {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.HostsFile), maxFileBytes)
	if err != nil {
		return nil, err
	}
	return parseHosts(data)
}

func parseHosts(data []byte) ([]Host, error) {
	var f hostsFile
	if err := json.Unmarshal(data, &f); err != nil || f.Schema != Schema {
		return nil, fmt.Errorf("%s is damaged or of another version", protocol.HostsFile)
	}
	next := 0
	for i := range f.Hosts {
		h := &f.Hosts[i]
		if h.First != next || h.Ranks < 1 || h.Ranks > protocol.MaxRanks-next {
			return nil, fmt.Errorf("%s is damaged: host %d has ranks %d to %d", protocol.HostsFile, i, h.First, h.First+h.Ranks-1)
		}
		next += h.Ranks
		h.Name, h.Address = clean(h.Name, 64), clean(h.Address, 64)
	}
	return f.Hosts, nil
}
