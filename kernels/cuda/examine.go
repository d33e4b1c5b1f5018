package cuda

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"boost-tui/internal/tool"
	"boost-tui/kernels/backend"
)

// Variables that name the libraries which ours opens by itself.
const (
	EnvCUBLASLt = "BOOST_CUBLASLT"
	EnvNCCL     = "BOOST_NCCL"
)

// Patience is how long libraries may take for all that they are asked. A driver that wakes many cards, and libraries of hundreds of
// megabytes on a file server, take seconds.
const Patience = time.Minute

// Question is what is to be found out by opening libraries. It is asked in a process of its own: a library runs code as soon as it is
// opened, and may crash, end the process, hang, or print.
type Question struct {
	Driver  bool   // what NVIDIA's driver says
	Library string `json:"-"` // absolute path of a library; empty: none is opened
	Name    string // what its devices are called
	Open    *Options
	Foreign bool          // the library is not ours: it is opened, and no more
	Within  time.Duration `json:"-"` // 0: Patience
}

// Answer is what was found out. What killed the process that asked is the error of what was being asked; what comes after it was not.
type Answer struct {
	Driver    Driver
	NoDriver  error
	Probe     Probe
	NoLibrary error
	NoDevice  error // of Question.Open
}

// Stages of a question, in their order.
const (
	atDriver  = "driver"
	atLibrary = "library"
	atNeeds   = "needs"
	atDevice  = "device"
	atEnd     = "end"
)

// doing says what a library was to do at a stage.
var doing = map[string]string{
	atDriver: "it is asked which GPUs there are", atLibrary: "it is opened", atNeeds: "it is asked what it needs and finds", atDevice: "it opens a device",
}

// report is what a child has found so far; it writes one before each stage, so that the last one says where it ended.
type report struct {
	At                            string
	Driver                        Driver
	Absent                        bool // ErrNoDriver
	NoDriver, NoLibrary, NoDevice string
	Probe                         Probe
}

// mostAnswer bounds what is read of an answer, in bytes.
const mostAnswer = 1 << 20

// answerFD is the descriptor of the file that a child answers in. A file and not a pipe: nothing waits for who holds it open.
const answerFD = 3

// Examine asks.
func Examine(ctx context.Context, q Question) Answer {
	r, death := ask(ctx, q)
	a := Answer{Driver: r.Driver, NoDriver: told(r.NoDriver), Probe: r.Probe, NoLibrary: told(r.NoLibrary), NoDevice: told(r.NoDevice)}
	if r.Absent {
		a.NoDriver = ErrNoDriver
	}
	if death == "" {
		return a
	}
	err := fmt.Errorf("%s device: library %s %s", q.Name, Shown(q.Library), death)
	switch r.At {
	case atDriver:
		a.NoDriver = fmt.Errorf("the NVIDIA driver's library %s %s", driverName, death)
	case atDevice:
		a.NoDevice = cmp.Or(blame(ctx, q), err)
	case atNeeds:
		a.NoLibrary = cmp.Or(blame(ctx, q), err)
	default:
		a.NoLibrary = err
	}
	return a
}

func told(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(oneLine(text))
}

// blame tries by themselves the libraries that somebody has named: the one that takes a process down is the one to tell of.
func blame(ctx context.Context, q Question) error {
	if q.Name != Name {
		return nil
	}
	for _, name := range []string{EnvCUBLASLt, EnvNCCL} {
		path := os.Getenv(name)
		if !strings.HasPrefix(path, "/") {
			continue
		}
		r, death := ask(ctx, Question{Library: path, Foreign: true, Within: q.Within})
		if death != "" && r.At == atLibrary {
			return fmt.Errorf("%s device: library %s, which $%s names, %s", q.Name, Shown(path), name, death)
		}
	}
	return nil
}

