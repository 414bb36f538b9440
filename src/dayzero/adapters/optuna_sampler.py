"""Optuna behind the search's port: its storage numbers trials for all workers, it proposes, and it weighs settings."""

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from dayzero.core.errors import InputError, RemoteError
from dayzero.optimize.model import Point, Setting
from dayzero.optimize.ports import Told

_VIOLATIONS: Final = "violations"
_POSTGRESQL: Final = "postgresql://"
_FEWEST: Final = 4


class OptunaSampler:
    """A study in a storage. Implements ``optimize.ports.Sampler``.

    Args:
        storage: URL of the storage, as SQLAlchemy names it; PostgreSQL is asked through psycopg.
        name: The study's, in its storage.
        settings: The settings of the space, each with its levels.
        directions: For each objective, whether higher is better.
        seed: Of the sampler.
        limits: Whether there are limits.

    Raises:
        InputError: Optuna is not installed, or the study in the storage has other objectives.
        RemoteError: The storage cannot be reached.
    """

    def __init__(  # noqa: PLR0913  (each is one fact of the study in its storage)
        self,
        storage: str,
        settings: Sequence[Setting],
        directions: Sequence[bool],
        *,
        seed: int,
        limits: bool,
        name: str = "dayzero",
    ) -> None:
        driven = (
            storage.replace(_POSTGRESQL, "postgresql+psycopg://", 1) if storage.startswith(_POSTGRESQL) else storage
        )
        self._settings = tuple(settings)
        self._single = len(directions) == 1
        with _quiet() as optuna:
            self._states = optuna.trial.TrialState
            self._distributions = {one.name: _distribution(optuna, one) for one in settings}
            sampler = optuna.samplers.TPESampler(
                seed=seed,
                multivariate=True,
                n_startup_trials=_FEWEST,
                constraints_func=_violations if limits else None,
            )
            words = ["maximize" if higher else "minimize" for higher in directions]
            with _reached(storage):
                self._study = optuna.create_study(
                    study_name=name, storage=driven, sampler=sampler, directions=words, load_if_exists=True
                )
                found = [direction.name.lower() for direction in self._study.directions]
        if found != words:
            raise InputError(
                f"the study in {storage} is for {len(found)} other objectives", hint="Give another --storage."
            )

    def ask(self, point: Point | None = None) -> tuple[int, Point]:
        """Open a trial: of this combination, or of one that Optuna proposes."""
        with _quiet():
            if point is not None:
                wanted = {setting.name: _index(setting, level) for setting, level in self._paired(point)}
                self._study.enqueue_trial(wanted)
            trial = self._study.ask(fixed_distributions=self._distributions)
        return trial.number, tuple((one.name, _level(one, trial.params[one.name])) for one in self._settings)

    def tell(self, number: int, told: Told) -> None:
        """Close a trial; one that is closed already stays as it is."""
        states = self._states
        with _quiet():
            trial = self._study.trials[number]
            if trial.state.is_finished():
                return
            storage, key = self._study._storage, trial._trial_id  # noqa: SLF001  (a trial of another process has no other handle)
            if told.violations:
                storage.set_trial_user_attr(key, _VIOLATIONS, list(told.violations))
            if told.how == "partly" and self._single:
                storage.set_trial_intermediate_value(key, 0, told.values[0])
            if told.how == "whole":
                self._study.tell(number, list(told.values))
            else:
                pruned = told.how in {"partly", "bad"} and self._single
                self._study.tell(number, state=states.PRUNED if pruned else states.FAIL)

    def _paired(self, point: Point) -> Iterator[tuple[Setting, str]]:
        levels = dict(point)
        return ((one, levels[one.name]) for one in self._settings)


def importance(
    settings: Sequence[Setting], trials: Sequence[tuple[Point, float]], *, higher_is_better: bool, seed: int
) -> tuple[str, Mapping[str, float]]:
    """Say which share of what varies each setting explains.

    Args:
        settings: The settings.
        trials: Combinations and what each brought.
        higher_is_better: Which way is better.
        seed: Of the evaluator.

    Returns:
        The evaluator and the shares, largest first; nothing with fewer than four trials, or where nothing varies.

    Raises:
        InputError: Optuna is not installed.
    """
    if len(trials) < _FEWEST or len({value for _, value in trials}) == 1:
        return "", {}
    with _quiet() as optuna:
        study = optuna.create_study(direction="maximize" if higher_is_better else "minimize")
        distributions = {one.name: _distribution(optuna, one) for one in settings}
        for point, value in trials:
            levels = dict(point)
            params = {one.name: _index(one, levels[one.name]) for one in settings}
            study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=value))
        name, evaluator = _evaluator(optuna, seed)
        shares: Mapping[str, float] = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return name, dict(shares)


def _evaluator(optuna: Any, seed: int) -> tuple[str, Any]:  # noqa: ANN401  (an optional package, loaded late)
    try:
        return "fanova", optuna.importance.FanovaImportanceEvaluator(seed=seed)
    except ImportError:  # it needs scikit-learn
        return "ped-anova", optuna.importance.PedAnovaImportanceEvaluator()


def _distribution(optuna: Any, setting: Setting) -> Any:  # noqa: ANN401  (as above)
    if setting.ordered:
        return optuna.distributions.IntDistribution(0, len(setting.levels) - 1)
    return optuna.distributions.CategoricalDistribution(setting.levels)


def _index(setting: Setting, level: str) -> int | str:
    return setting.levels.index(level) if setting.ordered else level


def _level(setting: Setting, found: int | str) -> str:
    return setting.levels[int(found)] if setting.ordered else str(found)


def _violations(trial: Any) -> Sequence[float]:  # noqa: ANN401  (as above)
    found: Sequence[float] = trial.user_attrs.get(_VIOLATIONS, ())
    return found


@contextlib.contextmanager
def _quiet() -> Iterator[Any]:
    """Load Optuna, and keep what it says of its own experiments to itself."""
    try:
        optuna: Any = import_module("optuna")
    except ImportError as error:
        raise InputError("a search needs Optuna, which is not installed", hint="Install dayzero[optimize].") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield optuna


@contextlib.contextmanager
def _reached(storage: str) -> Iterator[None]:
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415  (with Optuna, or not at all)

    try:
        yield
    except (SQLAlchemyError, ImportError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RemoteError(
            f"the study's storage cannot be opened: {said}", hint=f"Look at what --storage names: {storage}."
        ) from error
