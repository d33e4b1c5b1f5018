package trainer

import (
	"errors"
	"fmt"

	"boost-tui/docs"
	"boost-tui/experiment"
	"boost-tui/trainer/data"
)

// Training is the data of an experiment: what is trained on, and what is evaluated on.
type Training struct {
	all, eval   *data.Data   // eval: nil where it is a part of all
	train, held *data.Stream // held: nil where nothing is evaluated
}

// OpenTraining opens the data of a resolved experiment. Errors name files, and what to do.
func OpenTraining(e experiment.Experiment) (*Training, error) {
	t := &Training{}
	err := t.open(e)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Training) open(e experiment.Experiment) (err error) {
	if t.all, err = openData(e, e.Train.Data); err != nil {
		return err
	}
	switch {
	case e.Train.EvalEvery == 0:
		t.train, err = t.all.All()
		return err
	case e.Train.EvalData == "":
		t.train, t.held, err = t.all.Split()
		return err
	}
	if t.eval, err = openData(e, e.Train.EvalData); err != nil {
		return fmt.Errorf("eval-data: %w", err)
	}
	if t.train, err = t.all.All(); err != nil {
		return err
	}
	if t.held, err = t.eval.All(); err != nil {
		return fmt.Errorf("eval-data: %w", err)
	}
	return nil
}

func openData(e experiment.Experiment, text string) (*data.Data, error) {
	named, err := experiment.ParseData(text)
	if err != nil {
		return nil, err
	}
	parts := make([]data.Part, len(named))
	for i, n := range named {
		parts[i] = data.Part{Path: n.Path, Weight: n.Weight}
	}
	var ends []int32
	if id, there := e.EndOfDocument(); there {
		ends = []int32{id}
	}
	return data.OpenParts(parts, data.Options{Ends: ends, Vocab: e.Model.Vocab, Seq: e.Step.Seq, DType: e.Train.DataDType, Separate: e.Train.Documents == experiment.Separated,
		Embedded: docs.FS, EmbeddedPath: experiment.DataEmbedded, EmbeddedName: "the embedded documentation"})
}

// Close closes all files.
func (t *Training) Close() error {
	var errs []error
	for _, d := range []*data.Data{t.all, t.eval} {
		if d != nil {
			errs = append(errs, d.Close())
		}
	}
	return errors.Join(errs...)
}
