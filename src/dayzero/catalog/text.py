"""Write a card as Markdown, for a reader without a browser; each number is a citation that ``evidence check`` can follow."""

from collections.abc import Iterator

from dayzero.catalog.model import Absent, Card, Gone, Measurement, Reached, Shown


def card_text(card: Card) -> str:
    """Write the card."""
    return "\n".join(_lines(card)) + "\n"


def _lines(card: Card) -> Iterator[str]:
    package = card.package
    yield f"# {package.title}"
    yield ""
    yield f"{package.name} {package.version}. {package.summary}"
    yield ""
    yield f"- Engine build: `{package.recipe.engine}`"
    yield f"- Model: {package.recipe.model.name} ({package.recipe.model.licence})"
    yield f"- What was changed in the weights: {package.technique or 'nothing'}"
    yield ""
    yield "## Status"
    yield ""
    for step in card.ladder:
        yield f"- {step.step}: " + (
            f"reached {step.date} on {step.pin}" if isinstance(step, Reached) else f"not yet. {step.why}"
        )
    yield ""
    yield "## Is it still the model?"
    yield ""
    for gate in card.gates:
        yield f"- {gate.gate}: {gate.word}. {gate.why}"
    yield ""
    yield "## Measured"
    yield ""
    for measurement in card.measurements:
        yield f"- {measurement.ref.label}: {_figure(measurement)}"
    yield ""
    yield "## Not measured"
    yield ""
    for entry in package.unmeasured:
        yield f"- {entry.topic}: {entry.why}"


def _figure(measurement: Measurement) -> str:
    match measurement.figure:
        case Shown(claim=claim, marks=marks):
            said = "".join(f" ({mark.word}: {mark.reason})" for mark in marks)
            return f"<!--claim {measurement.slug}-->{claim.text}<!--/claim-->{said}"
        case Gone(reason=reason) as gone:
            return f"{gone.word}: {reason}"
        case Absent(why=why):
            return f"no number: {why}"
