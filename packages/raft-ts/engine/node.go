package main

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// The library's limits in bytes of entry data as the engine holds it: an 8-byte ticket and one filler byte per
// started KiB of payload (see ticket.go), so one unit is about one KiB of a large payload.
const (
	maxSizePerMsg             = 1024
	maxInflightBytes          = 8192
	maxInflightMsgs           = 64
	maxUncommittedEntriesSize = 16384
	maxCommittedSizePerReady  = 4096
)

// node is one RawNode and what the library leaves to its user.
type node struct {
	raw     *raft.RawNode
	storage *storage
	tail    tail
}

func newNode(r *reader) *node {
	config := &raft.Config{
		ID:                        r.u64(),
		ElectionTick:              int(r.u32()),
		HeartbeatTick:             int(r.u32()),
		Logger:                    logger{level: r.u8()},
		Applied:                   r.u64(),
		AsyncStorageWrites:        true,
		MaxSizePerMsg:             maxSizePerMsg,
		MaxCommittedSizePerReady:  maxCommittedSizePerReady,
		MaxUncommittedEntriesSize: maxUncommittedEntriesSize,
		MaxInflightMsgs:           maxInflightMsgs,
		MaxInflightBytes:          maxInflightBytes,
		CheckQuorum:               true,
		PreVote:                   true,
		ReadOnlyOption:            raft.ReadOnlySafe,
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
	}
	s := newStorage(readHardState(r), readConfState(r))
	if r.u8() != 0 {
		s.reset(readSnapshot(r))
	}
	if !s.append(readEntries(r)) {
		panic("the initial log has a gap")
	}
	config.Storage = s
	raw, err := raft.NewRawNode(config)
	if err != nil {
		panic(err)
	}
	return &node{raw: raw, storage: s, tail: newTail(raw)}
}

// propose appends one entry; the output is its (index, term).
//
// It steps the message itself instead of calling RawNode.Propose because the library answers an untimely membership
// change by replacing the entry in the message with an empty one, and the caller should know.
func (n *node) propose(entryType pb.EntryType, payload []byte) uint32 {
	basic := n.raw.BasicStatus()
	m := &pb.Message{
		Type:    pb.MsgProp.Enum(),
		From:    new(basic.ID),
		Entries: []*pb.Entry{{Type: entryType.Enum(), Data: payload}},
	}
	if status := n.refused(n.raw.Step(m)); status != statusOK {
		return status
	}
	output.u64(n.lastIndex())
	output.u64(basic.GetTerm())
	if m.Entries[0].GetType() != entryType {
		return statusConfChangeRefused
	}
	return statusOK
}

// confState is the membership in force, in the library's own order.
func (n *node) confState() *pb.ConfState {
	t := tracker.ProgressTracker{Config: n.raw.Status().Config}
	return t.ConfState()
}

// status is what every call leaves for the host.
type status struct {
	term, vote, commit, applied, lead, leadTransferee uint64
	firstIndex, lastIndex, lastTerm                   uint64
	role                                              uint64
}

func (n *node) status() status {
	s := n.raw.BasicStatus()
	last := n.lastIndex()
	lastTerm, _ := n.termAt(last)
	return status{
		term:           s.GetTerm(),
		vote:           s.GetVote(),
		commit:         s.GetCommit(),
		applied:        s.Applied,
		lead:           s.Lead,
		leadTransferee: s.LeadTransferee,
		firstIndex:     n.firstIndex(),
		lastIndex:      last,
		lastTerm:       lastTerm,
		role:           uint64(s.RaftState),
	}
}

// writeProgress writes what a leader knows of each member; nothing on a node that does not lead.
func (n *node) writeProgress(w *writer) {
	if n.raw.BasicStatus().RaftState != raft.StateLeader {
		w.u32(0)
		return
	}
	members := &writer{}
	var count uint32
	n.raw.WithProgress(func(id uint64, kind raft.ProgressType, p tracker.Progress) {
		count++
		writeMember(members, id, kind, p)
	})
	w.u32(count)
	w.buf = append(w.buf, members.buf...)
}

func writeMember(w *writer, id uint64, kind raft.ProgressType, p tracker.Progress) {
	w.u64(id)
	w.u64(p.Match)
	w.u64(p.Next)
	w.u8(uint8(p.State))
	w.bool(p.RecentActive)
	w.bool(kind == raft.ProgressTypeLearner)
}
