package main

import pb "go.etcd.io/raft/v3/raftpb"

// How an entry's data is written, in both directions.
const (
	// entryNormal: the payload's size and ticket.
	entryNormal uint8 = iota
	// entryConfChangeBytes: the bytes of a conf change.
	entryConfChangeBytes
	// entryConfChangeSize: the size of a conf change whose bytes only the host has.
	entryConfChangeSize
	// entryRaw: the bytes of a read request's context.
	entryRaw
)

const (
	flagReject   uint8 = 1
	flagSnapshot uint8 = 2
)

// metadata is an entry as the storage mirror keeps it.
type metadata struct {
	index, term  uint64
	confChange   bool
	payloadBytes uint32
	payload      []byte
}

// messageBlock is a message with what it points to, in one allocation.
type messageBlock struct {
	message                                                  pb.Message
	messageType                                              pb.MessageType
	from, to, term, logTerm, index, commit, vote, rejectHint uint64
	reject                                                   bool
}

func readMessage(r *reader) *pb.Message {
	b := &messageBlock{messageType: pb.MessageType(r.u8())}
	flags := r.u8()
	b.from, b.to, b.term, b.logTerm = r.u64(), r.u64(), r.u64(), r.u64()
	b.index, b.commit, b.vote, b.rejectHint = r.u64(), r.u64(), r.u64(), r.u64()
	b.reject = flags&flagReject != 0
	m := &b.message
	m.Type, m.From, m.To, m.Term, m.LogTerm = &b.messageType, &b.from, &b.to, &b.term, &b.logTerm
	m.Index, m.Commit, m.Vote, m.RejectHint, m.Reject = &b.index, &b.commit, &b.vote, &b.rejectHint, &b.reject
	m.Context = r.copied(int(r.u32()))
	if count := r.u32(); count > 0 {
		m.Entries = make([]*pb.Entry, count)
		for i := range m.Entries {
			m.Entries[i] = readEntry(r)
		}
	}
	if flags&flagSnapshot != 0 {
		m.Snapshot = readSnapshot(r)
	}
	return m
}

func readEntry(r *reader) *pb.Entry {
	index, term := r.u64(), r.u64()
	switch kind := r.u8(); kind {
	case entryNormal:
		payloadBytes := r.u32()
		return newEntry(pb.EntryNormal, index, term, ticketed(r.u32(), payloadBytes))
	case entryConfChangeBytes:
		return newEntry(pb.EntryConfChangeV2, index, term, r.copied(int(r.u32())))
	case entryConfChangeSize:
		return newEntry(pb.EntryConfChangeV2, index, term, make([]byte, r.u32()))
	case entryRaw:
		return newEntry(pb.EntryNormal, index, term, r.copied(int(r.u32())))
	default:
		panic("unknown kind of entry")
	}
}

// readEntries reads what the mirror keeps of entries; tickets mean nothing there.
func readEntries(r *reader) []metadata {
	entries := make([]metadata, r.u32())
	for i := range entries {
		e := &entries[i]
		e.index, e.term = r.u64(), r.u64()
		kind := r.u8()
		e.payloadBytes = r.u32()
		switch kind {
		case entryNormal:
			r.u32()
		case entryConfChangeBytes:
			e.confChange = true
			// Not nil even if empty: an empty conf change is complete.
			e.payload = append([]byte{}, r.take(int(e.payloadBytes))...)
		case entryConfChangeSize:
			e.confChange = true
		default:
			panic("unknown kind of entry")
		}
	}
	return entries
}

func writeMessage(w *writer, m *pb.Message) {
	var flags uint8
	if m.GetReject() {
		flags |= flagReject
	}
	if m.Snapshot != nil {
		flags |= flagSnapshot
	}
	w.u8(uint8(m.GetType()))
	w.u8(flags)
	w.u64(m.GetFrom())
	w.u64(m.GetTo())
	w.u64(m.GetTerm())
	w.u64(m.GetLogTerm())
	w.u64(m.GetIndex())
	w.u64(m.GetCommit())
	w.u64(m.GetVote())
	w.u64(m.GetRejectHint())
	w.bytes(m.Context)
	isRead := m.GetType() == pb.MsgReadIndex || m.GetType() == pb.MsgReadIndexResp
	w.u32(uint32(len(m.Entries)))
	for _, e := range m.Entries {
		writeEntry(w, e, isRead)
	}
	if m.Snapshot != nil {
		writeSnapshot(w, m.Snapshot)
	}
}

func writeEntry(w *writer, e *pb.Entry, isRead bool) {
	w.u64(e.GetIndex())
	w.u64(e.GetTerm())
	switch {
	case isRead:
		w.u8(entryRaw)
		w.bytes(e.Data)
	case e.GetType() == pb.EntryNormal:
		ticket, payloadBytes := readTicket(e.Data)
		w.u8(entryNormal)
		w.u32(payloadBytes)
		w.u32(ticket)
	case holdsConfChange(e.Data):
		w.u8(entryConfChangeBytes)
		w.bytes(e.Data)
	default:
		w.u8(entryConfChangeSize)
		w.u32(uint32(len(e.Data)))
	}
}

func writeEntries(w *writer, entries []*pb.Entry) {
	w.u32(uint32(len(entries)))
	for _, e := range entries {
		writeEntry(w, e, false)
	}
}
