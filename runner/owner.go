package runner

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"sync"
	"syscall"
)

// ownerOf is the user whose directory it is; -1 where that cannot be told. A link is nobody's run.
func ownerOf(dir string) int {
	st, err := os.Lstat(dir)
	if err != nil {
		return -1
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && st.IsDir() {
		return int(sys.Uid)
	}
	return -1
}

// owned reports that what was looked at is this user's.
func owned(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

// owners are the names of users that were asked for: where they come from a directory service, asking takes long.
var owners sync.Map

// ownerName is the name of a user, as far as this machine knows.
func ownerName(uid int) string {
	if uid < 0 {
		return "nobody knows whom"
	}
	if name, ok := owners.Load(uid); ok {
		return name.(string)
	}
	name := fmt.Sprintf("uid %d", uid)
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		name = clean(u.Username, 64)
	}
	owners.Store(uid, name)
	return name
}
