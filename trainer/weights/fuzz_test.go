package weights

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever a file of weights and the configuration beside it hold, they are taken or refused with a reason, and what is taken can be
// read.
func FuzzOpen(f *testing.F) {
	e := experimentOf(f, map[string]string{"layers": "1"})
	whole, err := os.ReadFile(foreign(f, e, nil, "").(*file).path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, []byte(`{"model_type":"llama","hidden_size":16,"rope_parameters":{"rope_theta":500000}}`))
	f.Add(whole, []byte(`{"hidden_size":"16","tie_word_embeddings":false,"rope_scaling":{"type":"linear"}}`))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"), []byte("{"))
	f.Add([]byte("PK\x03\x04"), []byte("[]"))
	f.Fuzz(func(t *testing.T, data, config []byte) {
		path := filepath.Join(t.TempDir(), "model.safetensors")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), configFile), config, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path)
		if err != nil {
			return
		}
		defer s.Close()
		if Check(s, e) != nil {
			return
		}
		for name, shape := range wanted(e, true) {
			n := int64(1)
			for _, d := range shape {
				n *= d
			}
			if values, err := s.Read(name); err != nil || int64(len(values)) != n {
				t.Fatalf("%s: %d values of %v, %v", name, len(values), shape, err)
			}
		}
	})
}
