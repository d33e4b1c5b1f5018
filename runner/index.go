package runner

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/runner/pack"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// The index holds what is known of runs that are over, so that a list need not read their files. It is no record: every
// entry is used only while the files look as they did when it was made, a file that is damaged, of another version of the program
// or of another user is none, and whoever reads enough runs anew replaces it as a whole. It needs no lock for that: of two
// programs that write it at once one wins, and both are right.
const (
	indexFile  = ".index"
	indexMagic = "boost-tui index 1\n"
	// indexFrom is how many runs a list must have read anew to write the index: below that reading takes no time.
	indexFrom = 32
	// maxIndexBytes bounds what is read; maxIndexed is the largest run that is put in.
	maxIndexBytes = 256 << 20
	maxIndexed    = 64 << 10
)

// indexed is an entry of the index.
type indexed struct {
	Run      Run
	State    State
	Cause    string
	Fault    Fault
	Tags     []string
	Note     string
	Archived bool
	Ended    time.Time
	Result   *Result
	Last     *Progress
}

// indexCodec packs entries. It is nil where their type cannot be packed, which a test excludes.
var indexCodec = sync.OnceValue(func() *pack.Codec[indexed] {
	c, err := pack.New[indexed]()
	if err != nil {
		return nil
	}
	return c
})

// index is what was read of the index file; each entry is unpacked when it is asked for.
type index struct {
	mu      sync.Mutex
	loaded  bool
	entries map[string]entry
}

type entry struct {
	sum  [sha256.Size]byte // of its prints
	data string
}

// load reads the index once, where the store has enough runs to need one.
func (x *index) load(root string, runs int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.loaded || runs < indexFrom {
		return
	}
	x.loaded = true
	path, err := indexPath(root)
	if err != nil {
		return
	}
	if data, err := readIndex(path); err == nil {
		x.entries, _ = parseIndex(data, root) // what is damaged is made again
	}
}

// take hands out the entry of a run whose files look like p, packed, and forgets it; empty: there is none.
func (x *index) take(id string, p *prints) string {
	x.mu.Lock()
	e, ok := x.entries[id]
	delete(x.entries, id)
	x.mu.Unlock()
	if !ok || e.sum != p.sum() {
		return ""
	}
	return e.data
}

// packed is a run as the index has it.
func packed(key prints, in *Info) cached {
	c := cached{key: key}
	if codec := indexCodec(); codec != nil {
		c.packed = string(codec.Append(nil, &indexed{in.Run, in.State, in.Cause, in.Fault, in.Tags, in.Note, in.Archived, in.Ended, in.Result, in.Last}))
	}
	return c
}

// unpack reads an entry by way of i, which is empty; false: it is none of a run that is over.
func unpack(data string, i *indexed) (in Info, ok bool) {
	if data == "" || indexCodec().Read(data, i) != nil || !i.State.Over() || i.Result == nil {
		return in, false
	}
	return Info{Run: i.Run, State: i.State, Cause: i.Cause, Fault: i.Fault, Tags: i.Tags, Note: i.Note, Archived: i.Archived,
		Ended: i.Ended, Result: i.Result, Last: i.Last}, true
}

// sum is the prints in short.
func (p *prints) sum() [sha256.Size]byte {
	var b [len(p) * 4 * 8]byte
	at := b[:0]
	for _, f := range p {
		for _, v := range [...]int64{f.inode, f.size, f.mtime, f.ctime} {
			at = binary.LittleEndian.AppendUint64(at, uint64(v))
		}
	}
	return sha256.Sum256(at)
}

// remember writes the index anew where this look read many runs that it did not know. It is no one's errand: what fails is
// tried again another time.
func (l *look) remember() {
	if l.fresh.n < indexFrom || l.root == nil {
		return
	}
	path, err := indexPath(l.store.Root)
	if err != nil {
		return
	}
	if data := l.store.cache.encode(l.store.Root); data != nil {
		_ = writeIndex(path, data)
	}
}

// encode is the index file of all runs that are known.
func (c *cache) encode(root string) []byte {
	codec := indexCodec()
	if codec == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	data := indexHead(root, codec.Layout())
	for id, e := range c.runs {
		if len(e.packed) > maxIndexed {
			continue
		}
		sum := e.key.sum()
		data = append(data, byte(len(id)))
		data = append(append(data, id...), sum[:]...)
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(e.packed))), e.packed...)
	}
	return sealed(data)
}

// sealed is the file with its checksum.
func sealed(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// indexHead says what the file is of: the layout of its entries and the store.
func indexHead(root string, layout uint64) []byte {
	sum := sha256.Sum256([]byte(root))
	return append(binary.LittleEndian.AppendUint64([]byte(indexMagic), layout), sum[:]...)
}

// parseIndex splits an index file into its entries. A store that was moved has another index.
func parseIndex(data, root string) (map[string]entry, error) {
	codec := indexCodec()
	if codec == nil {
		return nil, errors.New("entries cannot be unpacked")
	}
	head := string(indexHead(root, codec.Layout()))
	if len(data) < len(head)+4 || data[:len(head)] != head {
		return nil, errors.New("it is of another version, or of another store")
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32([]byte(data[len(data)-4:]))
	if checksum(body) != sum {
		return nil, errors.New("it is damaged")
	}
	entries := map[string]entry{}
	for rest := body[len(head):]; rest != ""; {
		n := int(rest[0])
		fixed := 1 + n + sha256.Size + 4
		if len(rest) < fixed {
			return nil, errors.New("it is cut off")
		}
		var e entry
		id := rest[1 : 1+n]
		copy(e.sum[:], rest[1+n:])
		size := int(binary.LittleEndian.Uint32([]byte(rest[fixed-4 : fixed])))
		if size > maxIndexed || len(rest) < fixed+size {
			return nil, errors.New("it is cut off")
		}
		e.data, rest = rest[fixed:fixed+size], rest[fixed+size:]
		entries[id] = e
	}
	return entries, nil
}

// checksum is that of a text of megabytes, which is not copied for it.
func checksum(text string) (sum uint32) {
	for len(text) > 0 {
		n := min(len(text), 16<<10)
		sum, text = crc32.Update(sum, castagnoli, []byte(text[:n])), text[n:]
	}
	return sum
}

// indexPath is where this user's index of a store lies: in the store where that is the user's own, else with what
// programs keep for the user to be quicker.
func indexPath(root string) (string, error) {
	if ownerOf(root) == os.Geteuid() {
		return filepath.Join(root, indexFile), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(cache, "boost-tui", "index", hex.EncodeToString(sum[:16])), nil
}

// readIndex reads the file where it is this user's and nobody else may write to it, into memory of its size: its entries are kept.
func readIndex(path string) (string, error) {
	f, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // read only
	var st unix.Stat_t
	switch err := unix.Fstat(int(f.Fd()), &st); {
	case err != nil:
		return "", err
	case int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0:
		return "", fmt.Errorf("%s is another user's, or others may write to it", path)
	case st.Size > maxIndexBytes:
		return "", fmt.Errorf("%s is longer than %d bytes", path, maxIndexBytes)
	}
	var data strings.Builder
	data.Grow(int(st.Size))
	_, err = io.Copy(&data, io.LimitReader(f, st.Size)) // it is replaced as a whole, never appended to
	return data.String(), err
}

// writeIndex replaces the file as a whole. It need not survive a power failure.
func writeIndex(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if !strings.HasSuffix(path, indexFile) {
		if err := os.MkdirAll(dir, protocol.DirMode); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(dir, indexFile+".")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
