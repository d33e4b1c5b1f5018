package record

import "context"

// eachChunk is how many bytes are read between two looks at the context.
const eachChunk = 1 << 20

// EachStepLine yields the step lines of one file in order. A file that is not there has none; lines
// that cannot be read are counted. The line is overwritten by the next one.
func EachStepLine(ctx context.Context, path string, yield func(*StepLine) error) (bad int, err error) {
	var l StepLine
	return eachLine(ctx, path, func(line []byte) (bool, error) {
		if l.Decode(line) != nil {
			return false, nil
		}
		return true, yield(&l)
	})
}

// EachHealthLine yields the health lines of one file in order, as EachStepLine does.
func EachHealthLine(ctx context.Context, path string, yield func(*HealthLine) error) (bad int, err error) {
	var l HealthLine
	return eachLine(ctx, path, func(line []byte) (bool, error) {
		if l.Decode(line) != nil {
			return false, nil
		}
		return true, yield(&l)
	})
}

func eachLine(ctx context.Context, path string, take func([]byte) (bool, error)) (bad int, err error) {
	t := NewTailer(path)
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return bad, err
		}
		var stop error
		more, err = t.Poll(eachChunk, func(line []byte) {
			if stop != nil {
				return
			}
			ok, e := take(line)
			if stop = e; !ok && e == nil {
				bad++
			}
		})
		if stop != nil {
			return bad, stop
		}
		if err != nil {
			return bad, err
		}
	}
	return bad, nil
}
