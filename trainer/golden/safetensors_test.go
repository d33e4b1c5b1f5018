package golden

import (
	"encoding/binary"
	"strings"
	"testing"
)

func file(header, data string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestParseSafetensors(t *testing.T) {
	got, err := ParseSafetensors(file(`{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, "\x00\x00\x80\x3f\x00\x00\x00\x40"))
	if err != nil {
		t.Fatal(err)
	}
	if x := got["x"]; len(x.F32) != 2 || x.F32[0] != 1 || x.F32[1] != 2 || len(got) != 1 {
		t.Fatalf("%+v", got)
	}
}

func TestParseSafetensorsErrors(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":          {nil, "too short"},
		"long header":    {binary.LittleEndian.AppendUint64(nil, 1<<62), "header of"},
		"no json":        {file("{", ""), "header"},
		"offsets":        {file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}`, "1234"), "data_offsets"},
		"offsets turned": {file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, "1234"), "data_offsets"},
		"dtype":          {file(`{"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`, "1234"), "BF16"},
		"shape":          {file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, "1234"), "needs 8 bytes"},
		"negative":       {file(`{"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, "1234"), "shape"},
		"overflow":       {file(`{"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}}`, "1234"), "shape"},
	} {
		if _, err := ParseSafetensors(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzParseSafetensors(f *testing.F) {
	f.Add(file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "1234"))
	f.Add(file(`{"x":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}`, "12345678"))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := ParseSafetensors(data)
		if err != nil {
			return
		}
		for name, x := range out {
			n := 1
			for _, s := range x.Shape {
				n *= s
			}
			if len(x.F32)+len(x.I64) != n {
				t.Errorf("%s: %d elements of shape %v", name, len(x.F32)+len(x.I64), x.Shape)
			}
		}
	})
}

func FuzzParseCase(f *testing.F) {
	data, err := embedded.ReadFile("testdata/cola_1layer.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCase(data)
		if err == nil && (c.Steps != len(c.Expected.Loss) || c.Config.Layers < 1) {
			t.Errorf("accepted %+v", c)
		}
	})
}
