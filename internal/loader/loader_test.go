package loader

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAbsent(t *testing.T) {
	const name = "libboost-tui-nobody-has.so.1"
	if _, err := os.Stat("/etc/ld.so.cache"); err != nil || os.Getenv("LD_PRELOAD") != "" {
		t.Skip("nothing can be told here")
	}
	t.Setenv("LD_LIBRARY_PATH", "")
	if !Absent(name) {
		t.Error("it is there")
	}
	dir := t.TempDir()
	t.Setenv("LD_LIBRARY_PATH", "/nowhere:"+dir)
	if !Absent(name) {
		t.Error("it is there, in an empty folder")
	}
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if Absent(name) {
		t.Error("it is not found")
	}
	t.Chdir(dir)
	t.Setenv("LD_LIBRARY_PATH", "/nowhere::/nowhere")
	if Absent(name) {
		t.Error("it is not found in the present folder")
	}
}
