// Package loader says what the dynamic loader would find, without opening it: a library runs code as soon as it is opened.
package loader

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// Absent reports, in no time, that none of the places where the loader looks has a library of this name, such as libcuda.so.1. Where
// it cannot tell it reports false: the library must be tried.
func Absent(name string) bool {
	cache, err := os.ReadFile("/etc/ld.so.cache")
	if err != nil || bytes.Contains(cache, []byte(name+"\x00")) || os.Getenv("LD_PRELOAD") != "" {
		return false
	}
	folders := strings.FieldsFunc(os.Getenv("LD_LIBRARY_PATH"), func(r rune) bool { return r == ':' || r == ';' })
	for _, pattern := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*"} {
		found, _ := filepath.Glob(pattern)
		folders = append(folders, found...)
	}
	if strings.Contains(":"+os.Getenv("LD_LIBRARY_PATH")+":", "::") {
		folders = append(folders, ".") // which an empty name is to the loader
	}
	for _, dir := range folders {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return false
		}
		if hidden, _ := filepath.Glob(filepath.Join(dir, "glibc-hwcaps", "*", name)); hidden != nil {
			return false
		}
	}
	return true
}
