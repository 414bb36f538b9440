"""The measuring client: one thread, one epoll, raw sockets whose reads carry the kernel's receive stamp.

While the window runs it appends what it reads to a file and looks into nothing but what it needs to know that a response is
whole. What was measured is parsed from that file afterwards. The file's format: :mod:`dayzero.bench.reads`.
"""
