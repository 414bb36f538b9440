"""Optuna behind the search's port, on a real storage."""

import warnings

import pytest

from dayzero.adapters.optuna_sampler import OptunaSampler, importance
from dayzero.core.errors import InputError, RemoteError
from dayzero.optimize.model import Setting
from dayzero.optimize.ports import Told

SETTINGS = (
    Setting(flag="--n", levels=("1", "2", "4", "8")),
    Setting(flag="--kind", levels=("plain", "fused", "odd")),
)
POINT = (("n", "4"), ("kind", "odd"))


def sampler(tmp_path, directions=(True,), *, limits=False):
    return OptunaSampler(f"sqlite:///{tmp_path / 'o.db'}", SETTINGS, list(directions), seed=3, limits=limits)


def test_a_trial_is_opened_of_the_combination_that_was_asked_for(tmp_path):
    one = sampler(tmp_path)
    assert one.ask(POINT) == (0, POINT)
    number, proposed = one.ask()
    assert number == 1
    assert all(level in setting.levels for setting, (_, level) in zip(SETTINGS, proposed, strict=True))


def test_two_workers_on_one_storage_never_have_one_number(tmp_path):
    a, b = sampler(tmp_path), sampler(tmp_path)
    numbers = [one.ask(POINT)[0] for one in (a, b, a, b)]
    assert numbers == [0, 1, 2, 3]


def test_a_process_that_was_killed_can_be_followed_by_another_that_closes_its_trial(tmp_path):
    first = sampler(tmp_path)
    number, _ = first.ask(POINT)
    second = sampler(tmp_path)
    second.tell(number, Told(how="void"))
    second.tell(number, Told(how="whole", values=(1.0,)))  # closed trials stay as they are
    assert second.ask()[0] == number + 1


@pytest.mark.parametrize(
    "told",
    [
        Told(how="bad"),
        Told(how="void"),
        Told(how="partly", values=(2.0,)),
        Told(how="whole", values=(5.0,), violations=(0.5,)),
    ],
)
def test_whatever_it_is_told_it_goes_on_proposing_and_warns_of_nothing(tmp_path, told):
    one = sampler(tmp_path, limits=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(6):
            one.tell(one.ask()[0], told)
        one.ask()


def test_it_learns_where_the_good_ones_are(tmp_path):
    one = sampler(tmp_path)
    worth = {"1": 0.0, "2": 0.0, "4": 0.0, "8": 10.0}
    levels = []
    for _ in range(40):
        number, point = one.ask()
        level = dict(point)["n"]
        levels.append(level)
        one.tell(number, Told(how="whole", values=(worth[level],)))
    assert levels[-20:].count("8") >= 10  # drawn evenly, it would be 5


def test_several_objectives_are_told_together_and_an_early_end_teaches_nothing(tmp_path):
    one = sampler(tmp_path, (True, False))
    one.tell(one.ask(POINT)[0], Told(how="whole", values=(1.0, 2.0)))
    one.tell(one.ask(POINT)[0], Told(how="bad"))
    assert one.ask()[0] == 2


def test_a_storage_of_other_objectives_is_refused(tmp_path):
    sampler(tmp_path)
    with pytest.raises(InputError, match="other objectives"):
        sampler(tmp_path, (False,))


def test_a_storage_that_cannot_be_opened_is_said(tmp_path):
    with pytest.raises(RemoteError, match="storage cannot be opened"):
        OptunaSampler(f"sqlite:///{tmp_path}/no/such/folder/o.db", SETTINGS, [True], seed=1, limits=False)


def test_importance_names_the_setting_that_explains_the_figures():
    trials = [
        ((("n", n), ("kind", kind)), float(n) + 0.01 * index)
        for index, kind in enumerate(SETTINGS[1].levels)
        for n in SETTINGS[0].levels
    ]
    name, shares = importance(SETTINGS, trials, higher_is_better=True, seed=1)
    assert name in {"fanova", "ped-anova"}
    assert max(shares, key=shares.__getitem__) == "n"
    assert importance(SETTINGS, trials[:3], higher_is_better=True, seed=1) == ("", {})
    assert importance(SETTINGS, [(point, 1.0) for point, _ in trials], higher_is_better=True, seed=1) == ("", {})
