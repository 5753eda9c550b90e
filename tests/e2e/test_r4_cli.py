"""The command line `drivehierarchy r4`, as people type it."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import imageio.v3 as iio
import psutil
import pytest
from typer.testing import CliRunner

from lm_eval_drivehierarchy.cli import SUBCOMMANDS, app

DRIVER = '''
import time


class Slow:
    """Drives on, one decision every 20 ms."""

    action_mode, observation, privileged = "target_speed", "state", False

    def reset(self, context, info):
        pass

    def act(self, observation, info):
        time.sleep(0.02)
        return [0.0, 8.0]

    def close(self):
        pass


class Keeps(Slow):
    def __init__(self, value=None):
        self.value = value


class Sulking(Slow):
    def act(self, observation, info):
        return None
'''


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Working directory with a module of drivers."""
    (tmp_path / "drivers.py").write_text(DRIVER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def r4(*arguments):
    result = CliRunner().invoke(app, ["r4", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def traces(folder):
    """Everything of a result tree that must not depend on how it came about."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if "void" in path.relative_to(folder).parts:
            continue
        if path.name == "steps.jsonl":
            found[path.relative_to(folder)] = path.read_bytes()
        elif path.name == "scene_score.json":
            content = json.loads(path.read_text())
            del content["meta"]["duration_system"]
            found[path.relative_to(folder)] = content
    return found


def run_arguments(suite, out, *more):
    return ["run", "--suite", suite, "--out", out, "--agent", "drivers:Slow", "--repeats", "2", *more]


def test_help_loads_nothing_heavy():
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from lm_eval_drivehierarchy.cli import app\n"
        "for words in (['--help'], ['r4', '--help'], ['r4', 'run', '--help']):\n"
        "    assert CliRunner().invoke(app, words).exit_code == 0\n"
        "print({'lm_eval', 'datasets', 'libsumo', 'numba', 'cv2', 'matplotlib'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_subcommand_is_listed_and_loads():
    listing = CliRunner().invoke(app, ["--help"]).output
    for name in SUBCOMMANDS:
        assert name in listing
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0


def test_run_resume_summary_replay(home, tiny_suite):
    first = r4(*run_arguments(tiny_suite, "a"))
    assert first.exit_code == 0, first.output
    assert "[4/4]" in first.output
    assert "destination_reached" in first.output
    before = traces(home / "a")
    assert len(before) == 8

    # The same command again has nothing to do; a damaged result is made again and is the same.
    again = r4(*run_arguments(tiny_suite, "a"))
    assert "4 already there" in again.output
    (home / "a/Slow/03_turning/one/repeat_1/scene_score.json").write_text("{")
    mended = r4(*run_arguments(tiny_suite, "a"))
    assert mended.exit_code == 0
    assert "does not count" in mended.output
    assert traces(home / "a") == before

    # Another number of workers gives the same results.
    r4(*run_arguments(tiny_suite, "b", "--workers", "4"))
    assert traces(home / "b") == before

    summary = r4("summary", "a", "--out", "s.csv")
    assert summary.exit_code == 0
    rows = list(csv.DictReader((home / "s.csv").open()))
    assert [(row["scene"], row["model"], row["sample_count"]) for row in rows] == [
        ("03_turning", "Slow", "2"),
        ("08_merging", "Slow", "2"),
    ]
    assert {row["avg_score_composed"] for row in rows} == {"100.000000"}

    for name in ("one.mp4", "one.gif"):
        replay = r4("replay", "a/Slow/03_turning/one/repeat_0", "--out", name)
        assert replay.exit_code == 0, replay.output
    frames = iio.imread("one.mp4")
    steps = (home / "a/Slow/03_turning/one/repeat_0/steps.jsonl").read_text().splitlines()
    assert len(frames) == len(steps) + 1
    assert frames[0].shape == (480, 1250, 3)
    assert frames[0].std() > 10
    first_video = (home / "one.mp4").read_bytes()
    r4("replay", "a/Slow", "--scenario", "one", "--out", "two")
    r4("replay", "a/Slow/03_turning/one/repeat_0", "--out", "one.mp4")
    assert (home / "one.mp4").read_bytes() == first_video
    assert sorted(path.name for path in (home / "two").iterdir()) == [
        "03_turning_one_repeat_0.mp4",
        "03_turning_one_repeat_1.mp4",
    ]

    # A drive that does not repeat is not shown.
    path = home / "a/Slow/03_turning/one/repeat_0/steps.jsonl"
    path.write_text(path.read_text().replace('"action":[0.0,8.0]', '"action":[0.1,8.0]', 3))
    refused = r4("replay", "a/Slow/03_turning/one/repeat_0", "--out", "x.mp4")
    assert refused.exit_code == 2
    assert "not the same world" in refused.output
    assert not (home / "x.mp4").exists()


def test_killed_batch_continues_to_the_same_results(home, tiny_suite):
    assert r4(*run_arguments(tiny_suite, "whole")).exit_code == 0
    command = [sys.executable, "-c", "from lm_eval_drivehierarchy.cli import app; app()", "r4"]
    command += [str(word) for word in run_arguments(tiny_suite, "killed", "--workers", "2")]
    for wanted in (1, 2):  # kill it twice: after the first result, and in the middle of the next ones
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(list((home / "killed").rglob("scene_score.json"))) < wanted and time.monotonic() < deadline:
            time.sleep(0.01)
        children = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert psutil.wait_procs(children, timeout=15)[1] == []
        assert 1 <= len(list((home / "killed").rglob("scene_score.json"))) < 4
    assert r4(*run_arguments(tiny_suite, "killed", "--workers", "2")).exit_code == 0
    assert traces(home / "killed") == traces(home / "whole")
    assert not (home / "killed/Slow/.partial").exists()


def test_vlm_drives_and_its_endpoint_may_go_down(home, tiny_suite, chat_server):
    arguments = ["run", "--suite", tiny_suite, "--out", "v", "--agent", "vlm", "--model", "org/tiny", "--retries", "0"]
    arguments += ["--base-url", chat_server.url, "--frames"]
    chat_server.models = ["org/tiny"]
    chat_server.replies = ["steer: 0.0\ntarget_speed_mps: 8.0"] * 5 + [(503, {}, b"")]
    stopped = r4(*arguments)
    assert stopped.exit_code == 1
    assert "void (infrastructure)" in stopped.output
    assert "the batch stopped" in stopped.output
    assert not list((home / "v").rglob("scene_score.json"))
    assert r4("summary", "v").exit_code == 1

    chat_server.replies = ["nonsense", "steer: 0.0\ntarget_speed_mps: 8.0"]
    done = r4(*arguments)
    assert done.exit_code == 0, done.output
    score = json.loads((home / "v/tiny/03_turning/one/scene_score.json").read_text())
    assert score["extra"]["agent_faults"] == {"unparseable": 1}
    assert score["extra"]["observation"] == "full"
    folder = home / "v/tiny/03_turning/one"
    log = [json.loads(line) for line in (folder / "agent.jsonl").open()]
    assert {line["prompt_tokens"] for line in log} == {700}
    assert len(list((folder / "frames").iterdir())) == 2 * (len(log) + 1)
    assert r4("replay", folder, "--out", "v.mp4").exit_code == 0
    assert len(iio.imread("v.mp4")) == len(log) + 1
    manifest = json.loads((home / "v/tiny/manifest.json").read_text())
    assert manifest["settings"]["agent_options"]["model"] == "org/tiny"
    assert manifest["settings"]["agent_timeout"] is None  # its own: request_timeout and retries

    chat_server.close()
    down = r4(*arguments, "--repeats", "2")
    assert down.exit_code == 2
    assert "start the endpoint" in down.output


def test_no_valid_answer_stops_the_batch(home, tiny_suite):
    result = r4("run", "--suite", tiny_suite, "--out", "n", "--agent", "drivers:Sulking")
    assert result.exit_code == 1
    assert "not one of the agent's" in result.output
    assert "[2/2]" not in result.output
    assert not list((home / "n").rglob("scene_score.json"))


def test_other_settings_do_not_continue_a_run(home, tiny_suite):
    arguments = ["run", "--suite", tiny_suite, "--out", "o", "--scenario", "two", "--agent", "constant"]
    assert r4(*arguments, "--option", "target_speed=8").exit_code == 0
    for more, word in (
        (["--option", "target_speed=9"], "agent_options"),
        (["--option", "target_speed=8", "--seed", "5"], "seed"),
        (["--option", "target_speed=8", "--agent-timeout", "5"], "agent_timeout 60.0, this command has 5.0"),
    ):
        refused = r4(*arguments, *more)
        assert refused.exit_code == 2
        assert f"holds results with {word}" in " ".join(refused.output.split())
        assert "another --out or --name" in refused.output


def test_list_and_show(home, tiny_suite):
    listing = r4("list", "--suite", tiny_suite, "--family", "08*")
    assert "two" in listing.output
    assert "one" not in listing.output.split("two")[1].split("an empty road")[0]
    assert r4("show", "one", "--suite", tiny_suite, "--out", "map.png").exit_code == 0
    picture = iio.imread("map.png")
    assert min(picture.shape[:2]) > 400
    assert picture[..., :3].std() > 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--suite", "opn"], "unknown suite 'opn'; did you mean 'open'"),
        (["run", "--agent", "exprt"], "unknown agent 'exprt'; did you mean 'expert'"),
        (["run", "--backend", "sumoo"], "did you mean 'sumo'"),
        (["run", "--profile", "strickt"], "did you mean 'strict'"),
        (["run", "--scenario", "turning_1"], "did you mean 'turning_01'"),
        (["run", "--family", "03_turnin"], "did you mean '03_turning'"),
        (["run", "--agent", "constant", "--option", "stear=1"], "did you mean 'steer'"),
        (["run", "--agent", "vlm"], "needs the option 'model'"),
        (["run", "--agent", "nowhere:Driver"], "importing 'nowhere' failed"),
        (["run", "--engine", "rai"], "unknown engine 'rai'"),
        (["run", "--observation", "ful"], "unknown observation 'ful'; did you mean 'full'"),
        (["run", "--command-chooser", "lan"], "did you mean 'lane'"),
        (["run", "--parse-rule", "flexibl"], "did you mean 'flexible'"),
        (["run", "--suite", ""], "unknown suite ''"),
        (["list", "--suite", ""], "unknown suite ''"),
        (["run", "--agent-timeout", "nan"], "--agent-timeout is above 0 s"),
        (["run", "--agent-timeout", "inf"], "--agent-timeout is above 0 s and at most"),
        (["run", "--agent-timeout", "1e10"], "--agent-timeout is above 0 s and at most"),
        (["run", "--repeats", "0"], "--repeats is at least 1"),
        (["run", "--name", ".."], "cannot be the name of a folder"),
        (["run", "--agent", "vlm", "--model", "m", "--temperature", "-1"], "--temperature"),
        (["run", "--agent", "vlm", "--model", "m", "--max-tokens", "0"], "--max-tokens"),
        (["run", "--agent", "vlm", "--model", "m", "--retries", "-1"], "--retries"),
        (["run", "--agent", "vlm", "--model", "m", "--jpeg-quality", "101"], "--jpeg-quality"),
        (["run", "--agent", "vlm", "--model", "m", "--extra-body", '{"top_p": NaN}'], "NaN is not a number"),
        (["run", "--agent", "vlm", "--model", "m", "--extra-body", "[" * 100_000], "nested too deeply"),
        (["run", "--agent", "drivers:Keeps", "--option", "value=1e999"], "cannot be written as JSON"),
        (["run", "--agent", "constant", "--out", "/proc/foo"], "cannot be written"),
        (["run", "--agent", "constant", "--out", "drivers.py"], "cannot be written"),
        (["run", "--agent", "constant", "--out", "drivers.py/below"], "cannot be written"),
        (["show", "turning_01", "--out", "/proc/x.png"], "/proc/x.png: cannot be written"),
        (["show", "turning_01", "--out", "drivers.py/x.png"], "drivers.py/x.png: cannot be written"),
        (["summary", ".", "--seed", "-1"], "--seed"),
        (["run", "--workers", "0"], "--workers is at least 1"),
        (["run", "--observation", "state", "--frames"], "--frames needs pictures"),
        (["run", "--prompt-file", "no.txt"], "no.txt"),
        (["run", "--suite", "release", "--release", "."], "is not the folder of the authors' release"),
        (["show", "turning_1"], "did you mean 'turning_01'"),
        (["summary", "nowhere"], "no such folder of results"),
        (["replay", "nowhere"], "no scene_score.json"),
    ],
)
def test_mistakes_end_in_one_line(home, arguments, words):
    result = r4(*arguments)
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert [path.name for path in home.iterdir()] in (["drivers.py"], ["drivers.py", "__pycache__"])


@pytest.fixture
def constant_run(home, tiny_suite):
    """A finished run of one scenario: the words that made it, and its folder."""
    words = ["run", "--suite", tiny_suite, "--scenario", "two", "--agent", "constant", "--out", "c"]
    assert r4(*words, "--option", "target_speed=8").exit_code == 0
    return [*words, "--option", "target_speed=8"], home / "c/constant/08_merging/two"


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="ray is installed")
def test_ray_is_asked_for_before_anything_is_made(home, tiny_suite):
    result = r4("run", "--suite", tiny_suite, "--agent", "constant", "--out", "ray", "--engine", "ray")
    assert result.exit_code == 2
    assert "pip install" in result.output
    assert not (home / "ray").exists()


def test_whatever_became_of_a_result_the_same_command_mends_it(constant_run, home):
    words, folder = constant_run
    before = traces(home / "c")
    path = folder / "scene_score.json"
    good = json.loads(path.read_text())
    other = {**good["extra"], "evaluator": {**good["extra"]["evaluator"], "hash": "deadbeef"}}
    for content in (
        None,
        "",
        "[" * 100_000,
        {"extra": None},
        {"extra": [1]},
        {**good, "extra": {**good["extra"], "agent_faults": 3}},
        {**good, "extra": {**good["extra"], "evaluator": "x"}},
        {**good, "scene_id": "one"},
        {**good, "extra": other},
    ):
        path.unlink()
        if content is not None:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        summary = r4("summary", "c")
        refused = isinstance(content, dict) and content["extra"] == other
        assert summary.exit_code == (2 if refused else 1), summary.output
        mended = r4(*words)
        assert mended.exit_code == 0, mended.output
        assert ("does not count" in mended.output) == (content is not None)
        assert traces(home / "c") == before
    assert r4("summary", "c").exit_code == 0


def test_a_malformed_void_record_is_noted_and_the_rest_goes_on(constant_run, home):
    words, _ = constant_run
    path = home / "c/constant/void/a/b/c/void.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    for command in (words, ["summary", "c"]):
        result = r4(*command)
        assert result.exit_code == 0, result.output
        assert "not the record of a void run" in result.output


def test_outputs_that_cannot_be_written_are_refused_before_the_work(constant_run, home):
    _, folder = constant_run
    (home / "folder.mp4").mkdir()
    for out in ("/proc/x.mp4", "drivers.py/x.mp4", "folder.mp4"):
        result = r4("replay", folder, "--out", out)
        assert result.exit_code == 2
        assert result.output.strip() == result.output.strip().splitlines()[0]
        assert f"{out}: cannot be written" in result.output
    for out in ("/proc/x.csv", "drivers.py/x.csv"):
        result = r4("summary", "c", "--out", out)
        assert result.exit_code == 2
        assert f"{out}: cannot be written" in result.output
