package runner

import (
	"testing"
)

func BenchmarkList5000(b *testing.B) {
	root := b.TempDir()
	many(b, NewStore(root), 5000)
	NewStore(root).List(b.Context())
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			s := NewStore(root)
			s.index.loaded = true
			if infos, errs := s.List(b.Context()); len(infos) != 5000 || errs != nil {
				b.Fatal(len(infos), errs)
			}
		}
	})
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			if infos, errs := NewStore(root).List(b.Context()); len(infos) != 5000 || errs != nil {
				b.Fatal(len(infos), errs)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		s := NewStore(root)
		for b.Loop() {
			if infos, errs := s.List(b.Context()); len(infos) != 5000 || errs != nil {
				b.Fatal(len(infos), errs)
			}
		}
	})
}
