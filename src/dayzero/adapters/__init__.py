"""The outside world: definition files, package index, processes, HTTP, disk, keys. Each adapter implements a part's port."""
