package main

import (
	"fmt"
	"unsafe"

	"go.etcd.io/raft/v3"
)

// Levels of the host; levelOff keeps lines from being formatted at all.
const (
	levelDebug uint8 = iota
	levelInfo
	levelWarning
	levelError
	levelOff
)

//go:wasmimport raft_host log
func hostLog(level uint32, text unsafe.Pointer, size uint32)

// logger hands lines to the host, and lets nothing but a panic of this RawNode come of Panic and Fatal.
type logger struct{ level uint8 }

var _ raft.Logger = logger{}

func (l logger) print(level uint8, v []any) {
	if level >= l.level && l.level != levelOff {
		send(level, fmt.Sprint(v...))
	}
}

func (l logger) printf(level uint8, format string, v []any) {
	if level >= l.level && l.level != levelOff {
		send(level, fmt.Sprintf(format, v...))
	}
}

func send(level uint8, text string) {
	hostLog(uint32(level), unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
}

func (l logger) Debug(v ...any)                   { l.print(levelDebug, v) }
func (l logger) Debugf(format string, v ...any)   { l.printf(levelDebug, format, v) }
func (l logger) Info(v ...any)                    { l.print(levelInfo, v) }
func (l logger) Infof(format string, v ...any)    { l.printf(levelInfo, format, v) }
func (l logger) Warning(v ...any)                 { l.print(levelWarning, v) }
func (l logger) Warningf(format string, v ...any) { l.printf(levelWarning, format, v) }
func (l logger) Error(v ...any)                   { l.print(levelError, v) }
func (l logger) Errorf(format string, v ...any)   { l.printf(levelError, format, v) }
func (l logger) Fatal(v ...any)                   { panic(fmt.Sprint(v...)) }
func (l logger) Fatalf(format string, v ...any)   { panic(fmt.Sprintf(format, v...)) }
func (l logger) Panic(v ...any)                   { panic(fmt.Sprint(v...)) }
func (l logger) Panicf(format string, v ...any)   { panic(fmt.Sprintf(format, v...)) }
