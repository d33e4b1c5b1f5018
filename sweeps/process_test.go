package sweeps

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"boost-tui/runner"
)

// roleEnv makes the test binary one of the programs that use a sweep: "role dir number".
const roleEnv = "BOOST_TEST_SWEEPS_ROLE"

func TestMain(m *testing.M) {
	role, rest, _ := strings.Cut(os.Getenv(roleEnv), " ")
	if role == "" {
		os.Exit(m.Run())
	}
	dir, number, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	if err == nil {
		err = map[string]func(string, int) error{"wish": wishes, "work": work, "hold": keep, "same": same}[role](dir, n)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// program starts the test binary in a role; its lines come on the channel, which is closed when it ends.
func program(t *testing.T, role, dir string, n int) (*exec.Cmd, <-chan string) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", roleEnv, role, dir, n))
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	lines := make(chan string, 1000)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended where the test went well
		wg.Wait()
		_ = cmd.Wait()
	})
	return cmd, lines
}

func firstLine(t *testing.T, lines <-chan string) string {
	t.Helper()
	select {
	case l := <-lines:
		return l
	case <-time.After(time.Minute):
		t.Fatal("a program says nothing")
		return ""
	}
}

// wishes is a program of a user who asks for a great deal, n kinds of it.
func wishes(dir string, n int) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	for i := range 25 {
		o := DefaultOptions()
		o.AtOnce = 1 + (n+i)%9
		var asked error
		switch i % 5 {
		case 0:
			asked = s.SetOptions(o)
		case 1:
			asked = s.Pause(fmt.Sprint("user ", n), i%2 == 0)
		case 2:
			asked = s.Reorder([]string{fmt.Sprintf("a%07x", (i*n)%20)})
		case 3:
			asked = s.Resume(fmt.Sprint("user ", n))
		case 4:
			name := "abcdefgh"[n : n+1]
			asked = s.Grow(file("grown"), expansion(i, name))
		}
		if asked != nil && !errors.Is(asked, ErrNothingNew) {
			return asked
		}
	}
	return nil
}

func TestManyProgramsWishAtOnce(t *testing.T) {
	s := create(t, 20)
	var all []<-chan string
	for n := range 4 {
		_, lines := program(t, "wish", s.Dir, n+1)
		all = append(all, lines)
	}
	f := s.Follow()
	for _, lines := range all {
		for open := true; open; {
			var l string
			select {
			case l, open = <-lines:
				if open {
					t.Error(l)
				}
			case <-time.After(2 * time.Millisecond):
				st, _, err := f.Next()
				must(t, err)
				must(t, CheckLegal(st))
			}
		}
	}
	st := load(t, s)
	if st.BadLines != 0 || len(st.Points) != 20+4*24 || len(st.Keys) != 1+4*5 {
		t.Errorf("%d bad lines, %d points of %d plans", st.BadLines, len(st.Points), len(st.Keys))
	}
	for n := range st.Keys {
		if _, err := readPlan(s.Dir, n); err != nil {
			t.Error(err)
		}
	}
}

// keep is a program that wants to look after the sweep, and does so until it is killed.
func keep(dir string, _ int) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	h, err := s.Hold(context.Background())
	var held ErrHeld
	if errors.As(err, &held) {
		fmt.Println("no", held.PID)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Println("yes", os.Getpid())
	<-h.Lost()
	return nil
}

func TestOneHolds(t *testing.T) {
	s := create(t, 2)
	for range 3 { // each time the one that held the sweep was killed
		var cmds []*exec.Cmd
		var all []<-chan string
		for range 4 {
			cmd, lines := program(t, "hold", s.Dir, 0)
			cmds, all = append(cmds, cmd), append(all, lines)
		}
		holder := -1
		for i, lines := range all {
			if l := firstLine(t, lines); strings.HasPrefix(l, "yes") {
				if holder >= 0 {
					t.Fatal("two hold the sweep")
				}
				holder = i
			} else if !strings.HasPrefix(l, "no") {
				t.Fatal(l)
			}
		}
		if holder < 0 {
			t.Fatal("nobody holds the sweep")
		}
		if st := load(t, s); st.Phase != PhaseRunning || st.Holder.PID != cmds[holder].Process.Pid {
			t.Errorf("%s by %d, want %d", st.Phase, st.Holder.PID, cmds[holder].Process.Pid)
		}
		if _, err := s.Hold(context.Background()); !errors.As(err, new(ErrHeld)) || !strings.Contains(err.Error(), strconv.Itoa(cmds[holder].Process.Pid)) {
			t.Errorf("held twice: %v", err)
		}
		must(t, cmds[holder].Process.Kill())
		_ = cmds[holder].Wait()
		if st := load(t, s); st.Phase != PhaseInterrupted || st.Held {
			t.Errorf("its holder was killed: %s", st.Phase)
		}
	}
}

