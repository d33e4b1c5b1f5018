package cpu

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/kernels"
)

// childEnv tells the test binary that it is a rank of a test: "what rank world uid".
const childEnv = "BOOST_CPU_TEST_RANK"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := child(strings.Fields(spec)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is one rank in a process of its own. The segment is file 3. With a host it has a network too.
func child(spec []string) error {
	rank, _ := strconv.Atoi(spec[1])
	n, _ := strconv.Atoi(spec[2])
	var id kernels.UID
	if _, err := hex.Decode(id[:], []byte(strings.TrimSuffix(spec[3], makeUID))); err != nil {
		return err
	}
	o := Options{Segment: os.NewFile(3, "segment"), World: n, Rank: rank}
	if len(spec) > 4 {
		host, _ := strconv.Atoi(spec[4])
		o.Network = network(host)
		o.Network.Silence = processSilence
		o.Segment, o.World, o.Rank = nil, 1, 0
	}
	d, err := Open(o)
	if err != nil {
		return err
	}
	defer d.Close()
	if spec[3] == makeUID {
		if id, err = d.UID(); err != nil {
			return err
		}
		fmt.Printf("%x\n", id)
	}
	return member(d, id, n, rank, spec[0])
}

// makeUID tells a child to make the identity of the communicator, and to print it.
const makeUID = "make"

// member does a rank's part of a test: rounds of an all-reduce, or of transfers round a ring, on streams of their own.
// With "die" the last rank never comes to its last rounds, with "first die" the first.
func member(d *Device, id kernels.UID, n, rank int, what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := d.Join(ctx, id, n, rank, "tp")
	if err != nil {
		return err
	}
	r := newRig(nil, d, 0)
	b, err := d.Alloc("test", 4*50001, true)
	if err != nil {
		return err
	}
	v := kernels.Matrix(b, 0, 1, 50001, kernels.F32)
	x, err := kernels.NewExec(d)
	if err != nil {
		return err
	}
	victim := n - 1
	if strings.HasPrefix(what, "first") {
		victim = 0
	}
	for round := range 20 {
		if strings.HasSuffix(what, "slow") && rank == n-1 && round == 10 {
			time.Sleep(2 * processSilence)
		}
		if strings.HasSuffix(what, "die") && rank == victim && round == 10 {
			time.Sleep(time.Minute)
		}
		r.fillBy(v, func(i int) float64 { return float64(rank + i%7 + round) })
		want := func(i int) float64 { return float64(n*(n-1)/2 + n*(i%7+round)) }
		if strings.HasPrefix(what, "transfer") {
			left := (rank + n - 1) % n
			out := x.StartSend("test", c, (rank+1)%n, v.ColRange(0, 25000))
			x.StartRecv("test", c, left, v.ColRange(25000, 50000)).Wait()
			out.Wait()
			want = func(i int) float64 { return float64([]int{rank, left, rank}[i/25000] + i%25000%7 + round) }
			r.set(v, 0, 50000, float32(rank+round))
		} else {
			x.Reduce("test", c, v)
		}
		if x.Err() != nil {
			return x.Err()
		}
		if err := r.expect(what, v, want); err != nil {
			return err
		}
	}
	return nil
}

// start runs ranks 1 to n-1 as processes and returns the device of rank 0, which is this one.
func start(t *testing.T, what string, n int) (*Device, kernels.UID, []*exec.Cmd) {
	return startOn(t, what, n, nil)
}

// processSilence is how long a rank on another host may say nothing.
const processSilence = 2 * time.Second

// startOn is start with rank i on a host of its own, of the number in hosts.
func startOn(t *testing.T, what string, n int, hosts []int) (*Device, kernels.UID, []*exec.Cmd) {
	segment, err := NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	o := Options{Segment: segment, World: n}
	if hosts != nil {
		o = Options{Network: network(hosts[0])}
		o.Network.Silence = processSilence
	}
	d := open(t, o).Device
	id, err := d.UID()
	if err != nil {
		t.Fatal(err)
	}
	var children []*exec.Cmd
	for rank := 1; rank < n; rank++ {
		c := exec.Command(os.Args[0])
		spec := fmt.Sprintf("%s=%s %d %d %s", childEnv, strings.ReplaceAll(what, " ", "-"), rank, n, hex.EncodeToString(id[:]))
		if hosts != nil {
			spec += fmt.Sprintf(" %d", hosts[rank])
		}
		c.Env = append(os.Environ(), spec)
		c.ExtraFiles = []*os.File{segment}
		c.Stdout, c.Stderr = os.Stderr, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		children = append(children, c)
	}
	return d, id, children
}

func TestProcesses(t *testing.T) {
	for _, what := range []string{"live", "transfer live"} {
		for _, n := range []int{2, 3} {
			d, id, children := start(t, what, n)
			if err := member(d, id, n, 0, what); err != nil {
				t.Error(err)
			}
			for _, c := range children {
				if err := c.Wait(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestKilledPeerIsNoticed leaves the dead child a zombie, as an agent would that has not waited for it yet.
func TestKilledPeerIsNoticed(t *testing.T) {
	for _, what := range []string{"die", "transfer die"} {
		d, id, children := start(t, what, 3)
		killed := make(chan time.Time, 1)
		go func() {
			time.Sleep(500 * time.Millisecond)
			children[1].Process.Kill()
			killed <- time.Now()
		}()
		err := member(d, id, 3, 0, what)
		late := time.Since(<-killed)
		if !errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), "rank 2") || !strings.Contains(err.Error(), "died") {
			t.Errorf("%s: rank 0: %v", what, err)
		}
		if late > 3*time.Second { // 12 ms where nothing else runs; what is promised for a run is 5 s
			t.Errorf("%s: noticed after %v", what, late)
		}
		t.Log(err, late)
	}
}
