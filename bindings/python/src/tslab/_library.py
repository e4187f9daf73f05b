"""The functions of tslab.h that the drop-in of this process has, if it has one."""

import ctypes


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


CLOSE_RECLAIM = 0x100
POLICIES = {"drain": 0x1000001, "report": 0x1000003}

_SIZE = ctypes.c_size_t
_FUNCTIONS = {
    "tslab_epoch_open_sized": (Name, ctypes.POINTER(Options), _SIZE),
    "tslab_epoch_enter": (ctypes.c_int, Name),
    "tslab_epoch_leave": (ctypes.c_int, Name),
    "tslab_epoch_close_sized": (ctypes.c_int, Name, ctypes.c_uint, ctypes.POINTER(Report), _SIZE),
    "tslab_epoch_current": (Name,),
    "tslab_epoch_of": (Name, ctypes.c_void_p),
    "tslab_status_text": (ctypes.c_char_p, ctypes.c_int),
    "tslab_work_begin": (ctypes.c_int, ctypes.c_char_p),
    "tslab_work_end": (ctypes.c_int,),
    "tslab_work_rotate": (None,),
    "tslab_work_pause": (None,),
    "tslab_work_resume": (ctypes.c_int,),
    "tslab_stats_json": (ctypes.c_int, ctypes.c_int),
    "tslab_trim": (_SIZE,),
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
    return library


# None: the process does not run on the drop-in.
library = _find()
