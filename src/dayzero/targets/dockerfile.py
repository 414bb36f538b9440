"""The image of a launch that no pinned image exists for."""

from dayzero.core.launch import LaunchSpec
from dayzero.targets.container import USER_ID, WORK_FOLDER

FILE_NAME = "Dockerfile"


def dockerfile(spec: LaunchSpec) -> str:
    """Write the Dockerfile: the locked wheels and the launch's own files, no weights.

    The launch's own files are the Python files at the root of the kit, where they exist.
    """
    return f"""\
# The image of {spec.name}: {spec.distribution} from the hash-locked wheels. Written by dayzero. The weights are mounted.
# The base is named by its tag: no digest was resolved when this was written. To pin it, put the digest after the tag.
FROM python:3.11-slim-bookworm

# libgomp1: the OpenMP run time that engines for the CPU load; its version is the base image's.
# hadolint ignore=DL3008
RUN apt-get update \\
    && apt-get install --yes --no-install-recommends libgomp1 \\
    && rm -rf /var/lib/apt/lists/*

WORKDIR {WORK_FOLDER}
COPY requirements.lock ./
RUN python3 -m pip install --no-cache-dir --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
# Named with a file that always exists, because a launch may bring no Python file of its own.
COPY requirements.lock *.py ./

USER {USER_ID}:{USER_ID}
"""


def companions_of(spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
    """Give the Dockerfile as a companion, where the launch names no image."""
    return () if spec.image else ((FILE_NAME, dockerfile(spec)),)
