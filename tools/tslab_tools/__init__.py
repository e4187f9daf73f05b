"""The command `tslab`, for who runs programs on tslab. It needs no checkout, and imports nothing of the lab's.

failure, terminal  an error that is a sentence; the terminal
files              what others wrote: how it is opened, and numbers in it
values             numbers in the words of a command
drop_in            where the library is
preloading         whether a program takes it, for the lab
tslab-run          runs a program on it
live               processes that run now: their answers, a screen of them, OpenMetrics
profiles           heap profiles that the library has written
doctor             why the memory of a process is as much as it is
commands           one file for each sub-command
cli                from words to a sub-command
"""

VERSION = "0.4.0"
