package cpu

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/kernels"
)

// Ranks on hosts of their own, each a process: rank 0 is this one, the hub of their communicator.

func TestProcessesAcrossHosts(t *testing.T) {
	for _, what := range []string{"live", "transfer live"} {
		d, id, children := startOn(t, what, 3, []int{0, 1, 1})
		if err := member(d, id, 3, 0, what); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for _, c := range children {
			if err := c.Wait(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// A rank that is killed is noticed at once; one that is stopped, or whose host is cut off, after its silence.
func TestLostPeerAcrossHosts(t *testing.T) {
	for _, tc := range []struct {
		name, what string
		signal     syscall.Signal
		least      time.Duration
		most       time.Duration
		word       string
	}{
		{"killed", "die", syscall.SIGKILL, 0, 2 * time.Second, "died"},
		{"killed in a transfer", "transfer die", syscall.SIGKILL, 0, 2 * time.Second, "died"},
		{"stopped", "die", syscall.SIGSTOP, processSilence / 2, processSilence + 3*time.Second, "silent"},
		{"stopped in a transfer", "transfer die", syscall.SIGSTOP, processSilence / 2, processSilence + 3*time.Second, "silent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, id, children := startOn(t, tc.what, 3, []int{0, 1, 2})
			done := make(chan time.Time, 1)
			go func() {
				time.Sleep(700 * time.Millisecond)
				children[1].Process.Signal(tc.signal)
				done <- time.Now()
			}()
			err := member(d, id, 3, 0, tc.what)
			late := time.Since(<-done)
			if !errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), "rank 2 of tp") || !strings.Contains(err.Error(), tc.word) {
				t.Errorf("rank 0: %v", err)
			}
			if late < tc.least || late > tc.most {
				t.Errorf("noticed after %v", late)
			}
			t.Log(err, late)
			if err := children[0].Wait(); err == nil { // its peer heard of it too
				t.Error("rank 1 went on")
			}
		})
	}
}

// The rank that made the communicator is no less mortal than the others.
func TestLostHubAcrossHosts(t *testing.T) {
	for signal, word := range map[syscall.Signal]string{syscall.SIGKILL: "died", syscall.SIGSTOP: "silent"} {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprintf("%s=first-die 0 2 %s 0", childEnv, makeUID))
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var text string
		if _, err := fmt.Fscanln(out, &text); err != nil {
			t.Fatal(err)
		}
		var id kernels.UID
		if _, err := hex.Decode(id[:], []byte(text)); err != nil {
			t.Fatal(err)
		}
		net := network(1)
		net.Silence = processSilence
		d := open(t, Options{Network: net}).Device
		done := make(chan time.Time, 1)
		go func() {
			time.Sleep(700 * time.Millisecond)
			c.Process.Signal(signal)
			done <- time.Now()
		}()
		err = member(d, id, 2, 1, "first die")
		late := time.Since(<-done)
		if !errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), "rank 0 of tp") || !strings.Contains(err.Error(), word) || late > processSilence+3*time.Second {
			t.Errorf("%v: after %v: %v", signal, late, err)
		}
		t.Log(err, late)
		c.Process.Kill()
		c.Wait()
	}
}

// A rank that is merely slow is waited for, far beyond the silence that a dead one is granted.
func TestSlowPeerAcrossHosts(t *testing.T) {
	d, id, children := startOn(t, "slow", 2, []int{0, 1})
	start := time.Now()
	if err := member(d, id, 2, 0, "slow"); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took < 2*processSilence {
		t.Errorf("only %v", took)
	}
	if err := children[0].Wait(); err != nil {
		t.Error(err)
	}
}

// Strangers who find a rank's port say what they like to no effect.
func TestGarbageFromStrangers(t *testing.T) {
	d, id, children := startOn(t, "live", 2, []int{0, 1})
	stop := make(chan struct{})
	spoke := make(chan int, 1)
	go func() {
		n := 0
		noise := make([]byte, 100000)
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		for ; ; n++ {
			select {
			case <-stop:
				spoke <- n
				return
			default:
			}
			conn, err := net.Dial("tcp", d.node.Addr().String())
			if err != nil {
				continue
			}
			conn.Write(noise[:rand.IntN(len(noise))])
			conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	if err := member(d, id, 2, 0, "live"); err != nil {
		t.Error(err)
	}
	close(stop)
	if n := <-spoke; n == 0 {
		t.Error("nobody spoke")
	}
	if err := children[0].Wait(); err != nil {
		t.Error(err)
	}
}
