"""The figures of each kind: name, unit, counter or gauge, help. Written by tools/figures.py: do not edit."""

TOTAL_FIGURES = (
    ("live_objects", "count", "gauge", "small objects, allocated and not freed; without those in chunks of epochs"),
    ("live_bytes", "bytes", "gauge", "of these objects, in the sizes of their classes"),
    ("large_bytes", "bytes", "gauge", "bytes of large objects"),
    ("cached_bytes", "bytes", "gauge", "free, in caches of threads"),
    ("slab_bytes", "bytes", "gauge", "all slabs"),
    ("chunk_bytes", "bytes", "gauge", "all chunks of epochs"),
    ("dirty_bytes", "bytes", "gauge", "empty, with pages: memory that waits for reuse or a purge"),
    ("clean_bytes", "bytes", "gauge", "empty, without pages; memory that lost its addresses, too, is counted nowhere"),
    ("committed_bytes", "bytes", "gauge", "addresses that are accessible, with or without pages"),
    ("reserved_bytes", "bytes", "gauge", "addresses that the library may grow to; none is taken before it is needed"),
    ("metadata_bytes", "bytes", "gauge", "the engine's own records, without side tables"),
    ("allocations", "count", "counter", "small objects allocated; without those in chunks of epochs"),
    ("frees", "count", "counter", "small objects freed; without those in chunks of epochs"),
    ("refills", "count", "counter", "batches of slots taken from slabs"),
    ("flushes", "count", "counter", "magazines, outboxes and trays given back to slabs"),
    ("remote_frees", "count", "counter", "slots freed that the freeing thread may not keep"),
    ("slabs_recycled", "count", "counter", "slabs that emptied and are back in the depot"),
    ("harvests", "count", "counter", "revisit queues that the holder of a list lock worked off"),
    ("queue_length", "count", "gauge", "slabs that wait on revisit queues"),
    ("slabs_opened", "count", "counter", "slabs taken from the depot"),
    ("queue_longest", "count", "gauge", "the most slabs that were on one revisit queue"),
    ("purge_calls", "count", "counter", "system calls that give memory back"),
    ("purged_bytes", "bytes", "counter", "given back to the system"),
    ("purge_refusals", "count", "counter", "such calls that the system refused: locked memory, a sandbox"),
    ("purge_mistakes", "bytes", "counter", "purged, and wanted again within a second"),
    ("threads", "count", "gauge", "threads that use the library"),
    ("thread_records", "count", "gauge", "the most records of threads that were needed at once"),
    ("epochs_open", "count", "gauge", "epochs that are open"),
    ("epochs_draining", "count", "gauge", "epochs that are closed, and whose survivors keep memory"),
    ("epochs_opened", "count", "counter", "epochs opened, also by units of work and instances"),
    ("epochs_closed", "count", "counter", "epochs closed or released"),
    ("epochs_drained", "count", "counter", "closed epochs that had survivors, and are gone"),
    ("epoch_bytes", "bytes", "counter", "allocated in chunks of epochs, where objects are not counted"),
    ("work_units", "count", "counter", "units of work that ended, whatever the policy"),
    ("limit_refusals", "count", "counter", "allocations that failed because of the hard limit"),
    ("keeper_looks", "count", "counter", "looks of the keeper"),
    ("label_limit_refusals", "count", "counter", "allocations that failed because of the limit of a label"),
    ("epoch_limit_refusals", "count", "counter", "allocations that failed because of the limit of an epoch or an instance"),
)

PROCESS_FIGURES = (
    ("uptime_ms", "ms", "gauge", "since the library started; in the child of a fork, since it started in the parent"),
    ("rss_bytes", "bytes", "gauge", "resident memory of the process; 0: the system does not tell"),
    ("peak_rss_bytes", "bytes", "gauge", "the most that was resident"),
    ("live", "bytes", "gauge", "objects"),
    ("waste", "bytes", "gauge", "free parts of slabs, chunks and large runs"),
    ("caches", "bytes", "gauge", "free memory that threads keep for their next objects"),
    ("retained", "bytes", "gauge", "empty memory"),
    ("metadata", "bytes", "gauge", "side tables and records of the library"),
    ("hard_limit_bytes", "bytes", "gauge", "the hard limit; 0: none"),
    ("soft_limit_bytes", "bytes", "gauge", "the soft limit; 0: none"),
    ("soft_pressure", "count", "gauge", "1: near the soft limit, so nothing waits for reuse and caches are small"),
    ("container_pressure", "count", "gauge", "1: near the container's limit, with the same effect"),
)

