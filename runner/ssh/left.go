package ssh

import (
	"net"
	"path/filepath"
	"time"
)

// answersPatience is how long a socket of this machine may take to let somebody in.
const answersPatience = 200 * time.Millisecond

// answers reports whether a connection is shared by a folder of sockets: somebody listens at one of them. The process that a folder is
// named after may be out of sight, in another container, and its connections are in use all the same.
func answers(dir string) bool {
	sockets, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return true
	}
	for _, path := range sockets {
		if conn, err := net.DialTimeout("unix", path, answersPatience); err == nil {
			_ = conn.Close() // nothing was said
			return true
		}
	}
	return false
}
