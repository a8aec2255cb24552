package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

// The log of one origin as its clients may think of it: a list of events, to which an event is appended once however
// often it is sent, and whose length anybody may ask for. An answered write says where the event stands; a read says
// how long the certified log is.
//
// An event stands in one place for ever. So all places can be known before any order is tried, and the state of the
// model is the length alone:
//   - The places that answers name. An event that was given two of them, or one of two events that were given the same,
//     has no moment to take effect.
//   - The places that no answer names, and that the log has all the same, must be those of events whose writes are all
//     open. Such events differ in nothing but when they were first sent, so if there is any order, there is one in
//     which the event that was sent first stands in the first of these places, and so on. Those that are left over
//     never took effect.

// places say where events stand.
type places struct {
	initialSize int
	// By event.
	placeOf map[string]place
}

type place struct {
	depth    int
	anchorID string
	// No other answer says otherwise.
	isSound bool
}

func placesOf(origin *originHistory) *places {
	known := &places{origin.initialSize, map[string]place{}}
	holderOf := map[int]string{}
	for _, one := range origin.writes {
		if one.isOpen {
			continue
		}
		here := place{one.depth, one.anchorID, one.depth >= origin.initialSize}
		if before, isKnown := known.placeOf[one.id]; isKnown {
			here.isSound = before == here
		}
		if holder, isHeld := holderOf[one.depth]; isHeld && holder != one.id {
			here.isSound = false
		}
		known.placeOf[one.id] = here
		if _, isHeld := holderOf[one.depth]; !isHeld {
			holderOf[one.depth] = one.id
		}
	}
	known.fillHoles(origin, holderOf)
	return known
}

func (p *places) fillHoles(origin *originHistory, holderOf map[int]string) {
	size := p.initialSize
	for depth := range holderOf {
		size = max(size, depth+1)
	}
	for _, one := range origin.reads {
		size = max(size, one.size)
	}
	firstSent := map[string]int64{}
	for _, one := range origin.writes {
		if _, isNamed := p.placeOf[one.id]; isNamed {
			continue
		}
		if before, isKnown := firstSent[one.id]; !isKnown || one.callUs < before {
			firstSent[one.id] = one.callUs
		}
	}
	unnamed := slices.SortedFunc(maps.Keys(firstSent), func(a, b string) int {
		return cmp.Or(cmp.Compare(firstSent[a], firstSent[b]), cmp.Compare(a, b))
	})
	for depth := p.initialSize; depth < size && len(unnamed) > 0; depth++ {
		if _, isHeld := holderOf[depth]; isHeld {
			continue
		}
		p.placeOf[unnamed[0]] = place{depth: depth, isSound: true}
		unnamed = unnamed[1:]
	}
}

func modelOf(known *places) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return known.initialSize },
		Step: func(before, input, output any) (bool, any) {
			size := before.(int)
			switch asked := input.(type) {
			case write:
				own := known.placeOf[asked.id]
				if !own.isSound || own.depth > size {
					return false, size
				}
				return true, max(size, own.depth+1)
			case read:
				return asked.size == size, size
			default:
				panic("an operation is a write or a read")
			}
		},
		DescribeOperation: func(input, output any) string { return describe(input) },
		DescribeState:     func(state any) string { return fmt.Sprintf("size %d", state) },
	}
}

func describe(input any) string {
	switch asked := input.(type) {
	case write:
		if asked.isOpen {
			return fmt.Sprintf("write %s: open", asked.id)
		}
		return fmt.Sprintf("write %s: depth %d", asked.id, asked.depth)
	case read:
		return fmt.Sprintf("read: size %d", asked.size)
	default:
		return "?"
	}
}

// operationsOf leaves out open writes that can change nothing: those of events that have no place, and all but the
// first try of the others, in whose stead the first may take effect at any time.
func operationsOf(origin *originHistory, known *places) []porcupine.Operation {
	operations := make([]porcupine.Operation, 0, len(origin.writes)+len(origin.reads))
	firstOpen := map[string]write{}
	for _, one := range origin.writes {
		if !one.isOpen {
			operations = append(operations, operation(one.client, one, one.callUs, one.endUs))
			continue
		}
		if before, isKnown := firstOpen[one.id]; !isKnown || one.callUs < before.callUs {
			firstOpen[one.id] = one
		}
	}
	for id, one := range firstOpen {
		if _, hasPlace := known.placeOf[id]; hasPlace {
			operations = append(operations, operation(one.client, one, one.callUs, math.MaxInt64))
		}
	}
	for _, one := range origin.reads {
		operations = append(operations, operation(one.client, one, one.callUs, one.endUs))
	}
	return operations
}

func operation(client int, input any, callUs, endUs int64) porcupine.Operation {
	return porcupine.Operation{ClientId: client, Input: input, Call: callUs, Return: endUs}
}
