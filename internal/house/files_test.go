package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxLines is what one reader holds in mind. Tests may be longer: their tables are data.
const maxLines = 400

// sources calls f for every source file of the repository that people edit.
func sources(t *testing.T, f func(path string, data []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "build" || name == "testdata" || strings.HasPrefix(name, ".") && name != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".go", ".c", ".h":
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			f(filepath.ToSlash(rel), data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesStayShort(t *testing.T) {
	sources(t, func(path string, data []byte) {
		if n := bytes.Count(data, []byte("\n")); n > maxLines && !strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s has %d lines, more than %d: split it where two things want to be apart", path, n, maxLines)
		}
	})
}

func TestNothingIsLeftForLater(t *testing.T) {
	marks := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)
	sources(t, func(path string, data []byte) {
		for i, line := range strings.Split(string(data), "\n") {
			if at := strings.Index(line, "//"); at >= 0 && marks.MatchString(line[at:]) {
				t.Errorf("%s:%d: %s", path, i+1, strings.TrimSpace(line))
			}
		}
	})
}

// A panic in a goroutine that the terminal library did not start leaves the terminal in raw mode, so in
// tui/ every goroutine begins in tui/safego, which puts the terminal right first. tui/testkit is for tests
// alone (imports_test.go holds that) and draws on no terminal of its own.
func TestScreensStartGoroutinesThroughTheHelper(t *testing.T) {
	fset := token.NewFileSet()
	sources(t, func(path string, data []byte) {
		if !strings.HasPrefix(path, "tui/") || strings.HasPrefix(path, "tui/safego/") || strings.HasPrefix(path, "tui/testkit/") || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(fset, path, data, 0)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a goroutine outside tui/safego", fset.Position(g.Pos()))
			}
			return true
		})
	})
}
