package runner

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"boost-tui/profiler/record"
	"boost-tui/runner/mirror"
	"boost-tui/runner/protocol"
)

// Folders of a host's own part of a run.
const (
	fromDir = "from" // the checkpoint that the run goes on from
	initDir = "init" // the weights that it starts with
)

// rankFile gives the number in a name like r00012.jsonl; false: it is another one.
func rankFile(name, prefix, suffix string) (rank int, ok bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, suffix); !ok {
		return 0, false
	}
	if _, err := fmt.Sscanf(digits, "%05d", &rank); err != nil || fmt.Sprintf("%05d", rank) != digits {
		return 0, false
	}
	return rank, true
}

// homeNames are the files of a run that come home from the host of a share: no host can write another one's.
func homeNames(s Share, world int) mirror.Names {
	first, end := s.ranks(world)
	own := func(name, prefix, suffix string) bool {
		rank, ok := rankFile(name, prefix, suffix)
		return ok && rank >= first && rank < end
	}
	health, _ := filepath.Rel("/", record.HealthPath("/", s.Name))
	return func(name string) mirror.Class {
		folder, file := path.Split(name)
		switch folder {
		case "":
			return homeFile(file, s)
		case "steps/", "log/", "timeline/":
			if own(file, "r", map[string]string{"steps/": ".jsonl", "log/": ".log", "timeline/": ".btl"}[folder]) {
				return mirror.Growing
			}
		case "health/":
			if name == health {
				return mirror.Growing
			}
		case "exit/":
			if own(file, "r", ".json") {
				return mirror.Entire
			}
		}
		if _, ok := partOf(folder); ok {
			switch {
			case own(file, "r", ".safetensors"):
				return mirror.Bulk
			case own(file, ".r", ".json"), file == protocol.CheckpointDraft && s.leads():
				return mirror.Entire
			}
		}
		return mirror.None
	}
}

// homeFile is about files that lie in the run's folder itself.
func homeFile(file string, s Share) mirror.Class {
	switch file {
	case hostLog(s.Host):
		return mirror.Growing
	case filepath.Base(hostPath("", s.Host)), protocol.ResultFile:
		return mirror.Entire
	case filepath.Base(protocol.PartPath("", s.Host)):
		if !s.leads() {
			return mirror.Entire
		}
	case filepath.Base(record.EventsPath("")):
		if s.leads() {
			return mirror.Growing
		}
	case protocol.AgentFile, protocol.HeartbeatFile, protocol.MeetFile, protocol.HostsFile, protocol.StoppedFile:
		if s.leads() {
			return mirror.Entire
		}
	}
	return mirror.None
}

// partOf is the step of a folder ckpt/part-N/.
func partOf(folder string) (step int, ok bool) {
	name, ok := strings.CutPrefix(folder, protocol.CheckpointDir+"/"+protocol.CheckpointPart)
	if !ok {
		return 0, false
	}
	name = strings.TrimSuffix(name, "/")
	if _, err := fmt.Sscanf(name, "%d", &step); err != nil || step < 0 || fmt.Sprint(step) != name {
		return 0, false
	}
	return step, true
}

// awayNames are the files that a host of a share is given.
func awayNames(s Share) mirror.Names {
	return func(name string) mirror.Class {
		switch folder, file := path.Split(name); folder {
		case "":
			if file == protocol.RunFile || file == protocol.MeetFile && !s.leads() {
				return mirror.Entire
			}
		case fromDir + "/", initDir + "/":
			return mirror.Growing
		case protocol.CheckpointDir + "/":
			if _, ok := partOf(name); ok {
				return mirror.Folder
			}
		}
		return mirror.None
	}
}