CLASS_COUNTED = (
    ("size", "bytes", "gauge", "of a slot"),
    ("allocations", "count", "counter", "objects allocated"),
    ("frees", "count", "counter", "objects freed"),
    ("slabs_new", "count", "counter", "slabs taken from the depot"),
    ("slabs_recycled", "count", "counter", "slabs that emptied and are back in the depot"),
    ("slabs_drained", "count", "counter", "of these, slabs of epochs that emptied only after the close"),
    ("slabs_attached", "count", "counter", "partly used slabs that a heap attached"),
    ("refills", "count", "counter", "times that a batch of slots came from a slab"),
    ("refilled", "count", "counter", "slots in these batches"),
    ("flushes", "count", "counter", "times that slots of a magazine or an outbox were given back to slabs"),
    ("flushed", "count", "counter", "slots given back by flushes"),
    ("exchanged", "count", "counter", "full trays handed to the exchange"),
    ("from_exchange", "count", "counter", "full trays taken from the exchange"),
    ("remote_frees", "count", "counter", "slots freed that the freeing thread may not keep"),
    ("harvests", "count", "counter", "revisit queues that the holder of a list lock worked off"),
    ("queue_longest", "count", "gauge", "the most slabs that were on one revisit queue"),
    ("queue_length", "count", "gauge", "slabs that wait on revisit queues"),
    ("misses", "count", "counter", "allocations and frees that the magazines alone did not serve"),
    ("slow_paths", "count", "counter", "refills, flushes and trays handed to the exchange, together"),
    ("live", "count", "gauge", "objects, allocated and not freed"),
    ("cached_bytes", "bytes", "gauge", "free slots in caches of threads"),
    ("slab_bytes", "bytes", "gauge", "all slabs of the class"),
)

LABEL_FIGURES = (
    ("labels", "count", "gauge", "1. In JSON, an entry behind the first 20 sums up all other labels: its label is empty, and this is how many they are at least"),
    ("epochs", "count", "gauge", "epochs that are open, closing or draining"),
    ("open", "count", "gauge", "epochs that are open"),
    ("closing", "count", "gauge", "epochs that are closed, and a thread is inside"),
    ("draining", "count", "gauge", "epochs that are closed, and whose survivors keep memory"),
    ("oldest_ms", "ms", "gauge", "since the oldest of them was opened"),
    ("live_objects", "count", "gauge", "their objects"),
    ("live_bytes", "bytes", "gauge", "of these objects, in the sizes that they occupy"),
    ("memory_bytes", "bytes", "gauge", "their slabs, chunks and large runs"),
    ("peak_bytes", "bytes", "gauge", "the peak_bytes of each, added up: these epochs never had more together"),
    ("resident_bytes", "bytes", "gauge", "of memory_bytes, on pages that were handed out and did not go back to the system"),
    ("refused", "count", "gauge", "allocations in them that failed because of a limit, whoever set it"),
)

LABEL_LIMIT_FIGURES = (
    ("limit_bytes", "bytes", "gauge", "what the epochs with the label may use together (option epoch_limits); 0: there is no limit"),
    ("used_bytes", "bytes", "gauge", "the slabs, chunks and large runs that these epochs have, but for the chunks that scopes are filling"),
    ("peak_used_bytes", "bytes", "gauge", "the most that used_bytes was since the label had its first limit"),
    ("refusals", "count", "counter", "allocations that failed because of the limit"),
)

ACCOUNTS = """
    live_slots live_chunks live_large magazines outboxes exchange claimed partial_slabs attached_slabs slab_tails
    dead_in_chunks unfilled_chunks warm_chunks large_tails hot_runs trapped_runs dirty_runs clean_runs moving_runs
    unopened_units tag_table run_table revisit_table code_table check_table tray_records thread_records
    heap_records epoch_records unused_records
""".split()
