"""The only place where ports meet adapters, and where settings are read."""

from dayzero.wiring.definitions import advisories as advisories
from dayzero.wiring.definitions import package as package
from dayzero.wiring.definitions import package_file as package_file
from dayzero.wiring.definitions import package_folders as package_folders
from dayzero.wiring.definitions import packages as packages
from dayzero.wiring.deploy import ask_validators as ask_validators
from dayzero.wiring.deploy import launch_of as launch_of
from dayzero.wiring.endpoint import BenchTarget as BenchTarget
from dayzero.wiring.endpoint import EndpointMeasurement as EndpointMeasurement
from dayzero.wiring.endpoint import measure_endpoint as measure_endpoint
from dayzero.wiring.laboratory import *  # noqa
from dayzero.wiring.plugins import engine as engine
from dayzero.wiring.plugins import engine_names as engine_names
from dayzero.wiring.plugins import extractor as extractor
from dayzero.wiring.plugins import extractor_names as extractor_names
from dayzero.wiring.plugins import extractors as extractors
from dayzero.wiring.plugins import kernel_library as kernel_library
from dayzero.wiring.plugins import target as target
from dayzero.wiring.plugins import target_names as target_names
from dayzero.wiring.publishing import *  # noqa
from dayzero.wiring.settings import cache_folder as cache_folder
from dayzero.wiring.settings import python_executable as python_executable
from dayzero.wiring.store import evidence_folder as evidence_folder
from dayzero.wiring.store import open_ledger as open_ledger
from dayzero.wiring.store import pages as pages
from dayzero.wiring.store import raw_store as raw_store
