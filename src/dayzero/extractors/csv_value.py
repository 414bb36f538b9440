"""Take one cell out of a CSV file, by the value of a key column and the name of a column.

The cell is given as it is written there, unquoted, without the spaces around it. Parameter, optional: ``decimals`` (0 to 15) rounds
a number in decimal arithmetic, half to even.
"""

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locate import locate_cell
from dayzero.evidence.locator import CsvLocator, Locator
from dayzero.extractors.rounding import printed


class CsvValue:
    """Reads one cell. Implements ``extractors.interface.Extractor``."""

    name = "csv-value"
    version = 1

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give the cell.

        Raises:
            EvidenceError: The file is no strict CSV file, the cell is not there once, or it is empty.
        """
        if not isinstance(locator, CsvLocator):
            raise EvidenceError("csv-value reads one cell", hint="Locate the claim by key column, key and column.")
        value = locate_cell(raw, locator).strip(" \t")
        if not value:
            raise EvidenceError(
                f"the cell {locator.column} of {locator.key} is empty", hint="Point at a cell that says something."
            )
        return printed(value, parameters, by=self.name)


EXTRACTOR = CsvValue()
