package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// stranger is a user who owns nothing of what the tests make.
const stranger = 65534

// asStranger runs one test of this binary as another user, with a home of its own, and gives what it printed.
func asStranger(t *testing.T, test string, env ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	dir, err := os.MkdirTemp("", "stranger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	binary, home := filepath.Join(dir, "test"), filepath.Join(dir, "home")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(binary, self, 0o755), os.Mkdir(home, 0o700), os.Chown(home, stranger, stranger)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), append(env, "HOME="+home, "XDG_CACHE_HOME="+home+"/cache", "TMPDIR="+home)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as another user: %v\n%s", err, out)
	}
	return string(out)
}

const envForeign = "BOOST_TEST_FOREIGN_STORE"

// A store with the runs of another user: what may be read is read, what may not is shown as such, and nothing is written.
func TestStoreOfAnotherUser(t *testing.T) {
	root, err := os.MkdirTemp("", "foreign")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	s := NewStore(root)
	many(t, s, indexFrom+4)
	lost, lostDir := create(t, s, "lost")
	open, private, secret := s.Dir("20260101-000000-tiny-cola-btp-tp2-aaaa"), s.Dir("20260101-000001-tiny-cola-btp-tp2-aaaa"), s.Dir("20260101-000002-tiny-cola-btp-tp2-aaaa")
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() {
			return os.Chmod(path, 0o777) // writable even: nothing must be written all the same
		}
		return os.Chmod(path, 0o666)
	})
	// A launcher on this machine that is gone: a run that is lost, which its owner's programs would settle.
	data, err := os.ReadFile(filepath.Join(lostDir, protocol.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(lostDir, protocol.RunFile), strings.Replace(string(data), fmt.Sprintf(`"pid": %d`, os.Getpid()), `"pid": 1073741823`, 1))
	if err := errors.Join(os.Chmod(private, 0o700), os.Chmod(filepath.Join(secret, protocol.RunFile), 0o600)); err != nil {
		t.Fatal(err)
	}
	before := looksOf(t, root)
	t.Log(asStranger(t, "TestAsStranger", envForeign+"="+root, "BOOST_TEST_OPEN="+filepath.Base(open), "BOOST_TEST_PRIVATE="+filepath.Base(private),
		"BOOST_TEST_SECRET="+filepath.Base(secret), "BOOST_TEST_LOST="+lost.ID))
	after := looksOf(t, root)
	for _, name := range after {
		if !slices.Contains(before, name) {
			t.Errorf("written: %s", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d names, before %d", len(after), len(before))
	}
}

// looksOf is every name in a folder, with what a change of it would change.
func looksOf(t *testing.T, root string) (all []string) {
	t.Helper()
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err := errors.Join(err, unix.Lstat(path, &st)); err != nil {
			return err
		}
		all = append(all, fmt.Sprint(path, " ", st.Ino, st.Size, st.Mtim, st.Mode))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAsStranger(t *testing.T) {
	root := os.Getenv(envForeign)
	if root == "" {
		t.Skip("a part of TestStoreOfAnotherUser")
	}
	open, private, secret, lost := os.Getenv("BOOST_TEST_OPEN"), os.Getenv("BOOST_TEST_PRIVATE"), os.Getenv("BOOST_TEST_SECRET"), os.Getenv("BOOST_TEST_LOST")
	states := map[string]State{open: Finished, private: Unreadable, secret: Unreadable, lost: Lost}
	for _, what := range []string{"first", "by the index"} {
		infos, errs := NewStore(root).list(t.Context(), later())
		if len(infos) != indexFrom+5 || len(errs) != 2 {
			t.Fatalf("%s: %d runs, %v", what, len(infos), errs)
		}
		for _, in := range infos {
			if want, ok := states[in.ID]; ok && in.State != want {
				t.Errorf("%s: %s is %s, want %s (%v)", what, in.ID, in.State, want, in.Err)
			}
			if in.Mine() || in.Owner() != "root" || (in.State == Unreadable) != (in.Err != nil) {
				t.Errorf("%s: %s belongs to %s: %s, %v", what, in.ID, in.Owner(), in.State, in.Err)
			}
		}
	}
	path, err := indexPath(root)
	if err != nil || strings.HasPrefix(path, root) {
		t.Errorf("the index lies at %s, %v", path, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	s := NewStore(root)
	for name, err := range map[string]error{
		"tag":     s.Tag(open, []string{"x"}, nil),
		"note":    s.Note(open, "x"),
		"archive": s.Archive(open, true),
		"remove":  s.Remove(open),
		"trash":   second(s.Trash(open)),
		"cancel":  second(Cancel(t.Context(), s, lost, "x")),
	} {
		if err == nil {
			t.Errorf("%s of another user's run", name)
		}
	}
	if in, err := Settle(t.Context(), s, lost); err != nil || in.State != Lost || in.Result != nil {
		t.Errorf("settled: %+v, %v", in, err)
	}
	if got, errs := s.Collect(t.Context(), CollectOptions{Delete: true}); len(got) != 0 {
		t.Errorf("freed %v, %v", got, errs)
	}
	if _, err := Await(t.Context(), s, private); err != nil {
		t.Logf("awaited: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// Whatever lies in a store under a name that a run could have: listed with a reason or left out, at once and without effect.
func TestHostileStore(t *testing.T) {
	s := NewStore(t.TempDir())
	finished(t, s, "good")
	outside := t.TempDir()
	_, real := finished(t, NewStore(outside), "outside")
	evil := "\x1b]0;owned\x07\x1b[2J\u202e$(touch /tmp/x)"
	for name, make := range map[string]func(dir string) error{
		"link-out":    func(dir string) error { return os.Symlink(real, dir) },
		"link-cycle":  func(dir string) error { return os.Symlink(dir, dir) },
		"fifo-itself": func(dir string) error { return unix.Mkfifo(dir, 0o600) },
		"fifos": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), unix.Mkfifo(filepath.Join(dir, protocol.RunFile), 0o600), unix.Mkfifo(filepath.Join(dir, protocol.ResultFile), 0o600),
				unix.Mkfifo(filepath.Join(dir, protocol.NotesFile), 0o600), unix.Mkfifo(filepath.Join(dir, "rollup.bin"), 0o600))
		},
		"links": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Symlink(filepath.Join(real, protocol.RunFile), filepath.Join(dir, protocol.RunFile)),
				os.Symlink("/dev/zero", filepath.Join(dir, protocol.ResultFile)))
		},
		"huge": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, protocol.RunFile), nil, 0o600), os.Truncate(filepath.Join(dir, protocol.RunFile), 1<<42))
		},
		"future": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, protocol.RunFile), []byte(`{"schema":99,"id":[],"launcher":7}`), 0o600))
		},
		"evil": func(dir string) error {
			if err := os.CopyFS(dir, os.DirFS(real)); err != nil {
				return err
			}
			return errors.Join(os.WriteFile(filepath.Join(dir, protocol.NotesFile), fmt.Appendf(nil, `{"schema":1,"tags":[%q],"note":%q}`, "\\u001b[31m", evil), 0o600),
				os.WriteFile(filepath.Join(dir, protocol.ResultFile), fmt.Appendf(nil, `{"schema":1,"state":"failed","cause":"\u001b]0;owned\u0007 \u202e"}`), 0o600))
		},
		"waits-for-itself": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, protocol.RunFile),
				[]byte(`{"schema":1,"id":"waits-for-itself","after":"waits-for-itself","experiment":{"parallel":{"tp":1,"pp":1,"dp":1}}}`), 0o600))
		},
	} {
		if err := make(s.Dir(name)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	done := make(chan struct{})
	var infos []Info
	var errs []error
	go func() {
		defer close(done)
		infos, errs = s.List(t.Context())
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the list hangs")
	}
	seen := map[string]Info{}
	for _, in := range infos {
		seen[in.ID] = in
		if strings.ContainsAny(in.Cause, "\x1b\x07\u202e") {
			t.Errorf("%s: cause %q", in.ID, in.Cause)
		}
	}
	for _, name := range []string{"fifos", "links", "huge", "future", "waits-for-itself"} {
		if in, ok := seen[name]; !ok || in.Err == nil {
			t.Errorf("%s: listed %t, %v", name, ok, in.Err)
		}
	}
	for _, name := range []string{"link-out", "link-cycle", "fifo-itself"} {
		if _, ok := seen[name]; ok {
			t.Errorf("%s is listed as a run", name)
		}
	}
	if !slices.ContainsFunc(errs, func(err error) bool { return strings.Contains(err.Error(), "link-out is a link") }) {
		t.Errorf("a link out of the store is not said: %v", errs)
	}
	for id := range seen {
		_, _ = s.Trash(id)
	}
	if _, err := os.Stat(filepath.Join(real, protocol.RunFile)); err != nil {
		t.Errorf("the run outside: %v", err)
	}
	if _, errs := s.Collect(t.Context(), CollectOptions{Delete: true}); errs != nil {
		t.Logf("collect: %v", errs)
	}
	if _, err := os.Stat(filepath.Join(real, protocol.ResultFile)); err != nil {
		t.Errorf("the run outside: %v", err)
	}
}
