package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Process names one process for good: a pid is used again, a pid with its start time is not.
type Process struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"` // since boot, in clock ticks
	Host       string `json:"host"`
	Boot       string `json:"boot"`             // boot id of the kernel
	PIDSpace   string `json:"pid_ns,omitempty"` // pid namespace; a container's pids mean nothing outside
}

// self describes this process.
func self() (Process, error) {
	p := here()
	p.PID = os.Getpid()
	st, err := procStat(p.PID)
	if err != nil {
		return Process{}, fmt.Errorf("find out who this process is: %w", err)
	}
	p.StartTicks = st.startTicks
	return p, nil
}

// here is what processes of this machine have in common.
func here() Process {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = []byte("unknown")
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		space = ""
	}
	return Process{Host: host, Boot: strings.TrimSpace(string(boot)), PIDSpace: space}
}

// life is what can be said about a process from here.
type life int

const (
	elsewhere life = iota // on a machine or in a pid namespace that cannot be seen from here
	alive
	dead
)

// look says whether the process lives. me is here(), handed in so that lists ask once.
func (p Process) look(me Process) life {
	if p.PID <= 0 || p.Host != me.Host {
		return elsewhere
	}
	if p.Boot != me.Boot {
		return dead // the machine has been restarted since
	}
	if p.PIDSpace != me.PIDSpace {
		return elsewhere
	}
	st, err := procStat(p.PID)
	if errors.Is(err, fs.ErrNotExist) && unix.Kill(p.PID, 0) == unix.EPERM {
		return elsewhere // another user's, on a machine that hides those (hidepid): whether it is the same cannot be seen
	}
	if err != nil || st.startTicks != p.StartTicks || st.state == 'Z' || st.state == 'X' {
		return dead
	}
	return alive
}

// signal sends a signal to the process and to no other that got its pid since.
func (p Process) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return fmt.Errorf("process %d: %w", p.PID, err)
	}
	defer unix.Close(fd)
	if p.look(here()) != alive {
		return fmt.Errorf("process %d: %w", p.PID, os.ErrProcessDone)
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil {
		return fmt.Errorf("signal process %d: %w", p.PID, err)
	}
	return nil
}

// wake sends a signal and lets a process that is stopped hear it.
func (p Process) wake(sig unix.Signal) error {
	return errors.Join(p.signal(sig), p.signal(unix.SIGCONT))
}

type stat struct {
	state      byte
	startTicks uint64
}

// procStat reads /proc/PID/stat. The command in it may hold spaces and parentheses.
func procStat(pid int) (stat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(data)
}

func parseStat(data []byte) (stat, error) {
	i := bytes.LastIndexByte(data, ')')
	if i < 0 {
		return stat{}, errors.New("process status without a command")
	}
	f := bytes.Fields(data[i+1:])
	const state, start = 0, 19 // fields 3 and 22 of proc(5), counted from the state
	if len(f) <= start || len(f[state]) != 1 {
		return stat{}, errors.New("process status is cut off")
	}
	ticks, err := strconv.ParseUint(string(f[start]), 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("process status: start time: %w", err)
	}
	return stat{state: f[state][0], startTicks: ticks}, nil
}
