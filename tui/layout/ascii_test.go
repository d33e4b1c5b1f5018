package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"boost-tui/tui/layout"
)

// Signs belong into the theme's glyphs. Those that are written elsewhere, for text that is not the screens' own, have a
// sign of their own in plain terminals: a question mark says nothing.
func TestEveryLiteralHasAnASCIISign(t *testing.T) {
	files := token.NewFileSet()
	for _, root := range []string{"..", "../../profiler/compare"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "theme/glyphs.go") {
				return err
			}
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING && lit.Kind != token.CHAR {
					return true
				}
				text := strings.Trim(lit.Value, "'")
				if s, err := strconv.Unquote(lit.Value); err == nil {
					text = s
				}
				if strings.Count(layout.ASCII(text), "?") > strings.Count(text, "?") {
					t.Errorf("%s: %s has a sign that is a question mark in plain terminals", files.Position(lit.Pos()), lit.Value)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
