"""Makes objects in three threads: a program whose system calls are recorded."""

import threading

kept = [bytes(i % 3000) for i in range(50000)]
threads = [threading.Thread(target=lambda: [bytes(i % 3000) for i in range(50000)]) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
