package experiment

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostile are files whose meaning would take memory or time far beyond their size.
func hostile() map[string]string {
	const n = 60_000
	return map[string]string{
		"dotted key":             strings.Repeat("x.", n) + "x = 1\n",
		"spaced key":             strings.Repeat("x . ", n/2) + "x = 1\n",
		"quoted key":             strings.Repeat(`"x".`, n/2) + "x = 1\n",
		"table header":           "[" + strings.Repeat("x.", n) + "x]\n",
		"table of tables":        "[[" + strings.Repeat("x.", n) + "x]]\n",
		"key of a table":         "a = { " + strings.Repeat("x.", n) + "x = 1 }\n",
		"lists":                  "a = " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n",
		"tables":                 "a = " + strings.Repeat("{a=", n) + "1" + strings.Repeat("}", n) + "\n",
		"mixed":                  "a = " + strings.Repeat("[{a=", n) + "1" + strings.Repeat("}]", n) + "\n",
		"after a string":         "name = \"\"\"a\"\"\"\"\"\n" + strings.Repeat("x.", n) + "x = 1\n",
		"after an escape":        "name = \"a\\\\\"\n" + strings.Repeat("x.", n) + "x = 1\n",
		"after a literal":        "name = 'a\\'\n" + strings.Repeat("x.", n) + "x = 1\n",
		"after a comment":        "# \"\"\"\n" + strings.Repeat("x.", n) + "x = 1\n",
		"too large":              "name = '" + strings.Repeat("x", maxFileBytes) + "'\n",
		"many keys":              strings.Repeat("x", 3) + "=1\n" + manyKeys(n),
		"unterminated":           "name = \"" + strings.Repeat("x.", n),
		"many keys, dots":        strings.ReplaceAll(manyKeys(n/4), "=", ".b.c.d="),
		"as many keys as may be": manyKeys(maxKeys),
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k" + strings.Repeat("z", i%5) + short(float64(i)) + "=1\n")
	}
	return b.String()
}

// A hostile file is refused quickly and in little memory, in few words.
func TestHostileFiles(t *testing.T) {
	for name, text := range hostile() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := ParseTOML([]byte(text), "x.toml")
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 300 || took > 5*time.Second {
			t.Errorf("%s: %d MiB and %v", name, mib, took)
		}
		if len(err.Error()) > 8<<10 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

// What people write is not refused.
func TestBoundsLetFilesPass(t *testing.T) {
	for _, text := range []string{
		string(mustResolve(t, "size=40b", "tags=x,y").TOML()), "", "# " + strings.Repeat("a.", 99),
		"name = 'a.b.c.d.e.f.g.h.i.j.k'", `name = "[[[[[[[[[[[[ \" [[[["`, "name = '''\n" + strings.Repeat("a.[", 99) + "'''",
		"tags = [" + strings.Repeat("'1.2',\n", 99) + "]", "train.lr = 0.5\ntrain.eps = 1.5e-3",
	} {
		if err := CheckTOML([]byte(text), "x.toml"); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}
