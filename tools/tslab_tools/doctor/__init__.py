"""Why the RSS of a process is what it is.

mappings  its mappings, and what they are
evidence  what is known of the process: its figures, its mappings, its heap profile
rules     the illnesses: when each is there, what is said of it, and the cure
"""
