package handshake

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Door is where connections stand whose other side has not proved anything yet. It bounds how many there are, whoever
// makes them: when it is full a new one takes the place of one that stands there, by chance. So nobody can keep those out
// who belong inside, who are through within a round trip and try again when they were unlucky. The zero value of every
// field but Limit is ready.
type Door struct {
	Limit int // connections that may stand there at once
	// Say is told of refusals: the first at once, then at most one line in sayEvery with the number of those it leaves out.
	// It may be called from several goroutines; nil: nobody is told.
	Say func(format string, args ...any)

	mu      sync.Mutex
	waiting map[net.Conn]bool // those that stand there; the values say nothing
	turned  map[net.Conn]bool // closed in favour of others, and not gone yet
	last    time.Time         // when Say was told
	silent  int               // refusals since
}

// sayEvery is how often refusals are told of: whoever knocks without end must not fill a log.
const sayEvery = 30 * time.Second

// errCrowded is why a connection was closed before its time.
var errCrowded = errors.New("too many connections stand in the handshake")

// Enter takes a connection in, perhaps in the place of another one, which is closed. Pass follows where it has proved
// itself, and Leave in any case. It is false where even those that were closed have not gone yet: the caller closes it.
func (d *Door) Enter(conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting, d.turned = map[net.Conn]bool{}, map[net.Conn]bool{}
	}
	if len(d.turned) >= d.Limit {
		d.complain(conn, errCrowded)
		return false
	}
	if len(d.waiting) >= d.Limit {
		for other := range d.waiting { // the order of a map is by chance
			delete(d.waiting, other)
			d.turned[other] = true
			other.Close()
			break
		}
	}
	d.waiting[conn] = true
	return true
}

// Pass takes a connection out that has proved itself, before it is told so: from then on it is not turned out. It is an
// error where that has happened already.
func (d *Door) Pass(conn net.Conn) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.waiting[conn] {
		return errCrowded
	}
	delete(d.waiting, conn)
	return nil
}

// Leave forgets a connection whose handshake ended so: nil, it is one of ours.
func (d *Door) Leave(conn net.Conn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turned[conn] {
		err = errCrowded
	}
	delete(d.turned, conn)
	delete(d.waiting, conn)
	if err != nil {
		d.complain(conn, err)
	}
}

// complain is called with mu held.
func (d *Door) complain(conn net.Conn, err error) {
	now := time.Now()
	if d.Say == nil {
		return
	}
	if !d.last.IsZero() && now.Sub(d.last) < sayEvery {
		d.silent++
		return
	}
	more := ""
	if d.silent > 0 {
		more = fmt.Sprintf(" (and %d others in the last %v)", d.silent, now.Sub(d.last).Round(time.Second))
	}
	d.last, d.silent = now, 0
	from := "somebody"
	if a := conn.RemoteAddr(); a != nil {
		from = a.String()
	}
	d.Say("refused a connection from %s: %v%s", from, err, more)
}

// Sum tells of the refusals that were left out, where there are any. It is called when the listener is closed.
func (d *Door) Sum() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.silent > 0 && d.Say != nil {
		d.Say("refused %d other connections since", d.silent)
		d.silent = 0
	}
}
