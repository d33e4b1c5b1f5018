package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

// Words that people, scripts and other users' files may hold are refused with a reason or harmless: no shell runs them, no
// terminal obeys them, no file appears where none should, nothing that can be read today cannot be tomorrow.

// hostileWords would each make a file named trap, or something visible, where a shell or an option parser took them in.
func hostileWords(trap string) []string {
	return []string{
		`a "quoted" name`, `'single'`, "$(touch " + trap + ")", "`touch " + trap + "`", "; touch " + trap + " ;", "x | touch " + trap, "x && touch " + trap, "${IFS}x", `\"; touch ` + trap + `; \"`,
		"-rf", "--help", "--version", "-oProxyCommand=touch " + trap, "--wrap=touch " + trap, "-", "..", "../../../../tmp/x", "/", "~root", ".hidden", "a/b/c",
		"%s%n%d%x", "{{.}}", "#SBATCH --uid=0", "*?[a-z]", "!history", "a,b,,c", "=x", "null", "漢字 ünïcödé", "e\u0301", "\u202egnp.exe", "\u200b", "\u2028", "x\u00a0y",
		strings.Repeat("x", 100_000), strings.Repeat("é", 10_000), strings.Repeat("a,", 20_000), strings.Repeat("../", 20_000),
	}
}

// controlWords hold what steers terminals or ends lines.
var controlWords = []string{"a\nb", "a\rb", "\x1b[2J\x1b]0;title\x07", "\x1b]52;c;aGk=\x07", "a\x00b", "\a\b\v\f", "\x7f", "\xff\xfe", "\xc2\x9b31m"}

// harmless says what is wrong with output for a terminal; empty: nothing.
func harmless(text string) string {
	if !utf8.ValidString(text) {
		return "is not UTF-8"
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return fmt.Sprintf("holds %U", r)
		}
	}
	return ""
}

// taken is a result that a terminal takes without harm.
func taken(t *testing.T, what string, r result) {
	t.Helper()
	for _, text := range []string{r.stdout, r.err} {
		if bad := harmless(text); bad != "" {
			t.Errorf("%s: what is printed %s: %.300q", what, bad, text)
		}
	}
	if len(r.err) > 64<<10 {
		t.Errorf("%s: %d bytes of complaint", what, len(r.err))
	}
	if strings.Contains(r.err, "panic") {
		t.Errorf("%s: %.500s", what, r.err)
	}
}

// keysOfWords are the keys that take free text.
func keysOfWords() []string {
	var out []string
	for _, k := range experiment.Keys() {
		if k.Kind == experiment.String || k.Kind == experiment.List {
			out = append(out, k.Name)
		}
	}
	return out
}

func TestHostileWordsOnTheCommandLine(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("BOOST_RUNS", filepath.Join(home, "runs"))
	trap := filepath.Join(home, "trap")
	words := append(hostileWords(trap), controlWords...)
	commands := [][]string{{"show"}, {"logs"}, {"cancel"}, {"rm", "--yes"}, {"tag"}, {"export", "--to", "out"}, {"compare"}, {"attach"}, {"plan", "--machine"}, {"plan", "--config"},
		{"verify", "--case"}, {"verify", "--scheme"}, {"runs", "--filter"}, {"sweep", "status"}, {"import"}, {"--runs"}, {"plan", "--set"}, {"run", "--resume"}, {"run", "--after"}}
	few := commands
	for _, key := range keysOfWords() {
		commands = append(commands, []string{"plan", "--" + key})
	}
	few = append(few, []string{"plan", "--name"}, []string{"plan", "--hosts"}, []string{"plan", "--tags"})
	for _, w := range append(words, strings.Repeat("y", 10<<20), strings.Repeat("z\n", 5<<20)) {
		if len(w) > 1<<20 {
			commands = few
		}
		if strings.HasPrefix(w, "-") {
			continue // a flag of ours, or none
		}
		for _, c := range commands {
			what := fmt.Sprintf("%s %.30q", strings.Join(c, " "), w)
			r := try(t, append(slices.Clone(c), w)...)
			taken(t, what, r)
			if r.code == exitOK && slices.Contains(controlWords, w) && c[0] == "plan" {
				t.Errorf("%s was taken", what)
			}
			if r.code != exitOK && r.err == "" {
				t.Errorf("%s: refused without a reason", what)
			}
		}
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("somebody obeyed a word")
	}
	left, err := os.ReadDir(home)
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
}

// The same in files of the user's.
func TestHostileWordsInFiles(t *testing.T) {
	home := t.TempDir()
	t.Setenv("BOOST_RUNS", filepath.Join(home, "runs"))
	trap := filepath.Join(home, "trap")
	for i, w := range append(hostileWords(trap), controlWords...) {
		var text bytes.Buffer
		fmt.Fprintf(&text, "name = %q\n[where]\npartition = %q\nhosts = %q\n[train]\ndata = %q\n", w, w, w, w)
		path := filepath.Join(home, fmt.Sprint(i, ".toml"))
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		taken(t, fmt.Sprintf("%.30q", w), try(t, "plan", "--config", path))
	}
	for name, data := range map[string][]byte{"large": bytes.Repeat([]byte("# x\n"), 3<<20), "zeros": make([]byte, 4096), "noise": {0xff, 0xfe, 0x1b, '[', '2', 'J'}} {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, c := range [][]string{{"plan", "--config", path}, {"plan", "--machine", path}, {"sweep", path, "--dry-run"}, {"import", path}, {"verify", "--case", path}} {
			if r := try(t, c...); r.code == exitOK {
				t.Errorf("%v was taken", c)
			} else {
				taken(t, strings.Join(c, " "), r)
			}
		}
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("somebody obeyed a word")
	}
}

// tools puts programs on the path that note how they were called, each argument behind a zero, and fail. It returns what they noted.
func tools(t *testing.T, names ...string) func() []string {
	t.Helper()
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes")
	script := "#!/bin/sh\nfor a in \"$0\" \"$@\"; do printf '%s\\0' \"$a\" >>\"$TOOL_NOTES\"; done\nexit 1\n"
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TOOL_NOTES", notes)
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return func() []string {
		data, err := os.ReadFile(notes)
		if err != nil {
			return nil
		}
		_ = os.Remove(notes)
		return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	}
}

// Words reach Slurm and ssh as arguments of their own behind the option that they are of, or not at all; and never the
// text of a script.
func TestHostileWordsToPlaces(t *testing.T) {
	p := newProgram(t)
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	trap := filepath.Join(home, "trap")
	noted := tools(t, "sbatch", "srun", "squeue", "scontrol", "sinfo", "scancel", "sacct", "ssh", "scp")
	for _, w := range hostileWords(trap) {
		for _, c := range [][]string{{"--where", "slurm", "--partition", w}, {"--where", "slurm", "--account=" + w, "--qos=" + w, "--constraint=" + w, "--time=" + w},
			{"--where", "ssh", "--hosts=" + w}, {"--where", "slurm", "--name=" + w, "--tags=" + w, "--interface=" + w}} {
			what := fmt.Sprintf("%.60q", c)
			r := p.run(append([]string{"run", "--steps", "1", "--layers", "1", "--seq", "16", "--micro-batch", "1"}, c...)...)
			taken(t, what, r)
			if r.code == exitOK {
				t.Errorf("%s: ran without a place", what)
			}
			for _, arg := range noted() {
				if !strings.Contains(arg, trap) {
					continue
				}
				if option, value, ok := strings.Cut(arg, "="); !ok || !strings.HasPrefix(option, "--") || value != w {
					t.Errorf("%s: a tool was called with %q", what, arg)
				}
			}
		}
	}
	_ = filepath.WalkDir(p.runs, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".sh") {
			if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte(trap)) {
				t.Errorf("%s: %v\n%s", path, err, data)
			}
		}
		return nil
	})
	if _, err := os.Stat(trap); err == nil {
		t.Error("somebody obeyed a word")
	}
}

