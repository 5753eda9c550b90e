"""Records in the form of the authors' question files, with invented content: one maker per file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image

from drivehierarchy_data.release import NOT_A_TASK, QUESTION_FILES

CAMERAS = ("CAM_FRONT", "CAM_FRONT_LEFT", "CAM_FRONT_RIGHT", "CAM_BACK", "CAM_BACK_LEFT", "CAM_BACK_RIGHT")
SCENE = "5c" * 16


def frame(camera: str, index: int) -> str:
    return f"/data/sets/nuscenes/samples/{camera}/n000-2020-01-01-00-00-00+0000__{camera}__{index:016d}.jpg"


def nuscenes(index: int, prefix: str, **fields: Any) -> dict[str, Any]:
    return {
        "Question_id": f"{prefix}{index}",
        "scene_token": SCENE,
        "sample_token": f"{index:032x}",
        "camera_channel": "CAM_FRONT",
        **fields,
        "original_Question_id": f"L{prefix[1:]}{index}",
        "refined_subtask_id": "R0-0",
        "original_subtask_id": "L0-0",
    }


def record(name: str, index: int) -> dict[str, Any]:
    """Record `index` of the file `name`."""
    one = {"image_path": frame("CAM_FRONT", index)}
    seen = {"category": "Vehicle", "object_ids": ["a", "b"], "distances_m": [4.5, 9.25], "image_size": [160, 90]}
    if name == "R1_1_A_Existence":
        return nuscenes(
            index, "R1_1_A_", question_type="L1-1_Existence", question="Any?", answer="Yes", meta_data=seen, **one
        )
    if name == "R1_1_B_Counting":
        return nuscenes(index, "R1_1_B_", question="How many?", answer="2", meta_data=seen, **one)
    if name == "R1_1_C_State_Attribute":
        options = ["A. parked.", "B. moving.", "C. stopped."]
        return nuscenes(index, "R1_1_C_", question="State?", options=options, answer="B", meta_data=seen, **one)
    if name == "R1_2_A_Nearest_Object":
        return nuscenes(index, "R1_2_A_", question="How far?", answer="12.34 m", meta_data={"ego_xy": [12, 3]}, **one)
    if name == "R1_2_B_Certain_Object":
        return nuscenes(index, "R1_2_B_", question="How far?", answer="7 m", meta_data={"pixel_coords": [1, 2]}, **one)
    if name == "R1_2_C_Distance_Bucket":
        return nuscenes(index, "R1_2_C_", question="How many?", answer="0", meta_data=seen, **one)
    if name == "R1_3_Location_Questions":
        return {
            "task_id": f"R1_3_{index}",
            "image_path": f"/data/sets/Drama/drama_data/combined/titan/clip_7_{index:06d}/frame_{index:06d}.png",
            "question": "Locate the thing.",
            "ground_truth": {"bbox": [30, 10, 20, 40], "format": "xyxy"},
            "meta_data": {"risk": "Yes", "agent_type": "Pedestrian", "image_resolution": [270, 152]},
            "original_task_id": f"L2-3_Location_{index}",
        }
    if name == "R1_4_Situation_Description":
        segment = f"{index:032x}"
        return {
            "Question_id": f"R1_4_{index}",
            "task_id": f"R1-4_LingoQA_{segment}",
            "segment_id": segment,
            "image_paths": [f"/data/sets/LingoQA/images/train/{segment}/{i}.jpg" for i in range(5)],
            "question": "What do you do?",
            "answer": "I wait.",
        }
    if name == "R2_1_Multi_view_Memory":
        paths = {camera: frame(camera, index) for camera in CAMERAS}
        raw = nuscenes(index, "R2_1_A_", question="How many?", answer="5", image_paths=list(paths.values()))
        del raw["camera_channel"]
        return {**raw, "meta_data": {"total_unique_count": 5}, "image_paths_map": dict(reversed(paths.items()))}
    if name == "R2_2_A_Temporal_Counting":
        paths = [frame("CAM_FRONT", 100 * index + i) for i in range(10)]
        return nuscenes(index, "R2_1_B_", question="How many?", answer="0", meta_data={}, image_paths=paths)
    if name == "R2_2_B_Temporal_Status_Recognition":
        options = ["A. No Change (It remains moving).", "B. It transitions from moving to stopped."]
        paths = [frame("CAM_FRONT", 100 * index + i) for i in range(5)]
        return nuscenes(
            index, "R2_1_C_", question="Change?", options=options, answer=options[1], meta_data={}, image_paths=paths
        )
    if name == "R2_3_Spatial_Relations":
        options = ["A. Front.", "B. Rear.", "C. Left.", "D. Right."]
        return nuscenes(index, "R2_3_", question="Where?", options=options, answer="D", meta_data={}, **one)
    if name == "R3_1_Outcome_Prediction":
        options = ["A. Turn left.", "B. Turn right.", "C. Back up.", "D. Stationary."]
        raw = nuscenes(index, "R3_1_", question="What next?", options=options, answer="D. Stationary.", meta_data={})
        return {**raw, "camera_channel": "CAM_BACK", "frame_token": raw.pop("sample_token"), **one}
    if name == "R3_2_Sequential_Planning":
        return {
            "Question_id": f"R3_2_{index}",
            "task_id": f"R3_2_{index}",
            "scene_token": f"{index:016x}",
            "images": [
                {
                    "label": label,
                    "path": f"/data/sets/NAVSIM_RANK/navsim_L3_2/images/L3-2_Seq_{index:06d}_{label}.jpg",
                    "frame_idx": 10 + 2 * position,
                }
                for label, position in (("A", 2), ("B", 0), ("C", 1))
            ],
            "ground_truth_order": ["B", "C", "A"],
            "meta_data": {
                "split": "trainval",
                "log_name": "2020.01.01_log",
                "frame_idxs_chronological": [10, 12, 14],
                "sample_tokens_chronological": ["token10", "token12", "token14"],
                "cam_channel": "CAM_F0",
            },
        }
    assert name == NOT_A_TASK
    return {"Question_id": f"R3_3_{index}", "question": "Who yields?", "answer": "Agent #0.", "image_path": ""}


def write_questions(folder: Path, count: int = 3) -> Path:
    """All fifteen files with `count` records each."""
    folder.mkdir(parents=True)
    for name in [*(file.stem for file in QUESTION_FILES), NOT_A_TASK]:
        lines = [json.dumps(record(name, index)) for index in range(count)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


ROOT_PARTS = {"nuscenes": "nuscenes", "drama": "Drama", "lingoqa": "LingoQA", "navsim": "NAVSIM_RANK"}


def write_images(root: Path, questions: Path, usual_size: tuple[int, int] = (160, 90)) -> dict[str, Path]:
    """Every image that the questions name, of the size that its record states or else the usual one, and the four
    root folders."""
    for path in questions.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            raw = json.loads(line)
            meta = raw.get("meta_data", {})
            size = tuple(meta.get("image_size") or meta.get("image_resolution") or usual_size)
            for name in image_paths(raw):
                target = root / name.removeprefix("/data/sets/")
                target.parent.mkdir(parents=True, exist_ok=True)
                Image.new("RGB", size, (sum(name.encode()) % 256, 90, 30)).save(target)
    return {dataset: root / part for dataset, part in ROOT_PARTS.items()}


def image_paths(raw: dict[str, Any]) -> list[str]:
    if raw.get("images"):
        return [image["path"] for image in raw["images"]]
    return raw.get("image_paths") or [path for path in [raw.get("image_path")] if path]
