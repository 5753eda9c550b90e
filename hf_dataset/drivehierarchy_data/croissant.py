"""Croissant metadata (MLCommons, version 1.0) of an edition: what its files are and what their columns mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from drivehierarchy_gym.road.cache import write_text_atomically

from .editions import DATA_FOLDER, MANIFEST, Edition
from .items import FEATURES

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
                "encodingFormat": "application/x-parquet",
                "sha256": record.sha256,
            }
            for file, record in sorted(edition.manifest.files.items())
            if file.startswith(f"{task}/")
        ]
        distribution.append(
            {
                "@type": "cr:FileSet",
                "@id": f"{task}-files",
                "name": f"{task}-files",
                "description": f"Parquet files of task {task}.",
                "containedIn": [
                    {"@id": file} for file in sorted(edition.manifest.files) if file.startswith(f"{task}/")
                ],
                "encodingFormat": "application/x-parquet",
                "includes": "*.parquet",
            }
        )
        records.append(
            {
                "@type": "cr:RecordSet",
                "@id": task,
                "name": task,
                "description": f"Items of task {task}.",
                "field": [_field(task, column) for column in FEATURES],
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
    kinds = {"Image": "sc:ImageObject"}
    data_type = kinds.get(inner["_type"], "sc:Integer" if inner.get("dtype") == "int32" else "sc:Text")
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{task}/{column}",
        "name": column,
        "description": _COLUMNS[column],
        "dataType": data_type,
        "source": {"fileSet": {"@id": f"{task}-files"}, "extract": {"column": column}},
    }
    if feature["_type"] == "Sequence":
        field["repeated"] = True
    return field
