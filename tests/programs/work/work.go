// Work for a Go program that allocates in C: goroutines move between threads, and so does the memory.
package main

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *block_new(size_t size, int seed) {
	unsigned char *block = malloc(size);
	if (block != NULL)
		memset(block, seed, size);
	return block;
}

static int block_holds(const unsigned char *block, size_t size, int seed) {
	for (size_t i = 0; i < size; i++)
		if (block[i] != (unsigned char)seed)
			return 0;
	return 1;
}
*/
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"unsafe"
)

type block struct {
	pointer unsafe.Pointer
	size    C.size_t
	seed    C.int
}

func require(condition bool, sentence string) {
	if !condition {
		fmt.Fprintln(os.Stderr, sentence)
		os.Exit(1)
	}
}

func newBlock(number int) block {
	size := C.size_t(number*37%2000 + 1)
	if number%50 == 0 {
		size *= 40
	}
	made := block{C.block_new(size, C.int(number)), size, C.int(number)}
	require(made.pointer != nil, "malloc gave nil")
	return made
}

func (given block) release() {
	require(C.block_holds((*C.uchar)(given.pointer), given.size, given.seed) != 0, "a block is spoilt")
	C.free(given.pointer)
}

// handOver has many goroutines allocate and many others free.
func handOver() int {
	blocks := make(chan block, 1000)
	var makers, takers sync.WaitGroup
	counts := make([]int, 8)
	for i := 0; i < 8; i++ {
		makers.Add(1)
		takers.Add(1)
		go func() {
			defer makers.Done()
			for n := 0; n < 5000; n++ {
				blocks <- newBlock(n)
				if n%100 == 0 {
					runtime.Gosched()
				}
			}
		}()
		go func(taker int) {
			defer takers.Done()
			for given := range blocks {
				given.release()
				counts[taker]++
			}
		}(i)
	}
	makers.Wait()
	close(blocks)
	takers.Wait()
	total := 0
	for _, count := range counts {
		total += count
	}
	return total
}

// endThreads has goroutines end with their thread locked, which ends the thread too, and leaves the memory to others.
func endThreads() int {
	left := make(chan block, 300)
	for i := 0; i < 300; i++ {
		go func(number int) {
			runtime.LockOSThread()
			newBlock(number).release()
			left <- newBlock(number)
		}(i)
	}
	for i := 0; i < 300; i++ {
		(<-left).release()
	}
	return 300
}

func main() {
	fmt.Println(handOver())
	fmt.Println(endThreads())
	text := C.CString("a string in C")
	fmt.Println(C.GoString(text))
	C.free(unsafe.Pointer(text))
	for i := 0; i < 20; i++ {
		output, err := exec.Command("/bin/echo", "child").Output()
		require(err == nil && string(output) == "child\n", "a child failed")
	}
	garbage := [][]byte{}
	for i := 0; i < 20000; i++ {
		garbage = append(garbage, make([]byte, i%3000))
	}
	fmt.Println(len(garbage))
	fmt.Println("done")
}
