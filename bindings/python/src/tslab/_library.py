"""The functions of tslab.h that the drop-in of this process has, if it has one."""

import ctypes

VERSION = "0.4.0"


class Name(ctypes.Structure):
    """A tslab_epoch."""

    _fields_ = [("id", ctypes.c_uint64)]


class Options(ctypes.Structure):
    """A struct tslab_epoch_options."""

    _fields_ = [
        ("label", ctypes.c_char_p),
        ("parent", Name),
        ("instance", Name),
        ("policy", ctypes.c_uint),
        ("flags", ctypes.c_uint),
        ("limit_bytes", ctypes.c_size_t),
    ]


class Report(ctypes.Structure):
    """A struct tslab_epoch_report."""

    _fields_ = [
        ("survivors", ctypes.c_uint64),
        ("survivor_bytes", ctypes.c_uint64),
        ("recycled_bytes", ctypes.c_uint64),
        ("reclaimed_bytes", ctypes.c_uint64),
        ("rss_change_bytes", ctypes.c_int64),
        ("age_ms", ctypes.c_uint64),
    ]


NUMBERS = ("age_ms", "closed_ms", "live_objects", "live_bytes", "memory_bytes", "recycled_runs", "slab_bytes", "chunk_bytes")
NUMBERS += ("large_bytes", "cached_bytes", "peak_bytes", "resident_bytes", "limit_bytes", "refusals")


class Stats(ctypes.Structure):
    """A struct tslab_epoch_stats."""

    _fields_ = [
        *((name, Name) for name in ("epoch", "parent", "instance")),
        ("label", ctypes.c_char * 32),
        *((name, ctypes.c_uint) for name in ("policy", "state", "inside")),
        *((name, ctypes.c_uint64) for name in NUMBERS),
    ]


CLOSE_RECLAIM = 0x100
STALE = -1
STATES = ("open", "closing", "draining")
POLICIES = {"drain": 0x1000001, "report": 0x1000003}

_FUNCTIONS = {
    "tslab_epoch_open": (Name, ctypes.POINTER(Options)),
    "tslab_epoch_enter": (ctypes.c_int, Name),
    "tslab_epoch_leave": (ctypes.c_int, Name),
    "tslab_epoch_close": (ctypes.c_int, Name, ctypes.c_uint, ctypes.POINTER(Report)),
    "tslab_epoch_current": (Name,),
    "tslab_epoch_of": (Name, ctypes.c_void_p),
    "tslab_epoch_stats_get": (ctypes.c_int, Name, ctypes.POINTER(Stats)),
    "tslab_status_text": (ctypes.c_char_p, ctypes.c_int),
    "tslab_work_begin": (ctypes.c_int, ctypes.c_char_p),
    "tslab_work_end": (ctypes.c_int,),
    "tslab_work_rotate": (None,),
    "tslab_work_pause": (None,),
    "tslab_work_resume": (ctypes.c_int,),
    "tslab_stats_json": (ctypes.c_int, ctypes.c_int),
    "tslab_trim": (ctypes.c_size_t,),
    "tslab_version": (ctypes.c_char_p,),
}


def _find():
    # The calls are short, and the scopes that they begin are this thread's: they keep the GIL.
    library = ctypes.PyDLL(None)
    try:
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError:
        return None
    # Another minor version may have other structs.
    same = library.tslab_version().decode().split(".")[:2] == VERSION.split(".")[:2]
    return library if same else None


# None: the process does not run on the drop-in, or on another minor version of it.
library = _find()
