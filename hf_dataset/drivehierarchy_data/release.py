"""The authors' question files: fifteen JSONL files, read as they are, quirks included, and turned into items.

What is odd about them, and handled here: two files carry the ids of their neighbours; R1_3 has no `Question_id` and
R3_2 no question; an answer is a letter in one file and the whole option in another; distances carry a unit; R3_3 is
not a task; image paths are those of the authors' machine. Every field ends up in a column or in `meta`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from drivehierarchy_gym.errors import ReleaseNotFoundError
from drivehierarchy_gym.scenarios.release import ENVIRONMENT_VARIABLE

from .errors import DataError
from .items import AnswerKind, Rank, check_answer

QUESTION_FOLDER = "Open_Loop_Evaluation"


PREDICTION_SUFFIX = "_pred.jsonl"
"""How the release's files with the predictions of a model end."""


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """One file of the release and the task it holds.

    `stem` is its name without `.jsonl`. `id_prefix` starts the ids inside (`<id_prefix><n>`), `id_field` is the field
    that holds them in a prediction.
    """

    stem: str
    task: str
    rank: Rank
    answer_kind: AnswerKind
    source: str
    id_prefix: str
    id_field: Literal["Question_id", "task_id"] = "Question_id"

    @property
    def question_file(self) -> str:
        """File name of the questions, for example "R1_1_A_Existence.jsonl"."""
        return f"{self.stem}.jsonl"

    @property
    def prediction_file(self) -> str:
        """File name of a model's predictions, for example "R1_1_A_Existence_pred.jsonl"."""
        return f"{self.stem}{PREDICTION_SUFFIX}"


QUESTION_FILES: tuple[QuestionFile, ...] = (
    QuestionFile("R1_1_A_Existence", "r1_1_a", "R1", "yes_no", "nuscenes", "R1_1_A_"),
    QuestionFile("R1_1_B_Counting", "r1_1_b", "R1", "count", "nuscenes", "R1_1_B_"),
    QuestionFile("R1_1_C_State_Attribute", "r1_1_c", "R1", "choice", "nuscenes", "R1_1_C_"),
    QuestionFile("R1_2_A_Nearest_Object", "r1_2_a", "R1", "metres", "nuscenes", "R1_2_A_"),
    QuestionFile("R1_2_B_Certain_Object", "r1_2_b", "R1", "metres", "nuscenes", "R1_2_B_"),
    QuestionFile("R1_2_C_Distance_Bucket", "r1_2_c", "R1", "count", "nuscenes", "R1_2_C_"),
    QuestionFile("R1_3_Location_Questions", "r1_3", "R1", "box", "drama", "R1_3_", id_field="task_id"),
    QuestionFile("R1_4_Situation_Description", "r1_4", "R1", "text", "lingoqa", "R1_4_"),
    QuestionFile("R2_1_Multi_view_Memory", "r2_1", "R2", "count", "nuscenes", "R2_1_A_"),
    QuestionFile("R2_2_A_Temporal_Counting", "r2_2_a", "R2", "count", "nuscenes", "R2_1_B_"),
    QuestionFile("R2_2_B_Temporal_Status_Recognition", "r2_2_b", "R2", "choice", "nuscenes", "R2_1_C_"),
    QuestionFile("R2_3_Spatial_Relations", "r2_3", "R2", "choice", "nuscenes", "R2_3_"),
    QuestionFile("R3_1_Outcome_Prediction", "r3_1", "R3", "choice", "nuscenes", "R3_1_"),
    QuestionFile("R3_2_Sequential_Planning", "r3_2", "R3", "order", "navsim", "R3_2_"),
)
"""The fourteen files that are tasks. R2_1, R2_2_A and R2_2_B carry ids of an older numbering."""

NOT_A_TASK = "R3_3_MultiAgent_Intent"
"""A fifteenth file without images that the released pipeline never evaluates."""

ID_FIELDS = ("Question_id", "task_id", "id")
"""Fields that may hold the id of a question or of a prediction; the first that is given counts."""

ANSWER_FIELDS = ("ground_truth_order", "ground_truth", "answer")
"""Fields that may hold the true answer, likewise."""

_EMPTY: tuple[Any, ...] = (None, "", [], {})

_COLUMNS = frozenset(("question", "options", *ANSWER_FIELDS, "image_path", "image_paths", "images"))
"""Fields that become columns; all others are kept in `meta` under their own names."""


