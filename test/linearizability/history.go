package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// The lines of a history. Times are microseconds of one monotonic clock.
const (
	typeOrigin = "origin"
	typeWrite  = "write"
	typeRead   = "read"
	typeFault  = "fault"
)

// line is any line of a history; which fields it must have goes by its type.
type line struct {
	Type   string `json:"type"`
	Origin string `json:"origin"`
	Client int    `json:"client"`
	// write: the client's own id of the event.
	ID string `json:"id"`
	// write, when it was answered: where the event stands. Absent: the outcome is open.
	AnchorID string `json:"anchor_id"`
	Depth    *int   `json:"depth"`
	// read: leaves of the newest certified tree. origin: leaves when the history begins.
	Size     *int   `json:"size"`
	CallUs   *int64 `json:"call_us"`
	ReturnUs *int64 `json:"return_us"`
	// fault: when it struck, and which it was.
	AtUs *int64 `json:"at_us"`
	Name string `json:"name"`
}

type write struct {
	client        int
	id            string
	anchorID      string
	depth         int
	isOpen        bool
	callUs, endUs int64
}

type read struct {
	client        int
	size          int
	callUs, endUs int64
}

// originHistory is what happened to the log of one origin.
type originHistory struct {
	initialSize int
	writes      []write
	reads       []read
}

type history struct {
	origins map[string]*originHistory
	// When the first fault struck.
	firstFaultUs int64
	faults       int
}

func readHistory(source io.Reader) (*history, error) {
	read := &history{origins: map[string]*originHistory{}, firstFaultUs: math.MaxInt64}
	scanner := bufio.NewScanner(source)
	scanner.Buffer(make([]byte, 64*1024), 1024*1024)
	for number := 1; scanner.Scan(); number++ {
		var one line
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if err := read.add(one); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return read, scanner.Err()
}

func (h *history) add(one line) error {
	switch one.Type {
	case typeFault:
		if one.AtUs == nil {
			return fmt.Errorf("a fault without a time")
		}
		h.faults++
		h.firstFaultUs = min(h.firstFaultUs, *one.AtUs)
		return nil
	case typeOrigin:
		if one.Size == nil || h.origins[one.Origin] != nil {
			return fmt.Errorf("an origin has one size at the beginning")
		}
		h.origins[one.Origin] = &originHistory{initialSize: *one.Size}
		return nil
	}
	origin := h.origins[one.Origin]
	if origin == nil {
		return fmt.Errorf("nothing was said of origin %q before", one.Origin)
	}
	switch one.Type {
	case typeWrite:
		return origin.addWrite(one)
	case typeRead:
		return origin.addRead(one)
	default:
		return fmt.Errorf("a line of type %q", one.Type)
	}
}

func (o *originHistory) addWrite(one line) error {
	if one.ID == "" || one.CallUs == nil {
		return fmt.Errorf("a write has an id and a beginning")
	}
	added := write{client: one.Client, id: one.ID, isOpen: true, callUs: *one.CallUs, endUs: math.MaxInt64}
	if one.ReturnUs != nil {
		if one.Depth == nil || one.AnchorID == "" || *one.ReturnUs < *one.CallUs {
			return fmt.Errorf("a write that was answered has a depth, an anchor, and an end after its beginning")
		}
		added.isOpen = false
		added.endUs = *one.ReturnUs
		added.depth = *one.Depth
		added.anchorID = one.AnchorID
	}
	o.writes = append(o.writes, added)
	return nil
}

func (o *originHistory) addRead(one line) error {
	if one.Size == nil || one.CallUs == nil || one.ReturnUs == nil || *one.ReturnUs < *one.CallUs {
		return fmt.Errorf("a read has a size, a beginning and an end after it")
	}
	o.reads = append(o.reads, read{one.Client, *one.Size, *one.CallUs, *one.ReturnUs})
	return nil
}

// loadBeforeFault says how many writes were acknowledged and how many reads answered before the first fault struck.
func (h *history) loadBeforeFault() (writes, reads int) {
	for _, origin := range h.origins {
		for _, one := range origin.writes {
			if !one.isOpen && one.endUs <= h.firstFaultUs {
				writes++
			}
		}
		for _, one := range origin.reads {
			if one.endUs <= h.firstFaultUs {
				reads++
			}
		}
	}
	return writes, reads
}
