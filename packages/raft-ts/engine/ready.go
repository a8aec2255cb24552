package main

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

const (
	readySoftState uint8 = 1
	readyAppend    uint8 = 2
	readyApply     uint8 = 4
)

// writeReady splits the messages of a Ready by where they go: the two local storage threads get one message each at
// most, and these repeat the Ready's other fields (entries, hard state, snapshot), which are therefore not written.
func writeReady(w *writer, rd raft.Ready) {
	var toAppend, toApply *pb.Message
	outgoing := make([]*pb.Message, 0, len(rd.Messages))
	for _, m := range rd.Messages {
		switch m.GetTo() {
		case raft.LocalAppendThread:
			toAppend = m
		case raft.LocalApplyThread:
			toApply = m
		default:
			outgoing = append(outgoing, m)
		}
	}
	w.u8(readyFlags(rd, toAppend, toApply))
	if rd.SoftState != nil {
		w.u64(rd.SoftState.Lead)
		w.u8(uint8(rd.SoftState.RaftState))
	}
	w.u32(uint32(len(rd.ReadStates)))
	for _, read := range rd.ReadStates {
		w.u64(read.Index)
		w.bytes(read.RequestCtx)
	}
	writeMessages(w, outgoing)
	if toAppend != nil {
		writeAppend(w, toAppend)
	}
	if toApply != nil {
		writeEntries(w, toApply.Entries)
		writeMessages(w, toApply.Responses)
	}
}

func readyFlags(rd raft.Ready, toAppend, toApply *pb.Message) (flags uint8) {
	if rd.SoftState != nil {
		flags |= readySoftState
	}
	if toAppend != nil {
		flags |= readyAppend
	}
	if toApply != nil {
		flags |= readyApply
	}
	return flags
}

func writeAppend(w *writer, m *pb.Message) {
	writeEntries(w, m.Entries)
	// The library sets all three fields or none.
	hasHardState := m.GetTerm() != 0 || m.GetVote() != 0 || m.GetCommit() != 0
	w.bool(hasHardState)
	if hasHardState {
		w.u64(m.GetTerm())
		w.u64(m.GetVote())
		w.u64(m.GetCommit())
	}
	w.bool(m.Snapshot != nil)
	if m.Snapshot != nil {
		writeSnapshot(w, m.Snapshot)
	}
	writeMessages(w, m.Responses)
}

func writeMessages(w *writer, messages []*pb.Message) {
	w.u32(uint32(len(messages)))
	for _, m := range messages {
		writeMessage(w, m)
	}
}