@dataclass(frozen=True, slots=True)
class Record:
    """One question of the release, before its images are looked up. Fields as in `items.Item`; `image_paths` are the
    paths on the authors' machine, in the order in which a model sees the images."""

    id: str
    file: QuestionFile
    scene_id: str
    question: str
    options: tuple[str, ...]
    answer: str
    image_paths: tuple[str, ...]
    views: tuple[str, ...]
    meta: Mapping[str, Any]

    @property
    def image_size(self) -> tuple[int, int] | None:
        """(width, height) in pixels that the record gives its images, None where it is silent."""
        data = self.meta.get("meta_data") or {}
        size = data.get("image_size") or data.get("image_resolution")
        return tuple(size) if size else None


@dataclass
class QuestionSet:
    """The records of one file, and what could not be read: lines such as "R1_3…jsonl:7: no answer"."""

    file: QuestionFile
    records: list[Record] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)


def find_questions(folder: Path | None, environment: Mapping[str, str]) -> Path:
    """The folder with the question files: `folder`, or the release that DRIVEHIERARCHY_RELEASE names, or either's
    `Open_Loop_Evaluation`. Raises ReleaseNotFoundError, saying what to do."""
    given = folder or (Path(value) if (value := environment.get(ENVIRONMENT_VARIABLE)) else None)
    remedy = f"pass the folder of the release with --release DIR or set {ENVIRONMENT_VARIABLE}=DIR"
    if given is None:
        raise ReleaseNotFoundError(f"the authors' question files are needed, and no folder is given: {remedy}")
    for candidate in (given / QUESTION_FOLDER, given):
        if any((candidate / file.question_file).is_file() for file in QUESTION_FILES):
            return candidate
    raise ReleaseNotFoundError(
        f"{given} holds none of the question files ({QUESTION_FILES[0].question_file}, …), nor does its "
        f"{QUESTION_FOLDER}: {remedy}"
    )


def read_questions(folder: Path, file: QuestionFile) -> QuestionSet:
    """As `scan_questions`, but raises DataError also when not a single line of the file is a record of its task."""
    questions = scan_questions(folder, file)
    if not questions.records:
        reasons = "; ".join(questions.rejected[:3]) or "the file is empty"
        raise DataError(f"{folder / file.question_file} holds no record of task {file.task}: {reasons}")
    return questions


def scan_questions(folder: Path, file: QuestionFile) -> QuestionSet:
    """Every record of one file. A line that cannot be read is named in `rejected`, never silently left out.

    Raises DataError when the file cannot be opened.
    """
    path = folder / file.question_file
    questions = QuestionSet(file)
    seen: set[str] = set()
    for number, line in _lines(path):
        where = f"{path.name}:{number}"
        try:
            raw = json.loads(line)
        except (ValueError, RecursionError) as error:
            questions.rejected.append(f"{where}: not JSON ({error})")
            continue
        try:
            record = parse_record(raw, file)
            if record.id in seen:
                raise DataError(f"id {record.id!r} is used twice")
        except DataError as error:
            questions.rejected.append(f"{where}: {error}")
            continue
        seen.add(record.id)
        questions.records.append(record)
    return questions


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    for number, line in enumerate(text.split(b"\n"), start=1):
        if line.strip():
            yield number, line.decode("utf-8", errors="replace")


def parse_record(raw: Any, file: QuestionFile) -> Record:
    """One record as the release writes it. Raises DataError naming the field that is missing or wrong."""
    if not isinstance(raw, dict):
        raise DataError(f"a record must be a JSON object, not {type(raw).__name__}")
    record_id = id_of(raw)
    if not record_id.startswith(file.id_prefix):
        raise DataError(f"id {record_id!r} does not belong to {file.stem}, whose ids begin with {file.id_prefix!r}")
    _check_fields(record_id, raw)
    paths, views = _images(record_id, raw)
    options = views if file.answer_kind == "order" else tuple(raw.get("options") or ())
    answer = _answer(record_id, raw)
    question = raw.get("question") or ""
    if not question and file.answer_kind != "order":
        raise DataError(f"{record_id}: field 'question' is missing")
    check_answer(record_id, file.answer_kind, answer, options)
    return Record(
        id=record_id,
        file=file,
        scene_id=_scene(record_id, raw, paths),
        question=question,
        options=options,
        answer=answer,
        image_paths=paths,
        views=views,
        meta=_meta(raw),
    )