// A run of such a name, in a folder of such a name, trains, is listed, shown, tagged, noted, exported and removed as any other.
func TestHostileWordsOfARun(t *testing.T) {
	p := newProgram(t)
	trap := filepath.Join(t.TempDir(), "trap")
	p.runs = filepath.Join(filepath.Dir(p.runs), `it's $(touch trap) "a" folder;漢`)
	t.Chdir(t.TempDir())
	for i, w := range hostileWords(trap) {
		r := p.run("run", "--steps", "2", "--layers", "1", "--seq", "16", "--micro-batch", "1", "--name="+w, "--json")
		taken(t, fmt.Sprintf("%.30q", w), r)
		if r.code != exitOK {
			if r.code != exitUsage || r.err == "" {
				t.Errorf("%.30q: exit %d, %.300s", w, r.code, r.err)
			}
			continue
		}
		var run runResult
		oneJSON(t, r.stdout, &run)
		if run.State != "finished" || filepath.Dir(run.Dir) != p.runs {
			t.Errorf("%.30q: %s in %s", w, run.State, run.Dir)
		}
		taken(t, w, p.run("tag", run.ID, w))
		for _, c := range [][]string{{"tag", run.ID, "--note=" + w}, {"show", run.ID}, {"runs"}, {"logs", run.ID}, {"compare", run.ID}, {"export", run.ID, "--to", fmt.Sprint("out", i)}} {
			r := p.run(c...)
			taken(t, fmt.Sprintf("%.60q", c), r)
			if r.code != exitOK && (c[0] == "show" || c[0] == "runs" || c[0] == "logs") {
				t.Errorf("%.60q: exit %d, %.300s", c, r.code, r.err)
			}
		}
	}
	for _, name := range []string{trap, "trap"} {
		if _, err := os.Stat(name); err == nil {
			t.Error("somebody obeyed a word")
		}
	}
}

// What a run's folder holds is shown without harm, whoever wrote it: log lines, causes, names, tags, notes, hosts, a preflight.
func TestHostileContentOfARun(t *testing.T) {
	p := newProgram(t)
	var run runResult
	oneJSON(t, p.want(exitOK, "run", "--steps", "2", "--layers", "1", "--seq", "16", "--micro-batch", "1", "--name", "MARK", "--json").stdout, &run)
	evil := "\x1b[2J\x1b]0;owned\x07 \u202e \x9b31m $(touch trap) \r\n\x00 end"
	log, err := os.OpenFile(record.LogPath(run.Dir, 0), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString(evil + "\n" + strings.Repeat("long ", 2<<20) + "\n"); err != nil {
		t.Fatal(err)
	}
	log.Close()
	jsonEvil := strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`, "\r", `\r`, "\n", `\n`, "\x00", `\u0000`, "\x9b", `\u009b`).Replace(evil)
	for name, change := range map[string][2]string{
		protocol.RunFile:    {"MARK", jsonEvil},
		protocol.ResultFile: {`"state":`, `"cause":"` + jsonEvil + `","state":`},
	} {
		path := filepath.Join(run.Dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Replace(data, []byte(change[0]), []byte(change[1]), 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	notes := fmt.Sprintf(`{"schema":1,"tags":["%s"],"note":"%s"}`, jsonEvil, jsonEvil)
	if err := os.WriteFile(filepath.Join(run.Dir, protocol.NotesFile), []byte(notes), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{{"runs"}, {"runs", "--json"}, {"show", run.ID}, {"show", run.ID, "--json"}, {"logs", run.ID}, {"compare", run.ID}, {"compare", run.ID, "--json"}, {"attach", run.ID},
		{"tag", run.ID, "x"}, {"export", run.ID, "--to", filepath.Join(t.TempDir(), "out")}, {"rm", run.ID, "--yes"}} {
		r := p.run(c...)
		taken(t, strings.Join(c, " "), r)
		if strings.Contains(strings.Join(c, " "), "json") {
			var v any
			oneJSON(t, r.stdout, &v)
		}
	}
	if bad := harmless(runner.Clean(evil)); bad != "" {
		t.Error(bad)
	}
}
