package step

import (
	"context"
	"fmt"
	"math"
	"testing"

	"golang.org/x/sync/errgroup"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/check"
	"boost-tui/kernels/record"
	"boost-tui/kernels/reference"
)

// mesh is the sizes of the parallel dimensions.
type mesh struct{ tp, dp, pp int }

func (m mesh) world() int { return m.tp * m.dp * m.pp }

func (m mesh) String() string { return fmt.Sprintf("tp %d dp %d pp %d", m.tp, m.dp, m.pp) }

// groups joins a rank's communicators; ids are one for each group of the mesh, made by the first caller.
func (m mesh) groups(ctx context.Context, dev kernels.Device, rank int, id func(name string) kernels.UID) (g Groups, err error) {
	tp, dp, pp := rank%m.tp, rank/m.tp%m.dp, rank/(m.tp*m.dp)
	for _, a := range []struct {
		name     string
		n, place int
		group    string
		to       *kernels.Comm
	}{{"tp", m.tp, tp, fmt.Sprint(dp, pp), &g.TP}, {"dp", m.dp, dp, fmt.Sprint(tp, pp), &g.DP}, {"pp", m.pp, pp, fmt.Sprint(tp, dp), &g.PP}} {
		if a.n == 1 {
			continue
		}
		if *a.to, err = dev.Join(ctx, id(a.name+" "+a.group), a.n, a.place, a.name); err != nil {
			return g, err
		}
	}
	return g, nil
}

// share is the part of a global batch that a replica trains on, as the step's configuration has it.
func (m mesh) share(cfg Config) Config {
	cfg.Model.Micros /= m.dp
	return cfg
}

// onMesh runs f on every rank of a mesh of reference devices.
func onMesh(t *testing.T, w *reference.World, m mesh, wrap func(kernels.Device) kernels.Device, f func(rank int, dev kernels.Device, g Groups) error) error {
	t.Helper()
	ids := map[string]kernels.UID{}
	next := byte(1)
	for _, kind := range []string{"tp", "dp", "pp"} {
		for i := range 16 {
			for j := range 16 {
				ids[fmt.Sprint(kind, " ", i, " ", j)] = kernels.UID{0: next, 1: byte(i), 2: byte(j), 3: 1}
			}
		}
		next++
	}
	run, ctx := errgroup.WithContext(t.Context())
	for r := range m.world() {
		run.Go(func() error {
			dev := wrap(reference.New(w, r))
			g, err := m.groups(ctx, dev, r, func(name string) kernels.UID { return ids[name] })
			if err == nil {
				err = f(r, dev, g)
			}
			if err != nil {
				g.abort()
				return fmt.Errorf("rank %d: %w", r, err)
			}
			return nil
		})
	}
	return run.Wait()
}

