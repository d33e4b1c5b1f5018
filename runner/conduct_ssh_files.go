package runner

import (
	"fmt"
	"path"
	"strings"

	"boost-tui/runner/mirror"
	"boost-tui/runner/protocol"
)

// hostFiles is what comes home from one host.
type hostFiles struct {
	home *home
	host *sshHost
	sink *mirror.Sink
	kept map[string][]byte // files that are not kept as they come, as far as they are here
}

func newHostFiles(x *sshHost) (*hostFiles, error) {
	sink, err := mirror.NewSink(x.run.job.Dir, homeNames(x.share(), x.run.job.Run.World()))
	if err != nil {
		return nil, err
	}
	return &hostFiles{home: x.run.home, host: x, sink: sink, kept: map[string][]byte{}}, nil
}

func (f *hostFiles) sync() error { return f.sink.Sync() }

// take takes what is not kept as it comes: the result, which comes last, where ranks meet, which is for the other hosts alone,
// and parts of checkpoints that are of no use any more.
func (f *hostFiles) take(m mirror.Message) (taken bool, err error) {
	switch m.Name {
	case protocol.ResultFile:
		return true, f.collect(m, func(data []byte) {
			f.home.mu.Lock()
			defer f.home.mu.Unlock()
			if f.home.result == nil || f.host.index == 0 {
				f.home.result = data
			}
		})
	case protocol.MeetFile:
		return true, f.collect(m, f.home.met)
	}
	folder, _, ok := cutLast(m.Name)
	if step, isPart := partOf(folder); ok && isPart {
		if f.home.unwanted(step) {
			if m.Kind != mirror.Gone && m.Offset == 0 { // it has not heard
				f.host.send(mirror.Message{Kind: mirror.Gone, Name: strings.TrimSuffix(folder, "/")})
			}
			return true, nil
		}
	}
	return false, nil
}

func cutLast(name string) (folder, file string, ok bool) {
	folder, file = path.Split(name)
	return folder, file, folder != ""
}

// collect puts a file together in memory.
func (f *hostFiles) collect(m mirror.Message, whole func([]byte)) error {
	if m.Kind == mirror.Gone {
		return nil
	}
	if m.Kind != mirror.Whole {
		return fmt.Errorf("%w: message %c about %s", mirror.ErrMessage, m.Kind, m.Name)
	}
	if m.Flags&mirror.Fresh != 0 {
		f.kept[m.Name] = nil
	}
	data := f.kept[m.Name]
	if int64(len(data)) != m.Offset || len(data)+len(m.Data) > maxFileBytes {
		return fmt.Errorf("%w: %s goes on at %d", mirror.ErrMessage, m.Name, m.Offset)
	}
	data = append(data, m.Data...)
	f.kept[m.Name] = data
	if m.Flags&mirror.Last != 0 {
		delete(f.kept, m.Name)
		whole(data)
	}
	return nil
}
