// Package docs carries the program's documentation inside the binary: `boost-tui` shows it, and a run
// that names no data trains on it.
package docs

import "embed"

// FS holds the pages, *.md, at its root.
//
//go:embed *.md
var FS embed.FS
