package mirror

import (
	"fmt"
	"strings"
)

// Class is how a file changes.
type Class int

// Classes of files.
const (
	None    Class = iota // no file of a run that is mirrored
	Growing              // appended to
	Bulk                 // appended to, and large: it goes after everything else
	Entire               // replaced as a whole
	Folder               // of files, that the other side may have removed as a whole
)

// Names gives the class of a file of a run, by its path inside the run's folder, with slashes. It is asked about names that
// CheckName takes.
type Names func(name string) Class

// maxDepth is how many folders deep a name may lie, itself included.
const maxDepth = 4

// CheckName refuses what is no plain path inside a folder.
func CheckName(name string) error {
	parts := strings.Split(name, "/")
	if len(name) > MaxName || len(parts) > maxDepth {
		return fmt.Errorf("%w: a name of %d bytes in %d parts", ErrMessage, len(name), len(parts))
	}
	for _, p := range parts {
		if p == "" || p == "." || p == ".." {
			return fmt.Errorf("%w: name %q", ErrMessage, name)
		}
		for i := range len(p) {
			if c := p[i]; !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
				return fmt.Errorf("%w: name %q", ErrMessage, name)
			}
		}
	}
	return nil
}

// class is None for whatever is not named like a file of a run.
func (n Names) class(name string) Class {
	if CheckName(name) != nil {
		return None
	}
	return n(name)
}
