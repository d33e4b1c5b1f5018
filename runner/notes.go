package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"boost-tui/runner/protocol"
)

// notesFile is notes.json: what the user says about a run afterwards. run.json stays as it was written.
type notesFile struct {
	Schema   int      `json:"schema"`
	Tags     []string `json:"tags"`
	Note     string   `json:"note,omitempty"`
	Archived bool     `json:"archived,omitempty"`
}

// Bounds of what a user may attach to a run.
const (
	maxTags      = 64
	maxTagBytes  = 64
	maxNoteBytes = 16 << 10
)

const (
	notesLock = ".notes.lock"
	// notesPatience is how long a change of notes waits for another one.
	notesPatience = lockStale + 5*time.Second
)

// CheckTags says which of some words cannot be a tag.
func CheckTags(words []string) error {
	for _, t := range words {
		if t == "" || len(t) > maxTagBytes || strings.ContainsAny(t, ", \t\n") || clean(t, maxTagBytes) != t {
			return fmt.Errorf("%q cannot be a tag: it must be one printable word of at most %d bytes, without commas", clean(t, 40), maxTagBytes)
		}
	}
	return nil
}

// Tag adds and removes tags of a run. A tag is one word without commas.
func (s *Store) Tag(id string, add, remove []string) error {
	if err := CheckTags(add); err != nil {
		return err
	}
	return s.annotate(id, func(n *notesFile) error {
		n.Tags = slices.DeleteFunc(n.Tags, func(t string) bool { return slices.Contains(remove, t) })
		for _, t := range add {
			if !slices.Contains(n.Tags, t) {
				n.Tags = append(n.Tags, t)
			}
		}
		if len(n.Tags) > maxTags {
			return fmt.Errorf("a run has at most %d tags", maxTags)
		}
		return nil
	})
}

// Note replaces the note of a run; empty removes it.
func (s *Store) Note(id, text string) error {
	if len(text) > maxNoteBytes {
		return fmt.Errorf("a note has at most %d bytes", maxNoteBytes)
	}
	return s.annotate(id, func(n *notesFile) error {
		n.Note = text
		return nil
	})
}

// Archive takes a run out of the lists that do not ask for archived ones, or puts it back. Nothing else changes.
func (s *Store) Archive(id string, archived bool) error {
	return s.annotate(id, func(n *notesFile) error {
		n.Archived = archived
		return nil
	})
}

func (s *Store) annotate(id string, edit func(*notesFile) error) error {
	in, err := s.Load(id)
	if err != nil {
		return err
	}
	if !in.Mine() {
		return fmt.Errorf("run %s is left as it is: it belongs to %s", in.ID, in.Owner())
	}
	// Two programs that change notes at once, on two login nodes perhaps, must not undo each other.
	lock, err := takeOwnLock(filepath.Join(in.Dir, notesLock), notesPatience)
	if err != nil {
		return fmt.Errorf("run %s is left as it is: %w", in.ID, err)
	}
	defer lock.Release()
	if in, err = s.Load(in.ID); err != nil {
		return err
	}
	if in.Err != nil {
		return fmt.Errorf("run %s is left as it is: %w", in.ID, in.Err)
	}
	n := notesFile{Schema: Schema, Tags: slices.Clone(in.Tags), Note: in.Note, Archived: in.Archived}
	if err := edit(&n); err != nil {
		return err
	}
	data, err := json.MarshalIndent(n, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", protocol.NotesFile, err)
	}
	if err := lock.Held(); err != nil {
		return fmt.Errorf("run %s is left as it is: %w", in.ID, err)
	}
	return writeIn(in.Dir, protocol.NotesFile, append(data, '\n'))
}

// readNotes reads notes.json; ok is false where there is none.
func readNotes(dir string) (n notesFile, ok bool, err error) {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.NotesFile), maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return n, false, nil
	}
	if err == nil {
		n, err = parseNotes(data)
	}
	return n, err == nil, err
}

func parseNotes(data []byte) (notesFile, error) {
	var n notesFile
	err := json.Unmarshal(data, &n)
	if newer := newerSchema(data); newer > Schema {
		return n, fmt.Errorf("%s has schema %d, this program reads up to %d: %w", protocol.NotesFile, newer, Schema, ErrNewerSchema)
	}
	if err != nil {
		return n, fmt.Errorf("%s is damaged: %w", protocol.NotesFile, err)
	}
	if len(n.Tags) > maxTags || len(n.Note) > maxNoteBytes || slices.ContainsFunc(n.Tags, func(t string) bool { return len(t) > maxTagBytes }) {
		return notesFile{}, fmt.Errorf("%s is damaged: it holds more than %d tags of %d bytes and a note of %d", protocol.NotesFile, maxTags, maxTagBytes, maxNoteBytes)
	}
	return n, nil
}
