package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// preamble bounds what a login shell may print before a script begins.
	preamble = 64 << 10
	// startPatience is how long a host may take until a script of ours begins: to connect, and for a slow login shell.
	startPatience = (connectSeconds + 10) * time.Second
	// endPatience is how long ssh may take to end after it was told to, before it is killed.
	endPatience = time.Second
	// maxStderr is what is kept of ssh's messages: the end.
	maxStderr = 8 << 10
	maxParam  = 8 << 10 // bytes of one parameter
)

// Session is one script that runs on a host. Its user closes it.
type Session struct {
	// In is the script's stdin, behind its parameters. Close ends it.
	In io.WriteCloser
	// Out is what it prints.
	Out *bufio.Reader

	host string
	cmd  *exec.Cmd
	out  *os.File
	msgs *tail
	over chan struct{} // closed when ssh has ended
	err  error         // how; read after over
	once sync.Once
}

// open runs a script on a host and returns when it has begun there.
func (c Config) open(ctx context.Context, host string, s Script, master bool, params ...string) (*Session, error) {
	if err := CheckHost(host); err != nil {
		return nil, err
	}
	lines, err := paramLines(params)
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", host, err)
	}
	x := &Session{host: host, msgs: &tail{}, over: make(chan struct{})}
	x.cmd = exec.Command(c.program(), append(c.args(master), "--", host, s.command())...)
	x.cmd.Env = environment()
	x.cmd.Dir = "/"
	x.cmd.Stderr = x.msgs
	x.cmd.WaitDelay = endPatience                           // a program behind ProxyCommand may hold its stderr
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's ^C is not for it
	if err := x.begin(); err != nil {
		return nil, err
	}
	if err := x.greet(ctx, lines); err != nil {
		return nil, err
	}
	return x, nil
}

func (x *Session) begin() error {
	in, feed, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("host %s: %w", x.host, err)
	}
	out, result, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("host %s: %w", x.host, err), in.Close(), feed.Close())
	}
	x.cmd.Stdin, x.cmd.Stdout = in, result
	err = x.cmd.Start()
	err = errors.Join(err, in.Close(), result.Close())
	if err != nil {
		_, _ = feed.Close(), out.Close()
		if errors.Is(err, exec.ErrNotFound) {
			return &Error{Host: x.host, Kind: NoProgram}
		}
		return fmt.Errorf("host %s: start ssh: %w", x.host, err)
	}
	x.In, x.out, x.Out = feed, out, bufio.NewReaderSize(out, preamble)
	go func() { // it lives exactly as long as ssh; Close waits for it
		x.err = x.cmd.Wait()
		close(x.over)
	}()
	return nil
}

// greet hands the parameters over and waits for the script's first word.
func (x *Session) greet(ctx context.Context, lines string) error {
	limit := time.Now().Add(startPatience)
	stop := context.AfterFunc(ctx, func() { _ = x.out.SetReadDeadline(time.Now()) })
	defer stop()
	err := x.out.SetReadDeadline(limit)
	if err == nil {
		_, err = io.WriteString(x.In, lines) // far less than a pipe holds
	}
	if err == nil || errors.Is(err, syscall.EPIPE) {
		err = x.readGreeting()
	}
	if err == nil {
		err = x.out.SetReadDeadline(time.Time{})
	}
	if err == nil && ctx.Err() == nil {
		return nil
	}
	late := errors.Is(err, os.ErrDeadlineExceeded)
	if errors.Is(err, io.EOF) { // ssh is about to end by itself, and to say why
		select {
		case <-x.over:
		case <-time.After(endPatience):
		}
	}
	x.Close()
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("host %s: %w", x.host, cause)
	}
	text := x.msgs.String()
	switch {
	case errors.Is(err, errEndless): // and whatever ssh said when it was ended
		return &Error{x.host, Failed, err.Error()}
	case late && text == "":
		return &Error{x.host, Unreachable, fmt.Sprintf("nothing within %v", startPatience)}
	case text == "" && errors.Is(err, io.EOF):
		return &Error{x.host, Failed, "ssh ended without a word: " + exitText(x.err)}
	case text == "":
		return &Error{x.host, Failed, err.Error()}
	}
	return &Error{x.host, classify(text), text}
}

// errEndless is about a host whose login shell prints more than a preamble.
var errEndless = fmt.Errorf("its login shell prints more than %d bytes", preamble)

// readGreeting skips what a login shell prints.
func (x *Session) readGreeting() error {
	for n := 0; n < preamble; {
		line, err := readLine(x.Out)
		if err != nil {
			return err
		}
		if strings.TrimRight(line, "\r\n") == here {
			return nil
		}
		n += len(line)
	}
	return errEndless
}

// readLine reads a line that fits into the reader's buffer. One that does not is no script's of ours.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = errEndless
	}
	return string(line), err
}

// Ended is closed when the session has ended, for whatever reason.
func (x *Session) Ended() <-chan struct{} { return x.over }

// Failure is how a session ended that did not end by itself in good order: after Ended. began says that the program there
// was seen to work.
func (x *Session) Failure(began bool) error {
	var exit *exec.ExitError
	if !errors.As(x.err, &exit) {
		return x.err
	}
	text := x.msgs.String()
	const notFound, notExecutable, connection = 127, 126, 255
	switch code := exit.ExitCode(); {
	case !began && (code == notFound || code == notExecutable):
		return &Error{x.host, NotRunnable, text}
	case !began && code == codeSetup && strings.Contains(text, setupFailed):
		return &Error{x.host, BadSetup, text}
	case code == connection || code < 0: // or a program there that was killed: from here it is the same
		return &Error{x.host, Lost, text}
	default:
		return &Error{x.host, Failed, cmpText(text, exitText(x.err))}
	}
}

func cmpText(text, instead string) string {
	if strings.TrimSpace(text) == "" {
		return instead
	}
	return text
}

func exitText(err error) string {
	if err == nil {
		return "exit code 0"
	}
	return err.Error()
}

// Close ends the session: the script sees the end of its stdin, and ssh is ended when that is not enough. It may be called again.
func (x *Session) Close() {
	x.once.Do(func() {
		_ = x.In.Close() // closed already is as good
		select {
		case <-x.over:
		case <-time.After(endPatience):
			_ = x.cmd.Process.Signal(syscall.SIGTERM) // it ends what its ProxyCommand started
			select {
			case <-x.over:
			case <-time.After(endPatience):
				_ = x.cmd.Process.Kill()
				<-x.over
			}
		}
		_ = x.out.Close()
	})
}

// Kill ends the session's ssh at once.
func (x *Session) Kill() {
	_ = x.cmd.Process.Kill() // one that has ended is as good
	x.Close()
}

// paramLines are parameters as read takes them.
func paramLines(params []string) (string, error) {
	var b strings.Builder
	for _, p := range params {
		if strings.ContainsAny(p, "\n\x00") || len(p) > maxParam {
			return "", fmt.Errorf("%q cannot be told to another host: it holds a line's end, or is too long", shown(p))
		}
		b.WriteString(p)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if len(t.data) > maxStderr {
		t.data = append([]byte(nil), t.data[len(t.data)-maxStderr:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
