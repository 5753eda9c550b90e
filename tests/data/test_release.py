"""The authors' question files: every quirk read right, every broken line named, every field kept."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from drivehierarchy_data import release
from drivehierarchy_data import release_import as release_import_module
from drivehierarchy_data.errors import DataError, ImageError
from drivehierarchy_data.image_roots import ImageRoots
from drivehierarchy_data.items import Item
from drivehierarchy_data.release import (
    NOT_A_TASK,
    QUESTION_FILES,
    _images,
    find_questions,
    parse_record,
    read_questions,
)
from drivehierarchy_data.release_import import EXCLUDED_FILE, import_release
from drivehierarchy_gym.errors import ReleaseNotFoundError
from tests.data import release_records

BY_NAME = {file.stem: file for file in QUESTION_FILES}
RELEASE = Path(os.environ.get("DRIVEHIERARCHY_RELEASE") or Path(__file__).parents[3] / "shared/data/release")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return release_records.write_questions(tmp_path / "questions")


@pytest.fixture
def roots(tmp_path: Path, questions: Path) -> ImageRoots:
    return ImageRoots(release_records.write_images(tmp_path / "sets", questions))


def parsed(name: str, **changes: Any) -> Any:
    return parse_record({**release_records.record(name, 0), **changes}, BY_NAME[name])


class TestRecords:
    """One record at a time."""

    def test_ids_of_the_older_numbering_belong_to_the_right_task(self) -> None:
        assert parsed("R2_1_Multi_view_Memory").file.task == "r2_1"
        assert parsed("R2_2_A_Temporal_Counting").id == "R2_1_B_0"
        assert parsed("R2_2_A_Temporal_Counting").file.task == "r2_2_a"
        assert parsed("R2_2_B_Temporal_Status_Recognition").id == "R2_1_C_0"

    def test_a_record_in_the_wrong_file_is_refused(self) -> None:
        with pytest.raises(DataError, match="id 'R2_1_C_0' does not belong to R2_2_A_Temporal_Counting"):
            parsed("R2_2_A_Temporal_Counting", Question_id="R2_1_C_0")

    def test_the_id_may_be_a_task_id(self) -> None:
        assert parsed("R1_3_Location_Questions").id == "R1_3_0"

    def test_question_id_comes_before_task_id(self) -> None:
        assert parsed("R1_4_Situation_Description").id == "R1_4_0"

    def test_answers_stay_letters_or_whole_options(self) -> None:
        assert parsed("R1_1_C_State_Attribute").answer == "B"
        assert parsed("R2_2_B_Temporal_Status_Recognition").answer == "B. It transitions from moving to stopped."

    def test_units_and_zero_counts_are_kept(self) -> None:
        assert parsed("R1_2_A_Nearest_Object").answer == "12.34 m"
        assert parsed("R2_2_A_Temporal_Counting").answer == "0"

    def test_a_box_is_kept_with_its_corners_in_order(self) -> None:
        assert json.loads(parsed("R1_3_Location_Questions").answer) == {"bbox": [20, 10, 30, 40], "format": "xyxy"}

    def test_an_order_has_labels_as_options_and_views_and_no_question(self) -> None:
        record = parsed("R3_2_Sequential_Planning")
        assert record.options == record.views == ("A", "B", "C")
        assert (record.question, json.loads(record.answer)) == ("", ["B", "C", "A"])
        assert [image["frame_idx"] for image in record.meta["image_frames"]] == [14, 10, 12]

    def test_six_cameras_are_in_the_order_of_the_paths_not_of_the_map(self) -> None:
        record = parsed("R2_1_Multi_view_Memory")
        assert record.views == release_records.CAMERAS
        assert all(f"/{view}/" in path for view, path in zip(record.views, record.image_paths, strict=True))

    def test_six_cameras_must_agree_with_their_map(self) -> None:
        with pytest.raises(DataError, match="'image_paths' and 'image_paths_map' name different images"):
            parsed("R2_1_Multi_view_Memory", image_paths_map={"CAM_FRONT": "/elsewhere.jpg"})

    def test_clips_are_named_by_time_and_single_images_by_camera(self) -> None:
        assert parsed("R2_2_B_Temporal_Status_Recognition").views == ("t0", "t1", "t2", "t3", "t4")
        assert parsed("R3_1_Outcome_Prediction").views == ("CAM_BACK",)
        assert parsed("R1_3_Location_Questions").views == ("front",)

    def test_images_may_be_listed_in_the_meta_data(self) -> None:
        record = parsed("R1_1_A_Existence", image_path=None, meta_data={"image_paths": ["/data/a.jpg", "/data/b.jpg"]})
        assert record.image_paths == ("/data/a.jpg", "/data/b.jpg")

    def test_scenes_come_from_token_segment_or_clip(self) -> None:
        assert parsed("R1_1_A_Existence").scene_id == release_records.SCENE
        assert parsed("R1_4_Situation_Description").scene_id == "0" * 32
        assert parsed("R1_3_Location_Questions").scene_id == "clip_7_000000"

    @pytest.mark.parametrize("name", BY_NAME)
    def test_no_field_is_lost(self, name: str) -> None:
        raw = release_records.record(name, 0)
        record = parsed(name)
        columns = {"question", "options", "answer", "ground_truth", "ground_truth_order"}
        paths = {"image_path", "image_paths", "images"}
        assert set(raw) - columns - paths == set(record.meta) - {"image_frames"}
        assert list(record.image_paths) == release_records.image_paths(raw)

    @pytest.mark.parametrize(
        ("name", "changes", "message"),
        [
            ("R1_1_A_Existence", {"Question_id": None}, "no id: none of 'Question_id', 'task_id', 'id' is given"),
            ("R1_1_A_Existence", {"answer": ""}, "R1_1_A_0: no answer"),
            ("R1_1_A_Existence", {"answer": "maybe"}, "answer 'maybe' of kind 'yes_no' must be 'Yes' or 'No'"),
            ("R1_1_A_Existence", {"question": None}, "R1_1_A_0: field 'question' is missing"),
            ("R1_1_A_Existence", {"image_path": ""}, "R1_1_A_0: no image is named"),
            ("R1_1_C_State_Attribute", {"answer": "D"}, "answer 'D' of kind 'choice' must be a letter of"),
            ("R1_1_C_State_Attribute", {"options": None}, "field 'options' has 0 entries"),
            ("R3_2_Sequential_Planning", {"ground_truth_order": ["B", "C"]}, "each of the labels"),
            ("R3_2_Sequential_Planning", {"images": ["a.jpg"]}, "field 'images' must be a list of objects with"),
            ("R1_3_Location_Questions", {"image_path": "frame.png"}, "no scene"),
        ],
    )
    def test_broken_records_are_named(self, name: str, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(DataError, match=message):
            parsed(name, **changes)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_any_value_in_any_field_is_read_or_named(data: st.DataObject) -> None:
    """A line with a value of the wrong type costs itself, whatever the field."""
    name = data.draw(st.sampled_from(sorted(BY_NAME)))
    raw = release_records.record(name, 0)
    inside = raw if "meta_data" not in raw or data.draw(st.booleans()) else raw["meta_data"]
    fields = st.sampled_from(
        [*inside, "images", "image_paths", "image_paths_map", "image_size", "meta_data", "options"]
    )
    inside[data.draw(fields)] = data.draw(_JSON)
    try:
        record = parse_record(raw, BY_NAME[name])
    except DataError:
        return
    assert all(isinstance(text, str) for text in (record.id, record.question, *record.options, *record.image_paths))
    assert record.image_size is None or len(record.image_size) == 2


class TestFiles:
    """Whole files."""

    def test_finds_the_folder_by_option_variable_or_name(self, questions: Path, tmp_path: Path) -> None:
        assert find_questions(questions, {}) == questions
        release = tmp_path / "release"
        release_records.write_questions(release / "Open_Loop_Evaluation")
        assert find_questions(release, {}) == release / "Open_Loop_Evaluation"
        assert find_questions(None, {"DRIVEHIERARCHY_RELEASE": str(release)}) == release / "Open_Loop_Evaluation"

    def test_says_how_to_give_a_release(self, tmp_path: Path) -> None:
        with pytest.raises(ReleaseNotFoundError, match="with --release DIR or set DRIVEHIERARCHY_RELEASE=DIR"):
            find_questions(None, {})
        with pytest.raises(ReleaseNotFoundError, match="holds none of the question files"):
            find_questions(tmp_path, {})

    def test_names_every_line_that_it_cannot_read_and_keeps_the_others(self, questions: Path) -> None:
        path = questions / "R1_1_B_Counting.jsonl"
        lines = path.read_text().splitlines()
        half = lines[2][: len(lines[2]) // 2]
        path.write_text("\n".join([lines[0], "", "[]", lines[0], lines[1], half]))
        read = read_questions(questions, BY_NAME["R1_1_B_Counting"])
        assert [record.id for record in read.records] == ["R1_1_B_0", "R1_1_B_1"]
        assert [line.partition(": ")[0].rpartition(":")[2] for line in read.rejected] == ["3", "4", "6"]
        assert "must be a JSON object, not list" in read.rejected[0]
        assert "id 'R1_1_B_0' is used twice" in read.rejected[1]
        assert "not JSON" in read.rejected[2]

    def test_a_file_without_any_record_is_an_error(self, questions: Path) -> None:
        (questions / "R1_1_B_Counting.jsonl").write_text("{}\n")
        with pytest.raises(DataError, match=r"holds no record of task r1_1_b: R1_1_B_Counting\.jsonl:1: no id"):
            read_questions(questions, BY_NAME["R1_1_B_Counting"])
        (questions / "R1_1_B_Counting.jsonl").unlink()
        with pytest.raises(DataError, match=r"R1_1_B_Counting.jsonl: cannot be read \(No such file"):
            read_questions(questions, BY_NAME["R1_1_B_Counting"])


class TestImageRoots:
    """From the authors' paths to the user's folders."""

    @pytest.mark.parametrize("below", ["", "drama_data", "drama_data/combined", "drama_data/combined/titan"])
    def test_a_root_may_be_any_folder_along_the_path(self, roots: ImageRoots, below: str) -> None:
        record = parsed("R1_3_Location_Questions")
        shifted = ImageRoots({"drama": roots.folders["drama"] / below})
        assert shifted.locate(record.image_paths[0], "drama", record.meta).is_file()

    def test_missing_images_say_where_they_were_expected(self, roots: ImageRoots, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match=r"nuscenes/samples/x.jpg does not exist, nor does a shorter path"):
            roots.locate("/data/sets/nuscenes/samples/x.jpg", "nuscenes", {})
        with pytest.raises(ImageError, match="no folder given for drama: pass --drama DIR"):
            ImageRoots({}).locate("/data/sets/Drama/x.png", "drama", {})

    def test_without_a_root_the_path_itself_is_tried(self, tmp_path: Path) -> None:
        path = tmp_path / "x.png"
        Image.new("RGB", (2, 2)).save(path)
        assert ImageRoots({}).locate(str(path), "drama", {}) == path

    def test_renamed_navsim_frames_are_found_through_their_log(self, tmp_path: Path) -> None:
        record = parsed("R3_2_Sequential_Planning")
        frames = [
            {
                "token": f"token{index}",
                "ego2global": np.eye(4),
                "cams": {"CAM_F0": {"data_path": f"2020.01.01_log/CAM_F0/{index:016x}.jpg"}},
            }
            for index in (8, 10, 12, 14)
        ]
        log = tmp_path / "navsim_logs/trainval/2020.01.01_log.pkl"
        log.parent.mkdir(parents=True)
        log.write_bytes(pickle.dumps(frames))
        blobs = tmp_path / "sensor_blobs/trainval/2020.01.01_log/CAM_F0"
        blobs.mkdir(parents=True)
        for index in (10, 12, 14):
            Image.new("RGB", (4, 2)).save(blobs / f"{index:016x}.jpg")
        roots = ImageRoots({"navsim": tmp_path})
        found = [roots.locate(path, "navsim", record.meta).name for path in record.image_paths]
        assert found == [f"{index:016x}.jpg" for index in (14, 10, 12)]
        (blobs / f"{10:016x}.jpg").unlink()
        with pytest.raises(ImageError, match="does not exist"):
            roots.locate(record.image_paths[1], "navsim", record.meta)

    def test_a_log_that_would_run_code_is_refused(self, tmp_path: Path) -> None:
        record = parsed("R3_2_Sequential_Planning")
        log = tmp_path / "navsim_logs/trainval/2020.01.01_log.pkl"
        log.parent.mkdir(parents=True)
        log.write_bytes(pickle.dumps([os.getcwd]))
        with pytest.raises(DataError, match=r"2020.01.01_log.pkl: not a NAVSIM log \(UnpicklingError: refuses"):
            ImageRoots({"navsim": tmp_path}).locate(record.image_paths[0], "navsim", record.meta)


class TestImport:
    """Records and images to Parquet."""

    def test_the_release_is_not_written_into(self, questions: Path, roots: ImageRoots) -> None:
        for out in (questions, questions.parent):
            with pytest.raises(DataError, match=r"holds the release, .*; give another folder with --out"):
                import_release(questions, out, roots)

    def test_imports_all_fourteen_tasks_and_says_what_is_not_one(
        self, questions: Path, roots: ImageRoots, tmp_path: Path
    ) -> None:
        report = import_release(questions, tmp_path / "out", roots)
        assert {task: report.edition.size(task) for task in report.edition.tasks()} == {
            file.task: 3 for file in QUESTION_FILES
        }
        assert report.excluded == []
        assert report.notes == [
            f"{NOT_A_TASK}.jsonl is not a task of the benchmark (it has no images) and is not imported"
        ]
        item: Item = next(report.edition.items("r2_2_b"))
        assert (item.rank, item.source, item.answer_kind, len(item.images)) == ("R2", "nuscenes", "choice", 5)
        assert item.meta["image_paths"] == release_records.image_paths(
            release_records.record("R2_2_B_Temporal_Status_Recognition", 0)
        )

    def test_what_is_left_out_is_counted_written_down_and_tried_again(
        self, questions: Path, roots: ImageRoots, tmp_path: Path
    ) -> None:
        images = sorted((roots.folders["lingoqa"] / "images/train").glob("*/3.jpg"))
        first, second = images[0].read_bytes(), images[1].read_bytes()
        images[0].unlink()
        images[1].write_bytes(second[: len(second) // 2])
        (questions / "R1_3_Location_Questions.jsonl").unlink()
        with (questions / "R2_3_Spatial_Relations.jsonl").open("a") as file:
            file.write('{"Question_id": "R2_3_9", "ans')
        report = import_release(questions, tmp_path / "out", roots)
        assert report.counts() == {
            "r1_3": {"missing question file": 1},
            "r1_4": {"missing image": 1, "unusable image": 1},
            "r2_3": {"unreadable record": 1},
        }
        assert report.edition.manifest.excluded == report.counts()
        assert [document["id"] for document in report.edition.documents("r1_4")] == ["R1_4_2"]
        lines = (report.edition.folder / EXCLUDED_FILE).read_text().splitlines()
        assert [json.loads(line)["record"] for line in lines] == [
            "R1_3_Location_Questions.jsonl",
            "R1_4_0",
            "R1_4_1",
            "R2_3_Spatial_Relations.jsonl:4",
        ]

        images[0].write_bytes(first)
        images[1].write_bytes(second)
        again = import_release(questions, tmp_path / "out", roots)
        assert again.edition.size("r1_4") == 3
        assert again.edition.problems() == []

    def test_a_file_that_is_there_but_of_no_use_is_not_called_missing(
        self, questions: Path, roots: ImageRoots, tmp_path: Path
    ) -> None:
        import_release(questions, tmp_path / "out", roots)
        (questions / "R1_1_A_Existence.jsonl").write_text('{"Question_id": "R1_1_A_0"}\n[]\n')
        (questions / "R1_1_B_Counting.jsonl").write_text("\n")
        (questions / "R1_2_A_Nearest_Object.jsonl").unlink()
        (questions / "R1_2_B_Certain_Object.jsonl").unlink()
        (questions / "R1_2_B_Certain_Object.jsonl").mkdir()
        report = import_release(questions, tmp_path / "out", roots)
        assert [(e.record, e.reason) for e in report.excluded] == [
            ("R1_1_A_Existence.jsonl:1", "unreadable record"),
            ("R1_1_A_Existence.jsonl:2", "unreadable record"),
            ("R1_1_B_Counting.jsonl", "unusable question file"),
            ("R1_2_A_Nearest_Object.jsonl", "missing question file"),
            ("R1_2_B_Certain_Object.jsonl", "unusable question file"),
        ]
        assert "no image is named" in report.excluded[0].detail
        assert "Is a directory" in report.excluded[4].detail
        assert not {"r1_1_a", "r1_1_b", "r1_2_a", "r1_2_b"} & set(report.edition.tasks())

    def test_an_image_of_another_size_than_the_record_says_is_left_out(
        self, questions: Path, roots: ImageRoots, tmp_path: Path
    ) -> None:
        path = sorted(roots.folders["drama"].rglob("*.png"))[0]
        Image.new("RGB", (135, 76)).save(path)
        report = import_release(questions, tmp_path / "out", roots)
        assert [exclusion.record for exclusion in report.excluded] == ["R1_3_0"]
        assert "is 135x76, but the record is about 270x152" in report.excluded[0].detail

    def test_a_second_import_keeps_every_finished_file(
        self, questions: Path, roots: ImageRoots, tmp_path: Path
    ) -> None:
        first = import_release(questions, tmp_path / "out", roots)
        written = {path: path.stat().st_mtime_ns for path in first.edition.folder.glob("*/*.parquet")}
        import_release(questions, tmp_path / "out", roots)
        assert {path: path.stat().st_mtime_ns for path in written} == written

    @pytest.mark.parametrize(
        ("module", "name", "other"),
        [
            (release, "_scene", lambda *_: "another scene"),
            (release, "_images", lambda record_id, raw: (_images(record_id, raw)[0], ("other",))),
            (release_import_module, "QUESTION_FILES", [replace(BY_NAME["R1_1_A_Existence"], rank="R2")]),
            (release_import_module, "QUESTION_FILES", [replace(BY_NAME["R1_1_A_Existence"], source="drama")]),
            (release_import_module, "QUESTION_FILES", [replace(BY_NAME["R1_1_A_Existence"], answer_kind="text")]),
            (release_import_module, "code_digest", lambda *_: "other code"),
        ],
        ids=["scene", "views", "rank", "source", "kind", "code"],
    )
    def test_what_decides_a_file_has_it_written_again(
        self,
        questions: Path,
        roots: ImageRoots,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        module: Any,
        name: str,
        other: Any,
    ) -> None:
        monkeypatch.setattr(release_import_module, "QUESTION_FILES", [BY_NAME["R1_1_A_Existence"]])
        roots = ImageRoots(dict.fromkeys(("nuscenes", "drama"), roots.folders["nuscenes"]))
        (path,) = import_release(questions, tmp_path / "out", roots).edition.shards("r1_1_a")
        before = path.stat().st_mtime_ns
        monkeypatch.setattr(module, name, other)
        import_release(questions, tmp_path / "out", roots)
        assert path.stat().st_mtime_ns > before

    def test_files_of_a_longer_import_do_not_stay(self, questions: Path, roots: ImageRoots, tmp_path: Path) -> None:
        first = import_release(questions, tmp_path / "out", roots)
        left_over = first.edition.folder / "r1_1_a/test-00001.parquet"
        left_over.write_bytes(first.edition.shards("r1_1_a")[0].read_bytes())
        again = import_release(questions, tmp_path / "out", roots)
        assert not left_over.exists()
        assert again.edition.size("r1_1_a") == 3

    def test_nothing_to_import_is_an_error_with_the_reason(self, questions: Path, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"not one record of .* could be imported .*no folder given for nuscenes"):
            import_release(questions, tmp_path / "out", ImageRoots({}))


@pytest.mark.release
@pytest.mark.skipif(not (RELEASE / "Open_Loop_Evaluation").is_dir(), reason="no folder of the authors' release")
class TestAuthorsFiles:
    """The authors' own files, where a copy is at hand."""

    @pytest.mark.parametrize("name", BY_NAME)
    def test_every_record_is_read_and_no_field_lost(self, name: str) -> None:
        folder = find_questions(RELEASE, {})
        questions = read_questions(folder, BY_NAME[name])
        raw = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        assert questions.rejected == []
        assert len(questions.records) == len(raw)
        columns = {"question", "options", "answer", "ground_truth", "ground_truth_order"}
        paths = {"image_path", "image_paths", "images"}
        for record, source in zip(questions.records, raw, strict=True):
            assert set(source) - columns - paths == set(record.meta) - {"image_frames"}
            assert list(record.image_paths) == release_records.image_paths(source)
            assert record.question == source.get("question", "")

    def test_all_tasks_import_with_stand_in_images(self, tmp_path: Path) -> None:
        folder = find_questions(RELEASE, {})
        roots = ImageRoots(release_records.write_images(tmp_path / "sets", folder, (1600, 900)))
        report = import_release(folder, tmp_path / "out", roots)
        assert report.excluded == []
        for file in QUESTION_FILES:
            assert report.edition.size(file.task) == len(read_questions(folder, file).records)
