package ssh

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestHostLists(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("hosts", "# ours\nnode1\n\n  me@node2 # fast\r\n10.0.0.3\n")
	write("empty", "# nothing\n")
	write("slots", "node1 slots=4\n")
	for value, want := range map[string]string{
		"node1":                     "node1",
		"node1,node2":               "node1 node2",
		"me@node1,fe80::1%eth0":     "me@node1 fe80::1%eth0",
		"hosts":                     "node1 me@node2 10.0.0.3",
		"./hosts":                   "node1 me@node2 10.0.0.3",
		filepath.Join(dir, "hosts"): "node1 me@node2 10.0.0.3",
	} {
		hosts, err := Hosts(value)
		if err != nil || strings.Join(hosts, " ") != want {
			t.Errorf("%s: %q, %v", value, hosts, err)
		}
	}
	long := make([]string, MaxHosts+1)
	for i := range long {
		long[i] = "n" + strconv.Itoa(i)
	}
	for value, why := range map[string]string{
		"":                       "no hosts are named",
		"node1,,node2":           "comma too many",
		"node1,node1":            "named twice",
		"-oProxyCommand=x":       "like an option",
		"node1,-F/tmp/x":         "file",
		"node 1":                 "is no name",
		"node1;reboot":           "is no name",
		"$(reboot)":              "is no name",
		"node1\nnode2":           "is no name",
		"node\x1b[31m":           "is no name",
		"me@":                    "USER@HOST",
		"@node1":                 "USER@HOST",
		"me@-oX":                 "USER@HOST",
		"a@b@c":                  "USER@HOST",
		"Ω":                      "is no name",
		strings.Repeat("n", 300): "longer than",
		strings.Join(long, ","):  "more than",
		"./missing":              "no such file",
		"./empty":                "names no host",
		"./slots":                "is no name",
		"/dev/zero":              "not a regular file",
	} {
		if hosts, err := Hosts(value); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.60q: %q, %v; want %q", value, hosts, err, why)
		} else if strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%.60q: the error holds control characters: %q", value, err)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte("node1\nnode2 # x\n"))
	f.Add([]byte("-o\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		hosts, err := ParseFile(data)
		if err != nil {
			return
		}
		for _, h := range hosts {
			if CheckHost(h) != nil || strings.HasPrefix(h, "-") || strings.ContainsAny(h, " \t\n'\"$`;\\") {
				t.Fatalf("%q was taken", h)
			}
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add("system Linux x86_64\nname n\nnonce x\nprogram /bin/x\n" + done + "0\n")
	f.Add(done + "255\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines, code, err := readLines(newReader(text))
		if err == nil && (len(lines) > maxLines || code != 0 && len(scriptText(code)) == 0) {
			t.Fatal(lines, code)
		}
		parseAnswer(lines)
	})
}

func TestWhatSSHSaysIsUnderstood(t *testing.T) {
	for text, want := range map[string]Kind{
		"ssh: Could not resolve hostname x: Name or service not known\r\n":                                          Unresolved,
		"ssh: connect to host x port 22: Connection refused\r\n":                                                    Unreachable,
		"ssh: connect to host x port 22: Connection timed out\r\n":                                                  Unreachable,
		"No ED25519 host key is known for x and you have requested strict checking.\nHost key verification failed.": UnknownKey,
		"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.":                       ChangedKey,
		"me@x: Permission denied (publickey,password).":                                                             Unauthorized,
		"command-line: line 0: Bad configuration option: x":                                                         BadConfig,
		"kex_exchange_identification: read: Connection reset by peer":                                               Unreachable,
		"Timeout, server x not responding.":                                                                         Lost,
		"something else":                                                                                            Failed,
	} {
		if got := classify(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
		e := &Error{"x", want, text + "\x1b[31m"}
		if s := e.Error(); !strings.Contains(s, "x") || strings.ContainsAny(s, "\n\x1b") {
			t.Errorf("%q", s)
		}
	}
}

// A setup of the user's own that fails on a host is told as that, and mends itself no more than it does here.
func TestSetupThatFails(t *testing.T) {
	x := &Session{host: "x", msgs: &tail{data: []byte("sh: module: not found\n" + setupFailed + "module load x\n")}}
	x.err = exec.Command("sh", "-c", "exit 9").Run()
	err := x.Failure(false)
	var e *Error
	if !errors.As(err, &e) || !e.Mistaken() || e.Passing() || err.Error() != "host x: "+setupFailed+"module load x" {
		t.Error(err)
	}
	x.msgs = &tail{data: []byte("something else\n")}
	if err := x.Failure(false); !errors.As(err, &e) || e.Mistaken() {
		t.Error(err)
	}
}

func TestOldClients(t *testing.T) {
	for text, want := range map[string]bool{
		"OpenSSH_7.4p1, OpenSSL 1.0.2k-fips  26 Jan 2017\n": true, "OpenSSH_6.6.1p1 Ubuntu-2ubuntu2.13": true, "OpenSSH_7.6p1": false,
		"OpenSSH_8.0p1, OpenSSL 1.1.1k": false, "OpenSSH_10.0p2": false, "Sun_SSH_1.1": false, "": false,
	} {
		if got := isOld(text); got != want {
			t.Errorf("%q is old: %v", text, got)
		}
	}
	if args := strings.Join(Config{Old: true}.args(true), " "); strings.Contains(args, "RemoteCommand") || !strings.Contains(args, "BatchMode=yes") {
		t.Errorf("arguments for an old client: %s", args)
	}
}

func TestScriptsAreFixedTextForAnyShell(t *testing.T) {
	for _, s := range []Script{keep, probe, put, start} {
		if strings.ContainsAny(s.text, "'\n!") {
			t.Errorf("%q holds what a login shell would take apart", s.text)
		}
		cmd := exec.Command("/bin/sh", "-n", "-c", s.command())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %s", s.text, out)
		}
	}
}

// sshd starts a real one for this user, and gives the ssh_config that reaches it as host "there".
func sshd(t *testing.T) Config {
	t.Helper()
	const daemon = "/usr/sbin/sshd"
	if _, err := os.Stat(daemon); err != nil {
		t.Skip("there is no sshd on this machine (openssh-server)")
	}
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("there is no ssh-keygen on this machine (openssh-client)")
	}
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // where it separates its privileges
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	for _, key := range []string{"host", "id", "other"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	conf := file("sshd.conf", fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %s/host\nPidFile none\nAuthorizedKeysFile %s/id.pub\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nPermitRootLogin yes\n", port, dir, dir))
	cmd := exec.Command(daemon, "-D", "-e", "-f", conf)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", log.String())
		}
	})
	key, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	known := file("known", fmt.Sprintf("[127.0.0.1]:%d %s", port, key))
	empty := file("unknown", "")
	config := file("ssh_config", fmt.Sprintf(`Host stranger
 UserKnownHostsFile %s
Host refused
 IdentityFile %s/other
Host closed
 Port 1
Host *
 HostName 127.0.0.1
 Port %d
 IdentityFile %s/id
 IdentitiesOnly yes
 IdentityAgent none
 UserKnownHostsFile %s
 GlobalKnownHostsFile /dev/null
 StrictHostKeyChecking ask
 RemoteCommand echo never
 RequestTTY force
`, empty, dir, port, dir, known))
	if b, err := os.ReadFile(config); err == nil { // the refused one must not have the right key as well
		text := strings.Replace(string(b), "Host *\n", "Host * !refused\n", 1)
		text += fmt.Sprintf("Host refused\n HostName 127.0.0.1\n Port %d\n IdentitiesOnly yes\n IdentityAgent none\n UserKnownHostsFile %s\n", port, known)
		file("ssh_config", text)
	}
	for range 100 {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			c.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	control, remove := ControlFolder()
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	return Config{File: config, Control: control}
}

func connect(t *testing.T, c Config, host string) (*Link, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	l, err := c.Connect(ctx, host)
	if err == nil {
		t.Cleanup(l.Close)
	}
	return l, err
}

func TestHostsThatCannotBeUsed(t *testing.T) {
	c := sshd(t)
	for host, want := range map[string]Kind{"stranger": UnknownKey, "refused": Unauthorized, "closed": Unreachable} {
		_, err := connect(t, c, host)
		var e *Error
		if !errors.As(err, &e) || e.Kind != want || e.Host != host {
			t.Errorf("%s: %v", host, err)
		}
	}
	c.Options = []string{"-oNonsense=1"}
	var e *Error
	if _, err := connect(t, c, "there"); !errors.As(err, &e) || e.Kind != BadConfig {
		t.Errorf("bad configuration: %v", err)
	}
	c.Options, c.Program = nil, "ssh-of-nobody"
	if _, err := connect(t, c, "there"); !errors.As(err, &e) || e.Kind != NoProgram {
		t.Errorf("no ssh: %v", err)
	}
}

func TestOneConnectionServesEverything(t *testing.T) {
	c := sshd(t)
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", "")
	home := t.TempDir()
	// A program that says who it is, what it was told, and what it hears.
	program := []byte("#!/bin/sh\necho role $1 $SET; exec cat\n")
	binary := filepath.Join(dir, "program")
	if err := os.WriteFile(binary, program, 0o700); err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(program)
	sum := hex.EncodeToString(hash[:])
	if err := os.WriteFile(filepath.Join(dir, "nonce"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := connect(t, c, "there")
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Look(t.Context(), Question{Sum: sum, Binary: binary, Dir: dir, Nonce: "nonce"})
	if err != nil || a.Nonce != "secret" || a.Program != binary || a.Name == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	other := strings.Repeat("0", 64)
	if a, err = l.Look(t.Context(), Question{Sum: other, Binary: binary, Dir: dir + "/none", Nonce: "nonce"}); err != nil || a.Nonce != "" || a.Program != "" {
		t.Errorf("another content, another folder: %+v, %v", a, err)
	}
	x, err := l.Start(t.Context(), binary, "part", []string{"SET=prepared; export SET", "HOME='" + home + "'"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.In.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"role part prepared\n", "hello\n"} {
		if line, err := x.Out.ReadString('\n'); err != nil || line != want {
			t.Errorf("%q, %v", line, err)
		}
	}
	x.Close()
	if err := x.Failure(true); err != nil {
		t.Errorf("a session that ended well: %v", err)
	}
	if x, err = l.Start(t.Context(), dir+"/missing", "part", nil); err == nil {
		<-x.Ended()
		var e *Error
		if err := x.Failure(false); !errors.As(err, &e) || e.Kind != NotRunnable {
			t.Errorf("a program that is not there: %v", err)
		}
		x.Close()
	}
	if _, err := l.Start(t.Context(), "a\nb", "part", nil); err == nil {
		t.Error("a parameter of two lines was taken")
	}
	l.Close()
	select {
	case <-l.Lost():
	default:
		t.Error("a closed connection stands")
	}
}

func TestPutByContent(t *testing.T) {
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("there is no sha256sum on this machine")
	}
	cache := t.TempDir()
	run := func(sum, content string) (string, error) {
		cmd := exec.Command("/bin/sh", "-c", put.command())
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
		cmd.Stdin = strings.NewReader(sum + "\n" + content)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	content := "#!/bin/sh\necho hi\n"
	hash := sha256.Sum256([]byte(content))
	sum := hex.EncodeToString(hash[:])
	out, err := run(sum, content)
	path := filepath.Join(cache, "boost-tui", "bin", sum, "boost-tui")
	if err != nil || !strings.Contains(out, "program "+path+"\n") || !strings.HasSuffix(out, done+"0\n") {
		t.Fatalf("%s, %v", out, err)
	}
	if out, err := exec.Command(path).Output(); err != nil || string(out) != "hi\n" {
		t.Errorf("%s, %v", out, err)
	}
	if out, _ := run(strings.Repeat("1", 64), content); !strings.HasSuffix(out, done+strconv.Itoa(codeDamaged)+"\n") {
		t.Errorf("damaged: %s", out)
	}
	if left, err := filepath.Glob(filepath.Join(cache, "boost-tui", "bin", "*", ".new*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	cmd := exec.Command("/bin/sh", "-c", put.command())
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stdin = strings.NewReader(sum + "\n" + content)
	if out, _ := cmd.CombinedOutput(); !strings.HasSuffix(string(out), done+strconv.Itoa(codeNoHome)+"\n") {
		t.Errorf("without a home: %s", out)
	}
}

func newReader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }
