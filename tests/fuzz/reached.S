/* A door before each function of the library, by which the program alone goes in (ld --wrap): it notes that it was used.
 * symbols.inc, made of the golden lists, has a line for each: symbol name, number. */

#if defined(__x86_64__)

.macro symbol name, number
.globl __wrap_\name
.type __wrap_\name, @function
__wrap_\name:
    movb $1, reached+\number(%rip)
    jmp __real_\name@PLT
.size __wrap_\name, . - __wrap_\name
.endm

#elif defined(__aarch64__)

.macro symbol name, number
.globl __wrap_\name
.type __wrap_\name, %function
__wrap_\name:
    adrp x16, reached
    add x16, x16, :lo12:reached
    mov w17, #1
    strb w17, [x16, #\number]
    b __real_\name
.size __wrap_\name, . - __wrap_\name
.endm

#else
#error "a door has to be written for this processor"
#endif

.text
#include "symbols.inc"

.section .rodata
.globl reached_names
reached_names:
#undef symbol
.macro named name, number
.asciz "\name"
.endm
#define symbol named
#include "symbols.inc"
.byte 0
.size reached_names, . - reached_names

.section .note.GNU-stack, "", %progbits
