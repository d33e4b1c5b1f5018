package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// scriptPatience is how long a script that only looks may take; putPatience is for one that takes a program in.
const (
	scriptPatience = 30 * time.Second
	putPatience    = 5 * time.Minute
)

// Link is a connection to a host that everything which is done there shares. It lasts until Close, its loss, or the end of
// this process.
type Link struct {
	Host   string
	config Config
	keeper *Session
}

// Connect connects to a host.
func (c Config) Connect(ctx context.Context, host string) (*Link, error) {
	keeper, err := c.open(ctx, host, keep, true)
	if err != nil {
		return nil, err
	}
	return &Link{Host: host, config: c, keeper: keeper}, nil
}

// Lost is closed when the connection has ended.
func (l *Link) Lost() <-chan struct{} { return l.keeper.Ended() }

// Close ends the connection, and with it whatever still uses it.
func (l *Link) Close() { l.keeper.Close() }

// Question is what Look asks a host about.
type Question struct {
	Sum    string // sha256 of this program, hexadecimal
	Binary string // where it lies here
	Dir    string // the run's folder here
	Nonce  string // name of a file in it
}

// Answer is what a host says. It comes from elsewhere: nothing of it is trusted beyond its use here.
type Answer struct {
	Name    string // the host's own
	System  string // "Linux x86_64"
	Nonce   string // content of the file, where the host sees it
	Program string // path of this very program there; empty: it has none
	Locked  string // the same, but may not be executed
}

// Look asks.
func (l *Link) Look(ctx context.Context, q Question) (Answer, error) {
	lines, err := l.run(ctx, scriptPatience, probe, nil, q.Sum, q.Binary, q.Dir, q.Nonce)
	if err != nil {
		return Answer{}, err
	}
	return parseAnswer(lines), nil
}

// parseAnswer reads lines of a key and a value; what is unknown is passed over.
func parseAnswer(lines []string) (a Answer) {
	for _, line := range lines {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "name":
			a.Name = value
		case "system":
			a.System = value
		case "nonce":
			a.Nonce = value
		case "program":
			a.Program = value
		case "locked":
			a.Locked = value
		}
	}
	return a
}

// Put copies this program, whose sha256 is sum, to the host and gives its path there.
func (l *Link) Put(ctx context.Context, binary, sum string) (path string, err error) {
	f, err := os.Open(binary)
	if err != nil {
		return "", fmt.Errorf("copy this program to host %s: %w", l.Host, err)
	}
	defer f.Close()
	lines, err := l.run(ctx, putPatience, put, f, sum)
	if err != nil {
		return "", err
	}
	if a := parseAnswer(lines); strings.HasPrefix(a.Program, "/") {
		return a.Program, nil
	}
	return "", &Error{l.Host, Failed, "it did not say where it keeps this program"}
}

// Start starts a role of this program on the host, from its path there. The lines of a shell, of the user's own configuration,
// prepare its environment.
func (l *Link) Start(ctx context.Context, program, role string, lines []string) (*Session, error) {
	params := append([]string{program, role, strconv.Itoa(len(lines))}, lines...)
	return l.config.open(ctx, l.Host, start, false, params...)
}

// maxLines bounds what a script says that only looks.
const maxLines = 64

// run runs a script to its end and gives its lines. What it reads besides its parameters is copied from feed.
func (l *Link) run(ctx context.Context, patience time.Duration, s Script, feed io.Reader, params ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	x, err := l.config.open(ctx, l.Host, s, false, params...)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	stop := context.AfterFunc(ctx, x.Kill)
	defer stop()
	var fed error
	if feed != nil {
		_, fed = io.Copy(x.In, feed) // a script that gives up early says why itself
	}
	fed = errors.Join(fed, x.In.Close())
	lines, code, err := readLines(x.Out)
	switch {
	case ctx.Err() != nil:
		return nil, &Error{l.Host, Unreachable, fmt.Sprintf("no answer within %v", patience)}
	case errors.Is(err, errEndless): // it would never end by itself
		return nil, &Error{l.Host, Failed, err.Error()}
	case err != nil:
		<-x.Ended()
		return nil, &Error{l.Host, Lost, x.msgs.String()}
	case code != 0:
		<-x.Ended()
		return nil, &Error{l.Host, scriptKind(code), cmpText(x.msgs.String(), scriptText(code))}
	case fed != nil:
		return nil, &Error{l.Host, Lost, fed.Error()}
	}
	return lines, nil
}

// readLines reads up to the word that says how the script ended.
func readLines(r *bufio.Reader) (lines []string, code int, err error) {
	for range maxLines {
		line, err := readLine(r)
		if err != nil {
			return nil, 0, err
		}
		line = strings.TrimRight(line, "\r\n")
		if number, ok := strings.CutPrefix(line, done); ok {
			code, err := strconv.Atoi(number)
			return lines, code, err
		}
		lines = append(lines, line)
	}
	return nil, 0, errEndless
}

func scriptKind(code int) Kind {
	switch code {
	case codeNoHome, codeFolder:
		return NoHome
	case codeWrite, codePlace:
		return NoRoom
	}
	return Failed
}

func scriptText(code int) string {
	switch code {
	case codeDamaged:
		return "the program arrived damaged"
	case codeNoTool:
		return "there is no sha256sum on it: install coreutils"
	}
	return fmt.Sprintf("a script ended with exit code %d", code)
}
