"""The lab of tslab: measures programs and workloads on tslab and on other allocators. The command is `lab/lab`.

It may import what `tslab` has (tools/tslab_tools), never the reverse. Each folder imports from those above it in this
list, never from one below; the commands do not import each other.

base            processes, compiling, the machine, where things are, shapes of data: knows nothing of allocators
estimates       medians, bootstrap intervals, the randomisation test, histograms: pure functions
display         tables on a terminal, how figures look, how far a measurement is
allocators      which there are, which are here, how they get into a program, the two sides of a comparison
workloads       our own programs in C, and from what a user names to what is run
real            programs that users know, as workloads
results         from a file of results to what may be said: lines, figures of a run, runs of a case, standings
measure         cases on allocators in rounds, into a file of results; what makes figures worthless
memory          `lab rss`: the memory of a program over time
report          what was found, for readers: tables, pages of Markdown, the HTML page with its figures
request_server  `lab requests`: an HTTP server under load
epoch_cost      `lab epochs`: what epochs cost and weigh
demo            `lab demo`: a minute beside other allocators, and a verdict
campaign        what a campaign measures, and its raw results
commands        one file for each sub-command
"""
