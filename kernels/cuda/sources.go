package cuda

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"boost-tui/kernels/backend"
)

// sources are those of the library and of the emulator.
//
//go:embed src/*.cu src/*.cuh src/*.h emu/*.h emu/*.cc
var sources embed.FS

// source is one file.
type source struct {
	path string // src/rows.cu
	text []byte
}

// unit reports whether the file is compiled by itself.
func (s source) unit() bool {
	return strings.HasSuffix(s.path, ".cu") || strings.HasSuffix(s.path, ".cc")
}

// allSources are the files that the emulated library is made of, in the order of their names.
func allSources() ([]source, error) {
	list := []source{{backend.HeaderName, []byte(backend.Header)}}
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(path)
		list = append(list, source{path, text})
		return err
	})
	return list, err
}

// digest is the same for the same sources and words.
func digest(list []source, words ...string) string {
	h := sha256.New()
	put := func(b []byte) {
		size := len(b)
		h.Write([]byte{byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)})
		h.Write(b)
	}
	for _, s := range list {
		put([]byte(s.path))
		put(s.text)
	}
	for _, w := range words {
		put([]byte(w))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// writeSources lays the files out in a folder.
func writeSources(dir string, list []source) error {
	for _, s := range list {
		path := filepath.Join(dir, s.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, s.text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