// work looks after the sweep: it ends what earlier programs left and then runs every point, which takes no time.
func work(dir string, n int) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	h, err := s.Hold(context.Background())
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(n), 1))
	for f := s.Follow(); ; {
		st, _, err := f.Next()
		if err != nil {
			return err
		}
		for _, p := range st.Points {
			if p.Status == Running {
				err = errors.Join(err, h.End(p.ID, Attempt{N: len(p.Attempts), State: string(runner.Lost), Again: true}))
			}
		}
		if len(st.Queue) == 0 {
			return errors.Join(err, h.Release())
		}
		p := st.Queue[0]
		a := len(p.Attempts) + 1
		run := fmt.Sprintf("%s-%d-%d", p.ID, a, n)
		err = errors.Join(err, h.Begin(p.ID, a), h.Began(p.ID, a, run), h.Note("trained "+run))
		if err == nil {
			fmt.Println(run)
			err = h.End(p.ID, Attempt{N: a, State: string(runner.Finished), Seconds: random.Float64()})
		}
		if err != nil {
			return err
		}
	}
}

// TestKilledAgainAndAgain kills whoever looks after the sweep at random moments. In the end every point has finished
// once, nothing that was written is lost, and the time that was worked is about the time it took.
func TestKilledAgainAndAgain(t *testing.T) {
	const points = 100
	s := create(t, points)
	random := rand.New(rand.NewPCG(7, 7))
	began := time.Now()
	before := load(t, s)
	kills := 0
	for n := 0; before.Phase != PhaseFinished; n++ {
		if n > 200 {
			t.Fatal("no end")
		}
		cmd, lines := program(t, "work", s.Dir, n)
		left := 1 + random.IntN(14) // runs until it is killed, at some moment of the next
		for range lines {
			if left--; left == 0 {
				time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
				must(t, cmd.Process.Kill())
				kills++
			}
		}
		st := load(t, s)
		must(t, extends(before, st))
		before = st
	}
	for _, p := range before.Points {
		if p.Status != Finished {
			t.Errorf("%s is %s", p.ID, p.Status)
		}
	}
	if w := before.Worked; w <= 0 || w > time.Since(began)+time.Second || before.Held || before.BadLines != 0 {
		t.Errorf("worked %s of %s; held %v, %d bad lines", w, time.Since(began), before.Held, before.BadLines)
	}
	if kills == 0 {
		t.Error("nobody was killed")
	}
}

// same is a program that starts the same sweep as another.
func same(dir string, n int) error {
	x := expansion(3, "a")
	s, made, err := OpenFolder(runner.NewStore(dir)).SameOrCreate(file("same"), x, DefaultOptions(), nil)
	if err == nil {
		fmt.Println(made, s.ID)
	}
	return err
}

func TestStartedTwiceAtOnce(t *testing.T) {
	root := t.TempDir()
	ids, made := map[string]bool{}, 0
	var all []<-chan string
	for n := range 4 {
		_, lines := program(t, "same", root, n)
		all = append(all, lines)
	}
	for _, lines := range all {
		is, id, _ := strings.Cut(firstLine(t, lines), " ")
		if is == "true" {
			made++
		}
		ids[id] = true
	}
	if made != 1 || len(ids) != 1 {
		t.Errorf("made %d: %v", made, ids)
	}
}

// TestDiedInItsLine lets the last line of a journal be cut off anywhere, whole lines without their newline included:
// a program then takes the sweep on and goes on.
func TestDiedInItsLine(t *testing.T) {
	s := create(t, 2)
	h := hold(t, s)
	must(t, h.Begin("a0000000", 1))
	must(t, h.Release())
	path := filepath.Join(s.Dir, JournalFile)
	whole, err := os.ReadFile(path)
	must(t, err)
	last := strings.LastIndexByte(strings.TrimSuffix(string(whole), "\n"), '\n') + 1
	for _, from := range []int{0, strings.Index(string(whole), `"k":"hold"`), last} {
		for n := from + 1; n < min(from+300, len(whole)); n += 1 + n%7 {
			if n < strings.Index(string(whole), `"k":"hold"`) && whole[n] != '\n' && n%3 > 0 {
				continue
			}
			must(t, os.WriteFile(path, whole[:n], 0o600))
			before := load(t, s)
			h, err := s.Hold(context.Background())
			if err != nil {
				t.Fatalf("byte %d: %v", n, err)
			}
			st := load(t, s)
			must(t, extends(before, st))
			if len(st.Points) > 0 {
				p := st.Points[1]
				must(t, h.Begin(p.ID, 1))
				if p = load(t, s).Points[1]; p.Status != Running {
					t.Fatalf("byte %d: %s", n, p.Status)
				}
			}
			must(t, h.Release())
		}
	}
}
