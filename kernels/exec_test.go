package kernels

import (
	"errors"
	"testing"
)

// queue is a device that notes the order of fences and messages.
type queue struct {
	Device
	events  int
	streams map[string]Stream
	at      map[Event]int // event -> message that it stands behind
	count   int
	waited  []int // messages that compute waited for
	fail    error
}

func (q *queue) NewEvent() (Event, error) { q.events++; return Event(q.events), nil }
func (q *queue) NewStream(name string) (Stream, error) {
	q.streams[name] = Stream(len(q.streams) + 1)
	return q.streams[name], nil
}
func (q *queue) Record(e Event, s Stream) error {
	q.at[e] = 0
	if s != ComputeStream {
		q.at[e] = q.count
	}
	return nil
}
func (q *queue) Wait(s Stream, e Event) error {
	if s == ComputeStream {
		q.waited = append(q.waited, q.at[e])
	}
	return nil
}
func (q *queue) Do(Call, Op) error { q.count++; return q.fail }

func newQueue(t *testing.T) (*queue, *Exec) {
	q := &queue{streams: map[string]Stream{}, at: map[Event]int{}}
	x, err := NewExec(q)
	if err != nil {
		t.Fatal(err)
	}
	return q, x
}

// However many messages are under way, each is waited for by its own event.
func TestManyMessagesUnderWay(t *testing.T) {
	q, x := newQueue(t)
	v := Matrix(&Buffer{Bytes: 64, Symmetric: true}, 0, 1, 4, F32)
	c := seat{"dp", 0, 2}
	var under []Pending
	for range 300 {
		under = append(under, x.StartReduce("bucket", c, v))
	}
	for _, p := range under {
		p.Wait()
		p.Wait() // changes nothing
	}
	for i, m := range q.waited {
		if m != i+1 {
			t.Fatalf("wait %d was for message %d", i+1, m)
		}
	}
	if len(q.waited) != 300 || x.Err() != nil {
		t.Errorf("%d waits, %v", len(q.waited), x.Err())
	}
	made := q.events
	for range 3 { // events are used again
		x.Reset()
		for range 300 {
			x.Reduce("bucket", c, v)
		}
	}
	if q.events != made {
		t.Errorf("%d events became %d", made, q.events)
	}
}

// A message that is under way when the step begins anew is still waited for, unless the step before it failed.
func TestMessagesOverResets(t *testing.T) {
	q, x := newQueue(t)
	v := Matrix(&Buffer{Bytes: 64, Symmetric: true}, 0, 1, 4, F32)
	p := x.StartSend("act", seat{"pp", 0, 2}, 1, v)
	x.Reset()
	p.Wait()
	if len(q.waited) != 1 || q.streams["pp to 1"] == 0 {
		t.Errorf("waits %v, streams %v", q.waited, q.streams)
	}
	q.fail = errors.New("broken")
	p = x.StartRecv("act", seat{"pp", 0, 2}, 1, v)
	x.Reset()
	q.fail = nil
	p.Wait()
	if len(q.waited) != 1 || x.Err() != nil {
		t.Errorf("waits %v, %v", q.waited, x.Err())
	}
}
