package runner

import (
	"fmt"
	"os"

	"boost-tui/runner/ssh"
)

// CollectSockets finds what killed programs of this user have left beside the store on this machine: the folders of sockets by which
// ssh connections were shared. It frees them when it is told to. Their paths are absolute. The next program that connects
// removes them as well; there may never be one.
func CollectSockets(free bool) (found []Garbage, errs []error) {
	for _, dir := range ssh.Left() {
		if free {
			if err := os.RemoveAll(dir); err != nil {
				errs = append(errs, fmt.Errorf("free %s: %w", dir, err))
				continue
			}
		}
		found = append(found, Garbage{Kind: GarbageTemporary, Path: dir, Why: "sockets of ssh connections whose program is gone"})
	}
	return found, errs
}
