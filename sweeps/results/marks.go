package results

// Marks say what a reader must know to trust a figure. They belong to a row, a speed-up or a cell, and to whatever is
// derived from those.
type Marks struct {
	// Partial: a run that it rests on has not done all of its work. It goes on, or is Unfinished.
	Partial bool `json:"partial,omitempty"`
	// Unfinished: one ended before its work was done. It failed, was stopped, or was cancelled.
	Unfinished bool `json:"unfinished,omitempty"`
	// Overlapped: another run was at work on the machine while one ran, and slowed it.
	Overlapped bool `json:"overlapped,omitempty"`
	// Emulated: messages of one were slowed down to an emulated link, so that its times are not this machine's.
	Emulated bool `json:"emulated_link,omitempty"`
}

// Signs of marks, as text shows them.
const (
	signFront      = "*"
	signPartial    = "…"
	signOverlapped = "!"
)

// On writes the marks around a figure: "! 12.3 …".
func (k Marks) On(figure string) string {
	if k.Overlapped {
		figure = signOverlapped + " " + figure
	}
	if k.Partial {
		figure += " " + signPartial
	}
	return figure
}

// or is what is to be known of a figure that rests on two.
func (k Marks) or(o Marks) Marks {
	return Marks{k.Partial || o.Partial, k.Unfinished || o.Unfinished, k.Overlapped || o.Overlapped, k.Emulated || o.Emulated}
}

// Marks of the row's run, which hold for all of its figures; Overlapped and Emulated do for those alone that come from times.
func (r *Row) Marks() Marks {
	return Marks{r.Partial, r.Unfinished, len(r.Overlapped) > 0, r.Link() != ""}
}

// Link is the emulated link that the messages of the row's run are slowed down to; empty: none.
func (r *Row) Link() string { return r.Experiment.Parallel.Link }

// ofTime, ofWork and ofPlan are the marks of figures that come from a run's times, from what else it did, and from neither.
func ofTime(r *Row) Marks { return r.Marks() }

func ofWork(r *Row) Marks { return Marks{Partial: r.Partial, Unfinished: r.Unfinished} }

func ofPlan(*Row) Marks { return Marks{} }

func (v *Versus) marks() Marks {
	if v == nil {
		return Marks{}
	}
	return v.Marks
}
