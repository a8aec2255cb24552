package main

import (
	"sort"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// storage implements raft.Storage over metadata only: it mirrors what the host has made durable and makes up entry
// data of the right length when the library reads entries back.
type storage struct {
	hardState *pb.HardState
	// confState is the membership at the applied index when the node was created.
	confState *pb.ConfState
	// snapshot is the compaction point. Its index is 0 while the log is whole.
	snapshot *pb.Snapshot
	// sizes[i] is the payload size in bytes of entry base()+1+i.
	sizes []uint32
	// runs are the terms of those entries: a run reaches to the next run's start. Sorted by start.
	runs []termRun
	// changes holds the payload of each conf change in the log, nil where the host has not handed it in.
	changes map[uint64][]byte
}

type termRun struct{ start, term uint64 }

var _ raft.Storage = (*storage)(nil)

func newStorage(hardState *pb.HardState, confState *pb.ConfState) *storage {
	return &storage{
		hardState: hardState,
		confState: confState,
		snapshot:  newSnapshot(0, 0, confState),
		changes:   map[uint64][]byte{},
	}
}

func newSnapshot(index, term uint64, confState *pb.ConfState) *pb.Snapshot {
	return &pb.Snapshot{Metadata: &pb.SnapshotMetadata{Index: &index, Term: &term, ConfState: confState}}
}

func (s *storage) base() uint64  { return s.snapshot.GetMetadata().GetIndex() }
func (s *storage) first() uint64 { return s.base() + 1 }
func (s *storage) last() uint64  { return s.base() + uint64(len(s.sizes)) }

func (s *storage) InitialState() (*pb.HardState, *pb.ConfState, error) {
	return s.hardState, s.confState, nil
}

func (s *storage) FirstIndex() (uint64, error) { return s.first(), nil }
func (s *storage) LastIndex() (uint64, error)  { return s.last(), nil }

func (s *storage) Term(index uint64) (uint64, error) {
	switch {
	case index < s.base():
		return 0, raft.ErrCompacted
	case index > s.last():
		return 0, raft.ErrUnavailable
	case index == s.base():
		return s.snapshot.GetMetadata().GetTerm(), nil
	}
	return s.runs[s.runOf(index)].term, nil
}

// runOf returns the position of the run that holds index, which must be in the log.
func (s *storage) runOf(index uint64) int {
	return sort.Search(len(s.runs), func(i int) bool { return s.runs[i].start > index }) - 1
}

func (s *storage) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	switch {
	case lo <= s.base():
		return nil, raft.ErrCompacted
	case hi > s.last()+1:
		return nil, raft.ErrUnavailable
	}
	var entries []*pb.Entry
	var size uint64
	for index, run := lo, s.runOf(lo); index < hi; index++ {
		if run+1 < len(s.runs) && s.runs[run+1].start == index {
			run++
		}
		e := s.entry(index, s.runs[run].term)
		if size += uint64(proto.Size(e)); size > maxSize && len(entries) > 0 {
			break
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (s *storage) entry(index, term uint64) *pb.Entry {
	size := s.sizes[index-s.first()]
	change, ok := s.changes[index]
	switch {
	case !ok:
		return newEntry(pb.EntryNormal, index, term, ticketed(0, size))
	case change == nil:
		return newEntry(pb.EntryConfChangeV2, index, term, make([]byte, size))
	default:
		return newEntry(pb.EntryConfChangeV2, index, term, change)
	}
}

func (s *storage) Snapshot() (*pb.Snapshot, error) {
	if s.base() == 0 {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return s.snapshot, nil
}

// append replaces the suffix that starts at the first entry's index. It refuses, and changes nothing, when that would
// leave a gap or reach below the compaction point.
func (s *storage) append(entries []metadata) bool {
	if len(entries) == 0 {
		return true
	}
	from := entries[0].index
	if from <= s.base() || from > s.last()+1 {
		return false
	}
	for i, e := range entries {
		if e.index != from+uint64(i) {
			return false
		}
	}
	s.truncate(from)
	for _, e := range entries {
		if len(s.runs) == 0 || s.runs[len(s.runs)-1].term != e.term {
			s.runs = append(s.runs, termRun{start: e.index, term: e.term})
		}
		s.sizes = append(s.sizes, e.payloadBytes)
		if e.confChange {
			s.changes[e.index] = e.payload
		}
	}
	return true
}

// truncate drops the entries at and after from.
func (s *storage) truncate(from uint64) {
	if from > s.last() {
		return
	}
	s.sizes = s.sizes[:from-s.first()]
	for len(s.runs) > 0 && s.runs[len(s.runs)-1].start >= from {
		s.runs = s.runs[:len(s.runs)-1]
	}
	for index := range s.changes {
		if index >= from {
			delete(s.changes, index)
		}
	}
}

// reset replaces the log by a snapshot.
func (s *storage) reset(snapshot *pb.Snapshot) {
	s.snapshot = snapshot
	s.sizes, s.runs = nil, nil
	clear(s.changes)
}

// compact drops the entries up to and including index, which becomes the snapshot served to followers.
func (s *storage) compact(index uint64, confState *pb.ConfState) bool {
	term, err := s.Term(index)
	if err != nil || index == 0 {
		return false
	}
	if index > s.base() {
		// The slices are copied so that the memory of the dropped entries is given back.
		s.runs = s.runsAfter(index)
		s.sizes = append([]uint32(nil), s.sizes[index-s.base():]...)
		for i := range s.changes {
			if i <= index {
				delete(s.changes, i)
			}
		}
	}
	s.snapshot = newSnapshot(index, term, confState)
	return true
}

func (s *storage) runsAfter(index uint64) []termRun {
	if index == s.last() {
		return nil
	}
	runs := append([]termRun(nil), s.runs[s.runOf(index+1):]...)
	runs[0].start = index + 1
	return runs
}
