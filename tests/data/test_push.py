"""Uploading: what goes, what may not go, and what the Hub's client is asked to do. No connection is made."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi
from typer.testing import CliRunner

from drivehierarchy_data.cli import app
from drivehierarchy_data.editions import DATA_FOLDER, SAMPLE, Edition, open_edition
from drivehierarchy_data.errors import DataError
from drivehierarchy_data.push import edition_to_push, push_edition, uploads
from tests import tiny_edition


class RecordingApi(HfApi):
    """The Hub's client, its two calls written down instead of made."""

    def __init__(self) -> None:
        super().__init__(token=False)
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def create_repo(self, repo_id: str, **options: Any) -> str:  # type: ignore[override]
        self.calls.append(("create_repo", {"repo_id": repo_id, **options}))
        return f"https://hub.example/datasets/{repo_id}"

    def upload_folder(self, **options: Any) -> None:  # type: ignore[override]
        self.calls.append(("upload_folder", options))


@pytest.fixture
def sample() -> Edition:
    return open_edition(SAMPLE)


def test_card_metadata_manifest_and_data_go(sample: Edition) -> None:
    names = [path.relative_to(SAMPLE).as_posix() for path in uploads(sample)]
    assert {"README.md", "croissant.json", "data/manifest.json"} < set(names)
    assert {f"data/{file}" for file in sample.manifest.files} < set(names)
    assert not any(name.endswith(".py") for name in names)
    assert len(names) == 3 + len(sample.manifest.files)


def test_one_commit_to_a_dataset(sample: Edition) -> None:
    api = RecordingApi()
    address = push_edition(sample, "someone/drivehierarchy", private=True, api=api)
    (create, created), (upload, uploaded) = api.calls
    assert address == "https://hub.example/datasets/someone/drivehierarchy"
    assert (create, upload) == ("create_repo", "upload_folder")
    assert created == {
        "repo_id": "someone/drivehierarchy",
        "repo_type": "dataset",
        "private": True,
        "exist_ok": True,
    }
    assert uploaded["folder_path"] == SAMPLE
    assert uploaded["repo_type"] == "dataset"
    assert uploaded["delete_patterns"] == ["data/*.parquet"]
    assert "README.md" in uploaded["allow_patterns"]
    assert sample.digest[:16] in uploaded["commit_message"]


def test_other_editions_may_not_go(sample: Edition) -> None:
    release = Edition(sample.folder, replace(sample.manifest, edition="release"))
    with pytest.raises(DataError, match="licences that do not allow to pass them on"):
        push_edition(release, "someone/x", api=RecordingApi())


def test_damaged_and_incomplete_editions_do_not_go(own_edition: Edition) -> None:
    with pytest.raises(DataError, match=r"README\.md is missing"):
        uploads(own_edition)
    own_edition.shards("r1_3")[0].write_bytes(b"cut")
    with pytest.raises(DataError, match="is not as recorded"):
        uploads(own_edition)


def test_a_malformed_name_is_refused_before_anything_is_sent(sample: Edition) -> None:
    api = RecordingApi()
    with pytest.raises(DataError, match="'someone/too/deep' cannot name a dataset on the Hub, use OWNER/NAME"):
        push_edition(sample, "someone/too/deep", api=api)
    assert api.calls == []


def test_a_dry_run_lists_files_and_makes_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HfApi, "create_repo", _refuse)
    monkeypatch.setattr(HfApi, "upload_folder", _refuse)
    result = CliRunner().invoke(app, ["push", "someone/x", "--edition", str(SAMPLE), "--dry-run"])
    assert result.exit_code == 0, result.output
    assert "data/r1_1_a/test-00000.parquet" in result.output
    assert "files, " in result.output
    assert isinstance(SAMPLE, Path)


@pytest.mark.parametrize("options", [[], ["--edition", "sim"], ["--dry-run"]])
def test_the_sample_does_not_go_in_place_of_an_edition_that_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setenv("DRIVEHIERARCHY_CACHE", str(tmp_path))
    monkeypatch.setattr(HfApi, "create_repo", _refuse)
    result = CliRunner().invoke(app, ["push", "someone/x", *options])
    assert isinstance(result.exception, DataError)
    built = tmp_path / "editions" / "sim"
    assert str(result.exception) == (
        "no sim edition is built, and the small sample is not uploaded in its place: build one with "
        f"`drivehierarchy data build --edition sim --size mini --out {built}`, or ask for the sample with "
        f"--edition {SAMPLE}"
    )
    assert "parquet" not in result.output


def test_a_built_edition_goes_when_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIVEHIERARCHY_CACHE", str(tmp_path))
    built = tiny_edition.build(tmp_path / "editions" / "sim", items_per_task=2)
    assert edition_to_push().folder == edition_to_push("sim").folder == built.folder
    assert edition_to_push(str(SAMPLE)).folder == SAMPLE / DATA_FOLDER


@pytest.mark.parametrize("name", ["bad name", "a/b/c", "owner/-x", "/x", "x/", ""])
def test_a_dry_run_refuses_a_malformed_name(name: str) -> None:
    result = CliRunner().invoke(app, ["push", name, "--edition", str(SAMPLE), "--dry-run"])
    assert isinstance(result.exception, DataError)
    assert "cannot name a dataset on the Hub" in str(result.exception)
    assert "parquet" not in result.output


def test_a_name_without_an_owner_is_refused(sample: Edition) -> None:
    message = "'me' cannot name a dataset on the Hub, use OWNER/NAME (it names no owner)"
    result = CliRunner().invoke(app, ["push", "me", "--edition", str(SAMPLE), "--dry-run"])
    assert isinstance(result.exception, DataError)
    assert (str(result.exception), result.output) == (message, "")
    api = RecordingApi()
    with pytest.raises(DataError, match=re.escape(message)):
        push_edition(sample, "me", api=api)
    assert api.calls == []


def _refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("a dry run must not connect")
