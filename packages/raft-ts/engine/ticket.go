package main

import (
	"encoding/binary"

	pb "go.etcd.io/raft/v3/raftpb"
)

// A payload never enters the engine. The data of a normal entry is an 8-byte ticket (a number that the host can
// resolve until the entry leaves in a Ready, and the payload's size) plus one filler byte per started KiB of payload,
// so that the library's size limits bound large payloads in KiB. An empty payload has no ticket: the library treats
// entries without data specially.
const ticketBytes = 8

func ticketed(ticket, payloadBytes uint32) []byte {
	if payloadBytes == 0 {
		return nil
	}
	data := make([]byte, ticketBytes+(int(payloadBytes)+1023)/1024)
	binary.BigEndian.PutUint32(data, ticket)
	binary.BigEndian.PutUint32(data[4:], payloadBytes)
	return data
}

func readTicket(data []byte) (ticket, payloadBytes uint32) {
	if len(data) == 0 {
		return 0, 0
	}
	return binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
}

// holdsConfChange tells the bytes of a conf change from the zeros that stand in for bytes the host has not handed in:
// no protobuf message starts with a zero byte.
func holdsConfChange(data []byte) bool { return len(data) == 0 || data[0] != 0 }

// entryBlock is an entry with what it points to, in one allocation.
type entryBlock struct {
	entry       pb.Entry
	entryType   pb.EntryType
	index, term uint64
}

func newEntry(entryType pb.EntryType, index, term uint64, data []byte) *pb.Entry {
	b := &entryBlock{entryType: entryType, index: index, term: term}
	b.entry.Type, b.entry.Index, b.entry.Term, b.entry.Data = &b.entryType, &b.index, &b.term, data
	return &b.entry
}