_FIELDS: Final = MappingProxyType(
    {
        "question": (lambda value: isinstance(value, str), "text"),
        "options": (lambda value: _all_are(str, value), "a list of texts"),
        "images": (
            lambda value: _all_are(dict, value) and all(_all_are(str, [i.get("label"), i.get("path")]) for i in value),
            "a list of objects with 'label' and 'path'",
        ),
        "image_paths": (lambda value: _all_are(str, value), "a list of texts"),
        "image_paths_map": (lambda value: isinstance(value, dict) and _all_are(str, [*value.values()]), "an object"),
        "image_path": (lambda value: isinstance(value, str), "text"),
        "camera_channel": (lambda value: isinstance(value, str), "text"),
        "meta_data": (lambda value: isinstance(value, dict), "an object"),
        "image_size": (lambda value: _all_are(int, value) and len(value) == 2, "width and height in pixels"),
        "image_resolution": (lambda value: _all_are(int, value) and len(value) == 2, "width and height in pixels"),
    }
)
"""Field of a record, or of its `meta_data` -> what it must be where it is given, and that in words."""


def _all_are(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _check_fields(record_id: str, raw: Mapping[str, Any]) -> None:
    meta = raw.get("meta_data")
    for place in (raw, meta if isinstance(meta, dict) else {}):
        for name, (is_right, wanted) in _FIELDS.items():
            if place.get(name) and not is_right(place[name]):
                raise DataError(f"{record_id}: field {name!r} must be {wanted}")


def _meta(raw: Mapping[str, Any]) -> dict[str, Any]:
    """All that no column holds; of labelled images also the frame index, which is the true order's evidence."""
    meta = {key: value for key, value in raw.items() if key not in _COLUMNS}
    return {**meta, "image_frames": raw["images"]} if raw.get("images") else meta


def id_of(raw: Mapping[str, Any]) -> str:
    """The id of a question or prediction of the release. Raises DataError when it has none."""
    value = next((raw[name] for name in ID_FIELDS if raw.get(name)), None)
    if value is None:
        raise DataError(f"no id: none of {', '.join(map(repr, ID_FIELDS))} is given")
    if not isinstance(value, str):
        raise DataError(f"the id is {type(value).__name__}, not text")
    return value


def answer_of(raw: Mapping[str, Any]) -> Any:
    """The true answer of a question or prediction, as the release writes it. Raises DataError when there is none."""
    value = next((raw[name] for name in ANSWER_FIELDS if raw.get(name) not in _EMPTY), None)
    if value is None:
        raise DataError(f"no answer: none of {', '.join(map(repr, ANSWER_FIELDS))} is given")
    return value


def _answer(record_id: str, raw: Mapping[str, Any]) -> str:
    try:
        value = answer_of(raw)
    except DataError as error:
        raise DataError(f"{record_id}: {error}") from error
    if isinstance(value, dict) and isinstance(corners := value.get("bbox"), list) and len(corners) == 4:
        # The released scorer sorts the corners of every box before it compares.
        (x1, x2), (y1, y2) = sorted(corners[0::2]), sorted(corners[1::2])
        value = {**value, "bbox": [x1, y1, x2, y2]}
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _images(record_id: str, raw: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Paths and views, from the first of the release's places that holds any: `images`, `image_paths`,
    `meta_data.image_paths`, `image_path`."""
    if labelled := raw.get("images"):
        return tuple(i["path"] for i in labelled), tuple(i["label"] for i in labelled)
    meta = raw.get("meta_data") or {}
    if paths := raw.get("image_paths") or meta.get("image_paths"):
        cameras = {path: camera for camera, path in (raw.get("image_paths_map") or {}).items()}
        if cameras and set(cameras) != set(paths):
            raise DataError(f"{record_id}: 'image_paths' and 'image_paths_map' name different images")
        return tuple(paths), tuple(cameras.get(path, f"t{index}") for index, path in enumerate(paths))
    if path := raw.get("image_path"):
        return (path,), (raw.get("camera_channel") or "front",)
    raise DataError(f"{record_id}: no image is named")


def _scene(record_id: str, raw: Mapping[str, Any], paths: Sequence[str]) -> str:
    """Scene: nuScenes and NAVSIM name it, LingoQA has segments, a DRAMA frame lies in the folder of its clip."""
    scene = raw.get("scene_token") or raw.get("segment_id")
    if scene:
        return str(scene)
    clip = Path(paths[0]).parent.name
    if not clip:
        raise DataError(f"{record_id}: no scene: neither 'scene_token' nor 'segment_id', nor a folder in the path")
    return clip
