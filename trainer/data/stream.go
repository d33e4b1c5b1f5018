package data

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"slices"
	"sort"
	"strings"
)

// Part is a file or folder of the data, and how much of what is trained on comes from it.
type Part struct {
	Path   string
	Weight float64 // above 0; shares are weights over their sum
}

// Options say how data is read.
type Options struct {
	Vocab    int    // the model must know every token
	Seq      int    // tokens of a sample that are predicted; a sample has one more
	DType    string // of tokens in .bin files: uint16, uint32, or auto: what the file or the description beside it says
	Separate bool   // no sample reaches from one file into the next
	// Ends are tokens that end a document inside a file, themselves its last: where Separate is set, no sample reaches beyond one.
	Ends []int32
	// Embedded is the file system that the path EmbeddedPath stands for.
	Embedded     fs.FS
	EmbeddedPath string
	EmbeddedName string
}

// Data is all that a value of data names. It is used by one goroutine at a time.
type Data struct {
	o       Options
	sources []*Source
	weights []float64
}

// OpenParts opens every part. Errors name the file, and the token where it is one. Each part must hold a sample, and where samples stay within files, each file
// that is named by itself.
func OpenParts(parts []Part, o Options) (*Data, error) {
	d := &Data{o: o}
	for _, p := range parts {
		var s *Source
		var err error
		if o.Embedded != nil && p.Path == o.EmbeddedPath {
			s, err = OpenFS(o.Embedded, o.EmbeddedName, o.Vocab, int64(o.Seq)+1)
		} else {
			s, err = open(p.Path, o.Vocab, int64(o.Seq)+1, o.DType)
		}
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		d.sources, d.weights = append(d.sources, s), append(d.weights, p.Weight)
	}
	if len(d.sources) == 0 {
		return nil, errors.New("data: nothing is named")
	}
	return d, nil
}

