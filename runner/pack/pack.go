// Package pack writes values of plain Go types as bytes that are read back many times faster than JSON. It is for files that
// can be made again from others at any time, like an index: bytes of one layout of a type are worthless to another one,
// which Layout tells apart.
//
// What is read may be damaged: Read never panics, and never makes more than the bytes that it was given can fill.
//
// Start reading at Codec.
package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"reflect"
	"time"
)

// Codec packs values of one type: structs, pointers, slices, maps by strings, strings, numbers, switches and times of it.
type Codec[T any] struct {
	layout uint64
	top    codec
}

// ErrDamaged is in the error about bytes that are no packed value.
var ErrDamaged = errors.New("packed value is damaged")

// codec packs values of one type below the top.
type codec struct {
	put func(dst []byte, v reflect.Value) []byte
	get func(in *reader, v reflect.Value)
}

// New makes the codec of a type, or says which part of it cannot be packed.
func New[T any]() (*Codec[T], error) {
	t := reflect.TypeFor[T]()
	h := fnv.New64a()
	c, err := codecOf(t, h, nil)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", t, err)
	}
	return &Codec[T]{h.Sum64(), c}, nil
}

// Layout tells whether bytes were packed from the same type: its fields, their names, order and types.
func (c *Codec[T]) Layout() uint64 { return c.layout }

// Append packs a value behind dst.
func (c *Codec[T]) Append(dst []byte, v *T) []byte { return c.top.put(dst, reflect.ValueOf(v).Elem()) }

// Read unpacks a value, whose strings share the memory of data.
func (c *Codec[T]) Read(data string, v *T) error {
	in := reader{rest: data}
	c.top.get(&in, reflect.ValueOf(v).Elem())
	if in.bad || in.rest != "" {
		return ErrDamaged
	}
	return nil
}

// maxDepth bounds types that hold themselves, which cannot be packed.
const maxDepth = 16

// codecOf is the codec of a type; what it is made of goes into the layout.
func codecOf(t reflect.Type, layout io.Writer, path []string) (codec, error) {
	if len(path) > maxDepth {
		return codec{}, errors.New("it holds itself")
	}
	fmt.Fprintf(layout, "%s(", t.Kind())
	defer fmt.Fprint(layout, ")")
	if t == reflect.TypeFor[time.Time]() {
		fmt.Fprint(layout, "time")
		return codec{putTime, getTime}, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return codec{putBool, getBool}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return codec{func(dst []byte, v reflect.Value) []byte { return binary.AppendVarint(dst, v.Int()) },
			func(in *reader, v reflect.Value) { v.SetInt(in.varint()) }}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return codec{func(dst []byte, v reflect.Value) []byte { return binary.AppendUvarint(dst, v.Uint()) },
			func(in *reader, v reflect.Value) { v.SetUint(in.uvarint()) }}, nil
	case reflect.Float32, reflect.Float64:
		return codec{putFloat, func(in *reader, v reflect.Value) { v.SetFloat(in.float()) }}, nil
	case reflect.String:
		return codec{func(dst []byte, v reflect.Value) []byte { return putString(dst, v.String()) },
			func(in *reader, v reflect.Value) { v.SetString(in.text()) }}, nil
	case reflect.Struct:
		return structCodec(t, layout, path)
	}
	return holderCodec(t, layout, path)
}

// holderCodec is the codec of what holds others of one type.
func holderCodec(t reflect.Type, layout io.Writer, path []string) (codec, error) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
	default:
		return codec{}, fmt.Errorf("%v is a %s", path, t.Kind())
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		fmt.Fprint(layout, "bytes")
		return codec{putBytes, getBytes}, nil
	}
	if t.Kind() == reflect.Map && t.Key().Kind() != reflect.String {
		return codec{}, fmt.Errorf("%v is a map by %s", path, t.Key())
	}
	elem, err := codecOf(t.Elem(), layout, append(path, "*"))
	if err != nil {
		return codec{}, err
	}
	switch t.Kind() {
	case reflect.Pointer:
		return pointerCodec(t, elem), nil
	case reflect.Map:
		return mapCodec(t, elem), nil
	}
	return sliceCodec(t, elem), nil
}

