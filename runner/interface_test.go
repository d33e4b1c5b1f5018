package runner

import (
	"strings"
	"testing"
)

// An interface that is not there is told with the host that lacks it.
func TestInterfaceThatIsNotThereNamesTheHost(t *testing.T) {
	a := &agent{o: AgentOptions{Share: Share{Hosts: 2, Name: "node1", Peer: "node2"}}}
	a.run.Experiment.Where.Interface = "nosuch9"
	if err := a.lead(); err == nil || !strings.HasPrefix(err.Error(), `host node1: interface "nosuch9"`) {
		t.Error(err)
	}
}