// Close closes all files.
func (d *Data) Close() error {
	var errs []error
	for _, s := range d.sources {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Name is what the data was opened as.
func (d *Data) Name() string {
	if len(d.sources) == 1 {
		return d.sources[0].Name()
	}
	return fmt.Sprintf("%s and %d more", d.sources[0].Name(), len(d.sources)-1)
}

// Tokens is how many there are.
func (d *Data) Tokens() (n int64) {
	for _, s := range d.sources {
		n += s.Tokens()
	}
	return n
}

// Files is how many files they lie in.
func (d *Data) Files() (n int) {
	for _, s := range d.sources {
		n += s.Files()
	}
	return n
}

// Types are how its files hold tokens, in words: "uint16, where nothing says it".
func (d *Data) Types() string {
	var types []string
	for _, s := range d.sources {
		for _, f := range s.files {
			text := f.format.String()
			if f.assumed {
				text += " (assumed: nothing says it)"
			}
			if !slices.Contains(types, text) {
				types = append(types, text)
			}
		}
	}
	return strings.Join(types, ", ")
}

// heldOut is the share of every part that is held out: one token of so many, at its end.
const heldOut = 20

// All is everything as one stream.
func (d *Data) All() (*Stream, error) {
	return d.stream("", func(s *Source) (lo, hi int64) { return 0, s.Tokens() })
}

// Split is everything but the last twentieth of every part, and that twentieth.
func (d *Data) Split() (train, held *Stream, err error) {
	cut := func(s *Source) int64 { return s.Tokens() - s.Tokens()/heldOut }
	if train, err = d.stream(" without what is held out", func(s *Source) (lo, hi int64) { return 0, cut(s) }); err != nil {
		return nil, nil, err
	}
	held, err = d.stream(", its last twentieth, which is held out,", func(s *Source) (lo, hi int64) { return cut(s), s.Tokens() })
	return train, held, err
}

// Stream is what samples are drawn from: stretches of every part.
type Stream struct {
	parts []stretch
	upTo  []float64 // share of the parts up to each, itself included
}

// stretch is the places of a source at which samples may begin, as runs of positions.
type stretch struct {
	source *Source
	lo     []int64 // where each run begins
	before []int64 // starts before each run; one more: all of them
}

// stream makes a stream of a range of every part; what is what errors call the range.
func (d *Data) stream(what string, within func(*Source) (lo, hi int64)) (*Stream, error) {
	st, sum := &Stream{}, 0.0
	for i, s := range d.sources {
		lo, hi := within(s)
		p, err := d.stretch(s, lo, hi)
		if err != nil {
			return nil, err
		}
		if p.starts() == 0 && d.o.Separate {
			return nil, fmt.Errorf("data: %s%s holds %d tokens in %d files, and every document is shorter than a sample of %d tokens (seq + 1), which stays within one: "+
				"name a smaller seq, data of longer documents, eval-data of its own where a part is held out, or documents joined", s.Name(), what, hi-lo, s.Files(), d.o.Seq+1)
		}
		if p.starts() == 0 {
			return nil, fmt.Errorf("data: %s%s holds %d tokens in %d files, and no sample of %d tokens (seq + 1) fits: name more data, a smaller seq, or eval-data of its own",
				s.Name(), what, hi-lo, s.Files(), d.o.Seq+1)
		}
		sum += d.weights[i]
		st.parts, st.upTo = append(st.parts, p), append(st.upTo, sum)
	}
	for i := range st.upTo {
		st.upTo[i] /= sum
	}
	return st, nil
}

// stretch lists where samples of a source may begin so that they end within [lo, hi), and within one document where those are separated.
func (d *Data) stretch(s *Source, lo, hi int64) (stretch, error) {
	p := stretch{source: s, before: []int64{0}}
	if !d.o.Separate {
		p.add(lo, hi, d.o.Seq)
		return p, nil
	}
	for _, f := range s.files {
		if f.tokens <= int64(d.o.Seq) && len(s.files) == 1 {
			return p, fmt.Errorf("data: %s holds %d tokens, and one sample takes %d (seq + 1): name more data or a smaller seq", s.where(f.path), f.tokens, d.o.Seq+1)
		}
		if err := d.documents(&p, max(lo, f.at), min(hi, f.at+f.tokens)); err != nil {
			return p, err
		}
	}
	return p, nil
}

// documents adds the documents of a range of one file: it reads all tokens where some of them end one.
func (d *Data) documents(p *stretch, lo, hi int64) error {
	if len(d.o.Ends) > 0 {
		tokens := make([]int32, 1<<16)
		for at := lo; at < hi; at += int64(len(tokens)) {
			some := tokens[:min(int64(len(tokens)), hi-at)]
			if err := p.source.Read(some, at); err != nil {
				return err
			}
			for i, token := range some {
				if slices.Contains(d.o.Ends, token) {
					end := at + int64(i) + 1
					p.add(lo, end, d.o.Seq)
					lo = end
				}
			}
		}
	}
	p.add(lo, hi, d.o.Seq)
	return nil
}

// add adds a run of tokens, if a sample fits it.
func (p *stretch) add(lo, hi int64, seq int) {
	if n := hi - lo - int64(seq); n > 0 {
		p.lo, p.before = append(p.lo, lo), append(p.before, p.starts()+n)
	}
}

// starts is at how many positions a sample may begin.
func (p *stretch) starts() int64 { return p.before[len(p.before)-1] }

// start maps 64 random bits to a position: the high half of a product is in [0, starts) with a bias below starts/2^64.
func (p *stretch) start(random uint64) int64 {
	hi, _ := bits.Mul64(random, uint64(p.starts()))
	i := sort.Search(len(p.lo), func(i int) bool { return p.before[i+1] > int64(hi) })
	return p.lo[i] + int64(hi) - p.before[i]
}

// choose maps 64 random bits to a part, by weight.
func (s *Stream) choose(random uint64) int {
	u := float64(random>>11) / (1 << 53)
	return min(sort.Search(len(s.upTo), func(i int) bool { return s.upTo[i] > u }), len(s.upTo)-1)
}