func structCodec(t reflect.Type, layout io.Writer, path []string) (codec, error) {
	fields := make([]codec, t.NumField())
	for i := range fields {
		f := t.Field(i)
		if !f.IsExported() {
			return codec{}, fmt.Errorf("%v: field %s of %s is not exported", path, f.Name, t)
		}
		fmt.Fprintf(layout, "%s ", f.Name)
		var err error
		if fields[i], err = codecOf(f.Type, layout, append(path, f.Name)); err != nil {
			return codec{}, err
		}
	}
	return codec{func(dst []byte, v reflect.Value) []byte {
		for i := range fields {
			dst = fields[i].put(dst, v.Field(i))
		}
		return dst
	}, func(in *reader, v reflect.Value) {
		for i := range fields {
			fields[i].get(in, v.Field(i))
		}
	}}, nil
}

func pointerCodec(t reflect.Type, elem codec) codec {
	return codec{func(dst []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(dst, 0)
		}
		return elem.put(append(dst, 1), v.Elem())
	}, func(in *reader, v reflect.Value) {
		if in.byte() == 0 || in.bad {
			v.SetZero()
			return
		}
		p := reflect.New(t.Elem())
		elem.get(in, p.Elem())
		v.Set(p)
	}}
}

func sliceCodec(t reflect.Type, elem codec) codec {
	return codec{func(dst []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(dst, 0)
		}
		dst = binary.AppendUvarint(dst, uint64(v.Len())+1)
		for i := range v.Len() {
			dst = elem.put(dst, v.Index(i))
		}
		return dst
	}, func(in *reader, v reflect.Value) {
		n, ok := in.count()
		if !ok {
			v.SetZero()
			return
		}
		s := reflect.MakeSlice(t, 0, min(n, sliceAhead))
		for i := 0; i < n && !in.bad; i++ {
			one := reflect.New(t.Elem()).Elem()
			elem.get(in, one)
			s = reflect.Append(s, one)
		}
		v.Set(s)
	}}
}

// sliceAhead bounds what is made of a slice before its elements are there.
const sliceAhead = 256

func mapCodec(t reflect.Type, elem codec) codec {
	return codec{func(dst []byte, v reflect.Value) []byte {
		if v.IsNil() {
			return append(dst, 0)
		}
		dst = binary.AppendUvarint(dst, uint64(v.Len())+1)
		for it := v.MapRange(); it.Next(); {
			dst = elem.put(putString(dst, it.Key().String()), it.Value())
		}
		return dst
	}, func(in *reader, v reflect.Value) {
		n, ok := in.count()
		if !ok {
			v.SetZero()
			return
		}
		m := reflect.MakeMap(t)
		for i := 0; i < n && !in.bad; i++ {
			key, one := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			key.SetString(in.text())
			elem.get(in, one)
			m.SetMapIndex(key, one)
		}
		v.Set(m)
	}}
}

func putString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func putBytes(dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, 0)
	}
	return append(binary.AppendUvarint(dst, uint64(v.Len())+1), v.Bytes()...)
}

func getBytes(in *reader, v reflect.Value) {
	if n, ok := in.count(); ok {
		v.SetBytes([]byte(in.take(n)))
		return
	}
	v.SetZero()
}

func putBool(dst []byte, v reflect.Value) []byte {
	if v.Bool() {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func getBool(in *reader, v reflect.Value) { v.SetBool(in.byte() != 0) }

func putFloat(dst []byte, v reflect.Value) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float()))
}

// putTime packs an instant; its zone is not part of it.
func putTime(dst []byte, v reflect.Value) []byte {
	t := v.Interface().(time.Time)
	return binary.AppendUvarint(binary.AppendVarint(dst, t.Unix()), uint64(t.Nanosecond()))
}

func getTime(in *reader, v reflect.Value) {
	seconds, nanos := in.varint(), in.uvarint()
	if nanos >= uint64(time.Second) {
		in.bad = true
		return
	}
	v.Set(reflect.ValueOf(time.Unix(seconds, int64(nanos)).UTC()))
}
