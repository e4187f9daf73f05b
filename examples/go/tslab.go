// Package tslab has epochs of the tslab memory allocator for memory of C: what a program hands to libraries of C, or keeps
// away from Go's garbage collector.
//
// Go's own memory is not tslab's. cgo compiles the allocator itself: put tslab.c and tslab.h (`make amalgamation`) beside this
// file.
package tslab

/*
#cgo CFLAGS: -O2
#cgo LDFLAGS: -pthread -ldl
#include <stdlib.h>
#include <string.h>
#include "tslab.h"

static tslab_epoch open_epoch(const char *label, int releases) {
	const struct tslab_epoch_options options = {
		.label = label,
		.policy = releases ? TSLAB_POLICY_RELEASE : TSLAB_POLICY_DRAIN,
	};
	return tslab_epoch_open(&options);
}
static int close_epoch(tslab_epoch epoch, struct tslab_epoch_report *report) {
	return tslab_epoch_close(epoch, 0, report);
}
*/
import "C"

import (
	"errors"
	"unsafe"
)

// Policy says what becomes of the objects that are alive when their epoch is closed.
type Policy int

const (
	Drain   Policy = iota // They stay valid. Their memory comes back as they are freed.
	Release               // They end, without a single free. Nobody may use them after the close.
)

var errNoMemory = errors.New("tslab: out of memory")

// Epoch is a lifetime whose memory comes back as a whole. Goroutines move among threads, so nobody enters it: allocations name
// it. Any number of goroutines may use one at once.
type Epoch struct{ name C.tslab_epoch }

// Open opens an epoch. The label is for reports.
func Open(label string, policy Policy) (Epoch, error) {
	text := C.CString(label)
	defer C.free(unsafe.Pointer(text))
	releases := C.int(0)
	if policy == Release {
		releases = 1
	}
	name := C.open_epoch(text, releases)
	if name.id == 0 {
		return Epoch{}, errNoMemory
	}
	return Epoch{name}, nil
}

// Bytes allocates memory that reads as zero. Like all memory of C, it must hold no pointers of Go's.
func (epoch Epoch) Bytes(size int) ([]byte, error) {
	p := C.tslab_epoch_calloc(epoch.name, 1, C.size_t(size))
	if p == nil {
		return nil, errNoMemory
	}
	return unsafe.Slice((*byte)(p), size), nil
}

// CString copies a text for a function of C.
func (epoch Epoch) CString(text string) (*C.char, error) {
	bytes, err := epoch.Bytes(len(text) + 1)
	if err != nil {
		return nil, err
	}
	copy(bytes, text)
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(bytes))), nil
}

// Free frees what Bytes returned, while the epoch is open or drains.
func Free(bytes []byte) {
	C.tslab_free(unsafe.Pointer(unsafe.SliceData(bytes)))
}

// Close ends the epoch, and tells how many objects were alive.
func (epoch Epoch) Close() (survivors uint64, err error) {
	var report C.struct_tslab_epoch_report
	if status := C.close_epoch(epoch.name, &report); status < 0 {
		return 0, errors.New("tslab: " + C.GoString(C.tslab_status_text(C.enum_tslab_status(status))))
	}
	return uint64(report.survivors), nil
}

// Length is that of a text of C: a library's function, which the test calls.
func length(text *C.char) int { return int(C.strlen(text)) }

// Version is that of the allocator.
func Version() string { return C.GoString(C.tslab_version()) }