// trainMesh is the results of a few steps on a mesh; all ranks must agree. cfg has the micro-batches of all replicas.
func trainMesh(t *testing.T, w *reference.World, wrap func(kernels.Device) kernels.Device, cfg Config, m mesh, steps int) []Result {
	t.Helper()
	out := make([][]Result, m.world())
	own := m.share(cfg)
	err := onMesh(t, w, m, wrap, func(r int, dev kernels.Device, g Groups) error {
		s, err := New(own, dev, g)
		if err != nil {
			return err
		}
		if err := s.Model().Initialize(context.Background()); err != nil {
			return err
		}
		for i := range steps {
			all := tokens(cfg.Model, i)
			n, at := len(all)/m.dp, r/m.tp%m.dp
			res, err := s.Run(context.Background(), Input{Tokens: all[at*n : (at+1)*n], LR: 1e-2, Index: i + 1})
			if err != nil {
				return err
			}
			out[r] = append(out[r], res)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", m, err)
	}
	for r := range out {
		for i := range out[r] {
			if out[r][i] != out[0][i] {
				t.Errorf("%s step %d: rank %d has %+v, rank 0 %+v", m, i, r, out[r][i], out[0][i])
			}
		}
	}
	return out[0]
}

func plain(d kernels.Device) kernels.Device { return d }

// parallels calls f for every variant and scheme with the meshes, slices and sequence parallelism that it can have. Four blocks and
// four micro-batches, so that stages have blocks between and before others, and micro-batches in flight.
func parallels(f func(name string, cfg Config, m mesh)) {
	meshes := []mesh{{1, 2, 1}, {2, 2, 1}, {1, 1, 2}, {1, 1, 4}, {2, 1, 2}, {1, 2, 2}, {2, 2, 2}}
	if testing.Short() { // these show the race detector every path
		meshes = []mesh{{1, 1, 4}, {2, 2, 2}}
	}
	each(func(name string, cfg Config) {
		cfg.Model.Layers, cfg.Model.Micros = 4, 4
		for _, m := range meshes {
			f(fmt.Sprintf("%s/%s", name, m), cfg, m)
			if m.dp > 1 {
				c := cfg
				c.Zero = 1
				f(fmt.Sprintf("%s/%s/zero", name, m), c, m)
			}
			if m.tp > 1 && cfg.Model.Scheme == experiment.FullRank {
				c := cfg
				c.Model.SP = true
				f(fmt.Sprintf("%s/%s/sp", name, m), c, m)
			}
		}
	})
}

// TestMeshesAgree trains every variant under every scheme on meshes, and compares with one rank.
func TestMeshesAgree(t *testing.T) {
	base := map[string][]Result{}
	const steps = 3
	parallels(func(name string, cfg Config, m mesh) {
		variant := fmt.Sprint(cfg.Model.Variant, cfg.Model.Gate, cfg.Model.Base)
		if base[variant] == nil {
			one := cfg
			one.Zero, one.Model.SP = 0, false
			base[variant] = trainMesh(t, &reference.World{}, plain, one, mesh{1, 1, 1}, steps)
		}
		got := trainMesh(t, &reference.World{}, plain, cfg, m, steps)
		for i, want := range base[variant] {
			if d := math.Abs(got[i].Loss - want.Loss); d > 2e-6 {
				t.Errorf("%s step %d: loss %.7f differs by %.1e", name, i, got[i].Loss, d)
			}
			if d := math.Abs(got[i].GradNorm/want.GradNorm - 1); d > 1e-5 {
				t.Errorf("%s step %d: gradient norm %.7f differs by %.1e", name, i, got[i].GradNorm, d)
			}
		}
	})
}

// TestMeshesUntilWait runs messages at the earliest and at the latest moment, and behind the check decorator: an operand
// that is touched in between shows, and one that is out of bounds, aliased or not finite.
func TestMeshesUntilWait(t *testing.T) {
	parallels(func(name string, cfg Config, m mesh) {
		if m.world() < 4 {
			return
		}
		cfg.Cycles.Exact, cfg.Cycles.Merge = min(cfg.Cycles.Exact, 1), min(cfg.Cycles.Merge, 1)
		checked := func(d kernels.Device) kernels.Device {
			return check.Wrap(d, check.Options{Finite: m.pp == 4}) // where most is under way
		}
		early, late := trainMesh(t, &reference.World{}, checked, cfg, m, 2), trainMesh(t, &reference.World{Deferred: true}, plain, cfg, m, 2)
		for i := range early {
			if early[i] != late[i] {
				t.Errorf("%s step %d: %+v when messages are early, %+v when late", name, i, early[i], late[i])
			}
		}
	})
}

// recordedOn is one step on the recording device, as a rank of a mesh.
func recordedOn(t *testing.T, cfg Config, m mesh, rank int) (*record.Device, *Step) {
	t.Helper()
	dev := record.New(record.Options{})
	g, err := m.groups(t.Context(), dev, rank, func(string) kernels.UID { return kernels.UID{} })
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(m.share(cfg), dev, g)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), Input{Tokens: tokens(s.cfg.Model, 0), LR: 1e-2, Index: 1}); err != nil {
		t.Fatal(err)
	}
	return dev, s
}

// TestMeshesRaceFree finds no operand that two streams touch without an event between them, on any stage.
func TestMeshesRaceFree(t *testing.T) {
	parallels(func(name string, cfg Config, m mesh) {
		cfg.Cycles.Exact, cfg.Cycles.Merge = min(cfg.Cycles.Exact, 1), min(cfg.Cycles.Merge, 1)
		for stage := range m.pp {
			dev, _ := recordedOn(t, cfg, m, stage*m.tp*m.dp+m.tp*m.dp-1)
			for i, r := range dev.Races() {
				if i < 3 {
					t.Errorf("%s stage %d: %s", name, stage, r)
				}
			}
		}
	})
}
