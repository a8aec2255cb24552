package main

import (
	"reflect"
	"unsafe"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// tail reads the part of a RawNode's log that storage does not hold yet. The library keeps it private, but a driver
// must know the exact last index and terms to tell a forgotten promise from a message that is merely early. The
// fields are only ever read; newTail panics if the library's layout is not the one known here.
type tail struct {
	snapshot **pb.Snapshot
	entries  *[]*pb.Entry
	offset   *uint64
}

func newTail(raw *raft.RawNode) tail {
	unstable := reflect.ValueOf(raw).Elem().FieldByName("raft").Elem().FieldByName("raftLog").Elem().
		FieldByName("unstable")
	return tail{
		snapshot: field[*pb.Snapshot](unstable, "snapshot"),
		entries:  field[[]*pb.Entry](unstable, "entries"),
		offset:   field[uint64](unstable, "offset"),
	}
}

func field[T any](of reflect.Value, name string) *T {
	f := of.FieldByName(name)
	if f.Type() != reflect.TypeFor[T]() {
		panic("raft: field " + name + " is a " + f.Type().String())
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}

func (n *node) firstIndex() uint64 {
	if s := *n.tail.snapshot; s != nil {
		return s.GetMetadata().GetIndex() + 1
	}
	return n.storage.first()
}

func (n *node) lastIndex() uint64 {
	if count := len(*n.tail.entries); count > 0 {
		return *n.tail.offset + uint64(count) - 1
	}
	if s := *n.tail.snapshot; s != nil {
		return s.GetMetadata().GetIndex()
	}
	return n.storage.last()
}

// termAt covers [firstIndex-1, lastIndex], like the library's own log.
func (n *node) termAt(index uint64) (uint64, bool) {
	if index+1 < n.firstIndex() || index > n.lastIndex() {
		return 0, false
	}
	if offset, entries := *n.tail.offset, *n.tail.entries; index >= offset && index-offset < uint64(len(entries)) {
		return entries[index-offset].GetTerm(), true
	}
	if s := *n.tail.snapshot; s != nil && index == s.GetMetadata().GetIndex() {
		return s.GetMetadata().GetTerm(), true
	}
	term, err := n.storage.Term(index)
	return term, err == nil
}
