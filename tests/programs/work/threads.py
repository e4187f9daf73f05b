"""Twenty threads that are alive at once, each with work that allocates."""

import threading

COUNT = 20
together = threading.Barrier(COUNT)
results = []


def work(number):
    together.wait()
    values = {str(i): [i] * (i % 20) for i in range(3000)}
    block = bytearray(1 << 20)
    block[number] = 1
    together.wait()
    results.append(len(values) + sum(block))


threads = [threading.Thread(target=work, args=(number,)) for number in range(COUNT)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert results == [3001] * COUNT
print(f"{COUNT} threads did their work")
