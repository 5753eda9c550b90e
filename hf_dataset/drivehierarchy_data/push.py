"""Uploading an edition to the Hugging Face Hub: the same folder that lies on disk, checked before it leaves."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.utils import HFValidationError, validate_repo_id

from .card_parts import CARD_FILE
from .croissant import CROISSANT_FILE
from .editions import (
    BUILD_COMMANDS,
    DATA_FOLDER,
    MANIFEST,
    SAMPLE,
    SIM_EDITION,
    Edition,
    edition_folder,
    find_edition,
)
from .errors import DataError


def edition_to_push(requested: str | None = None) -> Edition:
    """The edition called `requested`, or lying in that folder; without it the sim edition.

    Raises EditionNotFoundError as `find_edition`, DataError where only the sample stands in for a sim edition.
    """
    found = find_edition(requested or SIM_EDITION)
    if requested in (None, SIM_EDITION) and found.folder == SAMPLE / DATA_FOLDER:
        raise DataError(
            "no sim edition is built, and the small sample is not uploaded in its place: build one with "
            f"`{BUILD_COMMANDS[SIM_EDITION].format(folder=edition_folder(SIM_EDITION))}`, or ask for the sample with "
            f"--edition {SAMPLE}"
        )
    return found


def uploads(edition: Edition) -> list[Path]:
    """The files of an edition that go to the Hub: card, metadata, manifest and Parquet files, sorted.

    Raises DataError when the edition may not be passed on, is incomplete, or differs from its checksums.
    """
    if edition.name != SIM_EDITION:
        raise DataError(
            f"edition {edition.name!r} holds images and annotations under licences that do not allow to pass them on; "
            f"only the {SIM_EDITION} edition can be pushed"
        )
    folder = edition.folder.parent
    if edition.folder.name != DATA_FOLDER:
        raise DataError(f"{edition.folder}: an edition that is pushed lies in a folder called {DATA_FOLDER}")
    problems = edition.problems()
    if problems:
        raise DataError(f"{edition.folder} is not as recorded ({problems[0]}); build the edition again")
    files = [folder / CARD_FILE, folder / CROISSANT_FILE, edition.folder / MANIFEST]
    files += [edition.folder / file for file in edition.manifest.files]
    for path in files:
        if not path.is_file():
            raise DataError(f"{path} is missing; build the edition again")
    return sorted(files)


def check_repo(repo: str) -> None:
    """Raises DataError when `repo` is not OWNER/NAME, or no repository of the Hub can be called so."""
    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        raise DataError(f"{repo!r} cannot name a dataset on the Hub, use OWNER/NAME ({error})") from error
    if "/" not in repo:
        raise DataError(f"{repo!r} cannot name a dataset on the Hub, use OWNER/NAME (it names no owner)")


def push_edition(edition: Edition, repo: str, *, private: bool = False, api: HfApi | None = None) -> str:
    """Uploads an edition in one commit and returns the address of the dataset.

    The dataset is created when it is not there yet; Parquet files of an older build are removed with the same commit.

    Raises DataError as `check_repo` and `uploads`, HfHubHTTPError when the Hub refuses.
    """
    check_repo(repo)
    files = uploads(edition)
    folder = edition.folder.parent
    client = api or HfApi()
    address = client.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
    provenance = edition.manifest.provenance
    client.upload_folder(
        repo_id=repo,
        repo_type="dataset",
        folder_path=folder,
        allow_patterns=[path.relative_to(folder).as_posix() for path in files],
        delete_patterns=[f"{DATA_FOLDER}/*.parquet"],
        commit_message=f"Edition {edition.name}, size {provenance['size']}, digest {edition.digest[:16]}",
    )
    return str(address)
