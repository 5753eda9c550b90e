"""Suites: named sets of scenarios. `open` is in the package, `release` is read from the authors' release."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from drivehierarchy_gym.errors import ScenarioError, unknown_name
from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.scenarios import release
from drivehierarchy_gym.scenarios.resolve import network_file, resolve
from drivehierarchy_gym.scenarios.schema import Scenario, explain

OPEN_FOLDER = Path(__file__).parent / "open"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """libyaml's loader where PyYAML has it, as a suite is read at every `gym.make`; a key given twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                raise yaml.constructor.ConstructorError(
                    "while reading a mapping", node.start_mark, f"the key {key!r} is given twice", node.start_mark
                )
        return super().construct_mapping(node, deep=deep)


@dataclass(frozen=True)
class SuiteEntry:
    """Where one scenario comes from. `group` is its folder in the suite and in a result tree."""

    id: str
    group: str
    path: Path
    _read: Callable[[Path], Scenario] = field(repr=False, compare=False)

    @cached_property
    def scenario(self) -> Scenario:
        """The validated scenario, read once."""
        return self._read(self.path)


@dataclass(frozen=True)
class Suite:
    """A named set of scenarios, in a fixed order; scenarios are read when asked for."""

    name: str
    entries: dict[str, SuiteEntry]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.entries)

    def entry(self, scenario_id: str) -> SuiteEntry:
        """Entry of a scenario; `UnknownNameError` names the nearest ids."""
        try:
            return self.entries[scenario_id]
        except KeyError:
            raise unknown_name(f"scenario of suite '{self.name}'", scenario_id, self.entries) from None

    def scenario(self, scenario_id: str) -> Scenario:
        """The validated scenario; `ScenarioError` names file, field and value."""
        return self.entry(scenario_id).scenario

    def plan(self, scenario_id: str, seed: int) -> EpisodePlan:
        """Plan of one episode with `seed`."""
        entry = self.entry(scenario_id)
        return resolve(entry.scenario, seed, entry.path.parent)

    @cached_property
    def hash(self) -> str:
        """SHA-256 over every scenario and road network of the suite: equal only for equal worlds."""
        digest = hashlib.sha256()
        for entry in self.entries.values():
            scenario = entry.scenario
            content = scenario.model_dump(mode="json", exclude={"network"})
            network = network_file(scenario, entry.path.parent).read_bytes()
            content["network_sha256"] = hashlib.sha256(network).hexdigest()
            digest.update(json.dumps(content, sort_keys=True, ensure_ascii=False).encode())
        return digest.hexdigest()


def load_suite(name: str | os.PathLike[str], release_folder: str | os.PathLike[str] | None = None) -> Suite:
    """The suite `name`: "open", "release", or the path of a folder of scenario YAML files.

    Args:
        name: suite name or folder.
        release_folder: folder of the authors' release for "release"; default: the environment variable
            DRIVEHIERARCHY_RELEASE.

    Raises:
        UnknownNameError: no such suite.
        ReleaseNotFoundError: the release is not where it should be; says what to download and where to put it.
        ScenarioError: two files give the same id.
    """
    name = os.fspath(name)
    if name == "open":
        return _yaml_suite("open", OPEN_FOLDER)
    if name == "release":
        entries: dict[str, SuiteEntry] = {}
        for path in release.scenario_files(release.find_release(release_folder)):
            if path.parent.name in entries:
                raise ScenarioError(
                    f"{path}: its folder {path.parent.name!r} is there a second time, after "
                    f"{entries[path.parent.name].path}; delete one of them"
                )
            entries[path.parent.name] = SuiteEntry(
                path.parent.name, path.parent.parent.name, path, release.read_scenario
            )
        return Suite("release", entries)
    if name and (os.sep in name or Path(name).is_dir()):
        return _yaml_suite(name, Path(name))
    raise unknown_name("suite", name, ("open", "release"))


def read_scenario(path: Path) -> Scenario:
    """Read one scenario file.

    Raises:
        ScenarioError: with the file, the field, the value found and what is wrong with it, a line for every fault.
    """
    try:
        with path.open(encoding="utf-8") as file:
            content = yaml.load(file, Loader=_Loader)
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ScenarioError(f"{path}: not YAML: {error}") from error
    if not isinstance(content, dict):
        raise ScenarioError(f"{path}: a scenario is a mapping of fields, found {type(content).__name__}")
    try:
        return Scenario.model_validate(content)
    except ValidationError as error:
        raise ScenarioError(explain(path, error)) from error


def _yaml_suite(name: str, folder: Path) -> Suite:
    files = sorted(folder.rglob("*.yaml"))
    if not files:
        raise ScenarioError(f"suite {name!r}: no .yaml file below {folder}")
    entries: dict[str, SuiteEntry] = {}
    for path in files:
        scenario = read_scenario(path)
        if scenario.id in entries:
            raise ScenarioError(f"{path}: id: {scenario.id!r} is also the id of {entries[scenario.id].path}")
        entries[scenario.id] = SuiteEntry(scenario.id, scenario.family, path, read_scenario)
    return Suite(name, entries)
