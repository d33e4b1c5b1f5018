package cpu

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"boost-tui/kernels"
)

// groups are a rank's communicators in a mesh of 2 x 2 x 2, tp fastest, then dp, then pp.
type groups struct{ tp, dp, pp kernels.Comm }

// joinGroups joins all three, one after the other. The first member of a group makes its identity.
func joinGroups(d kernels.Device, rank int, ids map[string]chan kernels.UID) (g groups, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for i, c := range []*kernels.Comm{&g.tp, &g.dp, &g.pp} {
		place := rank >> i & 1
		name := []string{"tp", "dp", "pp"}[i]
		ch := ids[fmt.Sprint(name, rank&^(1<<i))]
		if place == 0 {
			id, err := d.UID()
			if err != nil {
				return g, err
			}
			ch <- id
			ch <- id
		}
		if *c, err = d.Join(ctx, <-ch, 2, place, name); err != nil {
			return g, err
		}
	}
	return g, nil
}

// groupIDs are where the first members of groups leave identities.
func groupIDs() map[string]chan kernels.UID {
	ids := map[string]chan kernels.UID{}
	for rank := range 8 {
		for _, name := range []string{"tp", "dp", "pp"} {
			ids[fmt.Sprint(name, rank)] = make(chan kernels.UID, 2)
		}
	}
	return ids
}

// Messages of three groups are under way at once, each on a stream of its own, waited for in another order than they
// were issued in, while compute goes on.
func TestGroupsOverlap(t *testing.T) {
	ids := groupIDs()
	for rank, err := range devices(t, 8, kernels.Link{}, func(r *rig, rank int) error {
		g, err := joinGroups(r, rank, ids)
		if err != nil {
			return err
		}
		return overlapping(r, rank, g)
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

func overlapping(r *rig, rank int, g groups) error {
	x, err := issuer(r)
	if err != nil {
		return err
	}
	grads, latent, act, next := r.symmetric(200003), r.symmetric(4099), r.symmetric(501), r.symmetric(501)
	busy := r.matrix(64, 64, 0)
	for round := range 30 {
		r.fillBy(grads, func(i int) float64 { return float64(rank + i%13 + round) })
		r.fillBy(latent, func(i int) float64 { return float64(rank*3 + i%7 + round) })
		r.fillBy(act, func(i int) float64 { return float64(rank*5 + i%3 + round) })
		bucket := x.StartReduce("bucket", g.dp, grads)
		in := x.StartRecv("act", g.pp, 1-g.pp.Rank(), next)
		out := x.StartSend("act", g.pp, 1-g.pp.Rank(), act)
		x.Reduce("latent", g.tp, latent)
		x.Do("work", &kernels.Gemm{Alpha: 1, A: busy, B: busy, D: r.matrix(64, 64, 0)})
		in.Wait()
		bucket.Wait()
		out.Wait()
		if x.Err() != nil {
			return x.Err()
		}
		both := func(bit, factor, period int) func(int) float64 {
			return func(i int) float64 {
				return float64(factor*rank + factor*(rank^bit) + 2*(i%period+round))
			}
		}
		err := errors.Join(r.expect("latent", latent, both(1, 3, 7)), r.expect("bucket", grads, both(2, 1, 13)),
			r.expect("act", next, func(i int) float64 { return float64((rank^4)*5 + i%3 + round) }))
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}
