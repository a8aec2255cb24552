package main

import "encoding/binary"

// reader takes fixed-width numbers from bytes that the host has encoded; running out of them is a bug on either side
// and panics.
type reader struct {
	buf []byte
	at  int
}

func (r *reader) take(count int) []byte {
	taken := r.buf[r.at : r.at+count]
	r.at += count
	return taken
}

// copied returns bytes that outlive the input buffer; nil if there are none.
func (r *reader) copied(count int) []byte {
	if count == 0 {
		return nil
	}
	return append([]byte(nil), r.take(count)...)
}

func (r *reader) u8() uint8   { return r.take(1)[0] }
func (r *reader) u32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

// writer builds the output; its memory is reused from call to call.
type writer struct{ buf []byte }

func (w *writer) reset()       { w.buf = w.buf[:0] }
func (w *writer) u8(v uint8)   { w.buf = append(w.buf, v) }
func (w *writer) u32(v uint32) { w.buf = binary.BigEndian.AppendUint32(w.buf, v) }
func (w *writer) u64(v uint64) { w.buf = binary.BigEndian.AppendUint64(w.buf, v) }

func (w *writer) bool(v bool) {
	if v {
		w.u8(1)
	} else {
		w.u8(0)
	}
}

func (w *writer) bytes(v []byte) {
	w.u32(uint32(len(v)))
	w.buf = append(w.buf, v...)
}
