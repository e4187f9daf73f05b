package tslab

import (
	"bytes"
	"sync"
	"testing"
)

func TestReleaseEndsAllAtOnce(t *testing.T) {
	request, err := Open("request", Release)
	if err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for worker := 0; worker < 4; worker++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := 0; i < 1000; i++ {
				text, err := request.CString("a text for C")
				if err != nil || length(text) != 12 {
					t.Error(err, length(text))
				}
			}
		}()
	}
	workers.Wait()
	if survivors, err := request.Close(); err != nil || survivors != 4000 {
		t.Error(survivors, err)
	}
	if _, err := request.Close(); err == nil {
		t.Error("a second close is not refused")
	}
	if _, err := request.Bytes(1); err == nil {
		t.Error("a closed epoch allocates")
	}
}

func TestDrainKeepsSurvivors(t *testing.T) {
	epoch, err := Open("import", Drain)
	if err != nil {
		t.Fatal(err)
	}
	gone, _ := epoch.Bytes(100)
	kept, _ := epoch.Bytes(100_000)
	Free(gone)
	copy(kept, "a survivor")
	if survivors, err := epoch.Close(); err != nil || survivors != 1 {
		t.Error(survivors, err)
	}
	if !bytes.HasPrefix(kept, []byte("a survivor")) {
		t.Error("the survivor has lost its contents")
	}
	Free(kept)
}