// ask lets a child answer. death says what became of one that did not come to the end of it, and when.
func ask(ctx context.Context, q Question) (r report, death string) {
	if r.At = atLibrary; q.Driver {
		r.At = atDriver
	}
	if q.Within == 0 {
		q.Within = Patience
	}
	fd, err := unix.MemfdCreate("answer", unix.MFD_CLOEXEC)
	if err != nil {
		return r, fmt.Sprintf("cannot be asked: no file for the answer: %v", err)
	}
	file := os.NewFile(uintptr(fd), "answer")
	defer file.Close()
	question, err := json.Marshal(q)
	if err != nil {
		return r, fmt.Sprintf("cannot be asked: %v", err)
	}
	limited, stop := context.WithTimeout(ctx, q.Within)
	defer stop()
	out := &tool.Output{Limit: said, Full: stop}
	err = runChild(limited, func(cmd *exec.Cmd) {
		cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, out, []*os.File{file}
		if q.Name == EmulatedName { // which has its own
			cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
				return strings.HasPrefix(kv, EnvCUBLASLt+"=") || strings.HasPrefix(kv, EnvNCCL+"=")
			})
		}
	}, syscall.SIGKILL, examineRole, string(question), q.Library)
	if _, err := file.Seek(0, io.SeekStart); err == nil {
		last(file, &r)
	}
	if r.At == atEnd {
		return r, ""
	}
	var exit *exec.ExitError
	switch status := syscall.WaitStatus(0); {
	case out.Over:
		death = "prints without an end"
	case ctx.Err() != nil:
		death = "was not waited for: " + context.Cause(ctx).Error()
	case limited.Err() != nil:
		death = fmt.Sprintf("does not answer within %v", q.Within)
	case err != nil && !errors.As(err, &exit):
		return r, fmt.Sprintf("cannot be asked: %v", err)
	case exit != nil:
		status, _ = exit.Sys().(syscall.WaitStatus)
		fallthrough
	default:
		death = fmt.Sprintf("ends the process (exit code %d)", status.ExitStatus())
		if status.Signaled() {
			death = fmt.Sprintf("crashes (%v)", status.Signal())
		}
	}
	if text := strings.TrimSpace(out.String()); text != "" {
		death += fmt.Sprintf(", printing %.200q,", text)
	}
	return r, death + " when " + doing[r.At]
}

// last reads the last whole report.
func last(file io.Reader, r *report) {
	lines := bufio.NewScanner(io.LimitReader(file, mostAnswer))
	lines.Buffer(nil, mostAnswer)
	for lines.Scan() {
		var next report
		if json.Unmarshal(lines.Bytes(), &next) == nil && next.At != "" {
			*r = next
		}
	}
}

// examined is the child.
func examined(args []string) int {
	const usage = 2
	var q Question
	if len(args) != 2 || json.Unmarshal([]byte(args[0]), &q) != nil {
		return usage
	}
	q.Library = args[1]
	syscall.CloseOnExec(answerFD)
	file := os.NewFile(answerFD, "answer")
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // what crashes here is told in a line
	plainSignals()
	r := report{}
	tell := func(at string) {
		r.At = at
		line, err := json.Marshal(r)
		if err == nil {
			_, err = file.Write(append(line, '\n'))
		}
		if err != nil {
			os.Exit(usage)
		}
	}
	if q.Driver {
		tell(atDriver)
		var err error
		if r.Driver, err = askDriver(); err != nil {
			r.Absent, r.NoDriver = errors.Is(err, ErrNoDriver), err.Error()
		}
	}
	if q.Library != "" {
		tell(atLibrary)
		q.library(&r, tell)
	}
	tell(atEnd)
	return 0
}

// library opens the library, and asks it.
func (q Question) library(r *report, tell func(string)) {
	if q.Foreign {
		if path, err := backend.Trusted(q.Library); err == nil {
			openForeign(path)
		}
		return
	}
	l, err := Load(q.Library, q.Name)
	if err != nil {
		r.NoLibrary = err.Error()
		return
	}
	tell(atNeeds)
	if r.Probe, err = l.Probe(); err != nil {
		r.NoLibrary = err.Error()
		return
	}
	if q.Open == nil || r.Probe.Devices == 0 {
		return
	}
	tell(atDevice)
	d, err := l.Open(*q.Open)
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		r.NoDevice = fmt.Sprintf("open the %s device: %v", q.Name, err)
	}
}

// Shown is a text that is not ours, such as a path, for a line of people: quoted when it has what a terminal would obey.
func Shown(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	return strconv.Quote(text)
}
