"""Croissant metadata (MLCommons, version 1.0) of an edition: what its files are and what their columns mean.

`mlcroissant.Dataset("FOLDER/croissant.json").records("r1_1_a")` gives the rows of a task, all splits in the order of
their file names. With `filters={"r1_1_a/split": "test"}` it gives one split; mlcroissant then keeps that Dataset to it.
Text comes as bytes (UTF-8), which is how mlcroissant gives all text, images come as PIL pictures.

A set of files is not `containedIn` anything, which mlcroissant takes as: in the folder of croissant.json. It reads no
columns out of a set that is contained in Parquet files, and a folder as the container would need a checksum. So
`records` works in a folder on this machine but not with the address of a croissant.json, and it does not compare the
checksums that are listed beside the sets, one for every file: `drivehierarchy data check` does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from drivehierarchy_gym.road.cache import write_text_atomically

from .editions import DATA_FOLDER, MANIFEST, Edition
from .items import FEATURES, SPLITS

CROISSANT_FILE = "croissant.json"
DESCRIPTION = (
    "Questions about driving scenes that diagnose which capability of a vision-language model fails: perception (R1), "
    "memory over views and time (R2) and reasoning (R3), fourteen tasks."
)
LICENCE = "https://www.apache.org/licenses/LICENSE-2.0"
URL = "https://arxiv.org/abs/2609.31814"
"""The paper whose tasks these are."""
PUBLISHED = "2026-11-30"
"""Day on which this version of the builders was published; the metadata must not depend on the day of a build."""

SPLIT_FIELD = "split"
"""Field of a record that is no column: the name of its file tells it."""

_PARQUET = "application/x-parquet"
_COLUMNS = {
    "id": "Identifies the item within all editions of this name and version.",
    "task": "Task id, r1_1_a to r3_2.",
    "rank": "R1, R2 or R3.",
    "source": "Where the scene comes from.",
    "scene_id": "The drive; no drive is in two splits.",
    "question": "The question as it is put to a model.",
    "options": "Options of a choice, or the labels of images to be put in order.",
    "answer": "The true answer.",
    "answer_kind": "yes_no, count, metres, choice, box, text or order.",
    "images": "The images, in the order in which a model sees them.",
    "views": "Name of each image: its camera, its place in a clip, or its label.",
    "image_size": "Width and height of the first image in pixels.",
    "meta": "JSON: evidence of the answer, and what the item was made from.",
}

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that Croissant 1.0 prescribes."""


def write_croissant(edition: Edition, out: Path) -> None:
    """Writes OUT/croissant.json."""
    text = json.dumps(croissant(edition), indent=2, ensure_ascii=False) + "\n"
    write_text_atomically(out / CROISSANT_FILE, text)


def croissant(edition: Edition) -> dict[str, Any]:
    """The metadata as JSON-LD: the manifest, one set of Parquet files per task, and a record set with its columns."""
    distribution: list[dict[str, Any]] = []
    records = []
    for task in edition.tasks("test"):
        distribution += [
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": f"{DATA_FOLDER}/{file}",
                "contentSize": f"{record.bytes} B",
                "encodingFormat": _PARQUET,
                "sha256": record.sha256,
            }
            for file, record in sorted(edition.manifest.files.items())
            if file.startswith(f"{task}/")
        ]
        distribution.append(
            {
                "@type": "cr:FileSet",
                "@id": _file_set(task),
                "name": _file_set(task),
                "description": f"Parquet files of task {task}.",
                "encodingFormat": _PARQUET,
                "includes": f"{DATA_FOLDER}/{task}/*.parquet",
            }
        )
        records.append(
            {
                "@type": "cr:RecordSet",
                "@id": task,
                "name": task,
                "description": f"Items of task {task}.",
                "field": [*(_field(task, column) for column in FEATURES), _split_field(task)],
            }
        )
    provenance = edition.manifest.provenance
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": f"drivehierarchy-{edition.name}",
        "description": DESCRIPTION,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": LICENCE,
        "url": URL,
        "version": str(provenance.get("package", "0.0.0")),
        "datePublished": PUBLISHED,
        "citeAs": f"DriveHierarchy, edition {edition.name}, digest {edition.digest[:16]} ({MANIFEST})",
        "distribution": distribution,
        "recordSet": records,
    }


def _field(task: str, column: str) -> dict[str, Any]:
    feature = FEATURES[column]
    inner = feature.get("feature", feature)
    source: dict[str, Any] = {"fileSet": {"@id": _file_set(task)}, "extract": {"column": column}}
    data_type = "sc:Integer" if inner.get("dtype") == "int32" else "sc:Text"
    if inner["_type"] == "Image":
        data_type = "sc:ImageObject"
        source["transform"] = {"jsonPath": "bytes"}  # beside the bytes, a stored image has its name
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{task}/{column}",
        "name": column,
        "description": _COLUMNS[column],
        "dataType": data_type,
        "source": source,
    }
    if feature["_type"] == "Sequence":
        field["repeated"] = True
    return field


def _split_field(task: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{task}/{SPLIT_FIELD}",
        "name": SPLIT_FIELD,
        "description": f"{', '.join(SPLITS[:-1])} or {SPLITS[-1]}: the split that the item belongs to.",
        "dataType": "sc:Text",
        "source": {
            "fileSet": {"@id": _file_set(task)},
            "extract": {"fileProperty": "filename"},
            # `filters` makes a glob of the expression and understands `.+`, but no `\d`
            "transform": {"regex": rf"^({'|'.join(SPLITS)})-.+\.parquet$"},
        },
    }


def _file_set(task: str) -> str:
    return f"{task}-files"
