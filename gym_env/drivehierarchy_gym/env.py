"""The Gymnasium environment of rank R4; `gym_env/README.md` is its documentation page."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NoReturn

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from drivehierarchy_gym.action_text import PARSE_RULES, ParseRule
from drivehierarchy_gym.actions import ACTION_MODES, ActionMode, Decoded, action_space, decode
from drivehierarchy_gym.backends import BACKENDS, make_backend
from drivehierarchy_gym.backends.protocol import Backend
from drivehierarchy_gym.bev_overlay import draw_route
from drivehierarchy_gym.bridge import MAX_TARGET_SPEED, ActuationBridge
from drivehierarchy_gym.commands import COMMAND_CHOOSERS, Command, CommandChooser, LaneCommands, release_command
from drivehierarchy_gym.ending import Ending, EndingRules
from drivehierarchy_gym.errors import unknown_name
from drivehierarchy_gym.frame import compose_frame
from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.meta import MetaDriver
from drivehierarchy_gym.plan import EpisodePlan
from drivehierarchy_gym.prompt import ANSWER_FORMATS, load_template, route_points_text
from drivehierarchy_gym.render.camera import BEV, FRONT
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.route import FUTURE_DISTANCES, RouteTracker
from drivehierarchy_gym.scenarios.suites import load_suite
from drivehierarchy_gym.scoring import PROFILES, Profile, ScoreTracker, VoidReason
from drivehierarchy_gym.state import EgoState, Snapshot, TickState, VehicleControl

ObservationMode = Literal["full", "state"]
OBSERVATION_MODES: tuple[ObservationMode, ...] = ("full", "state")
TICKS_PER_DECISION = 5
"""A decision holds for this many ticks of 0.05 s: 4 Hz."""
_FARTHEST = 1e5
"""Metres; bound of distances in the observation, beyond any road network."""
_FASTEST = 100.0
"""m/s; bound of the speed in the observation, beyond any car."""

Observation = dict[str, Any]


def observation_space(mode: ObservationMode) -> spaces.Dict:
    """Space of an observation mode; `state` is `full` without the two pictures."""
    parts: dict[str, spaces.Space[Any]] = {
        "speed": spaces.Box(-_FASTEST, _FASTEST, (1,), np.float32),
        "distance_to_goal": spaces.Box(0.0, _FARTHEST, (1,), np.float32),
        "command": spaces.Discrete(len(Command)),
        "route": spaces.Box(-_FARTHEST, _FARTHEST, (len(FUTURE_DISTANCES), 2), np.float32),
    }
    if mode == "full":
        for camera in (FRONT, BEV):
            parts[camera.name] = spaces.Box(0, 255, (camera.height, camera.width, 3), np.uint8)
    return spaces.Dict(parts)


class DriveHierarchyEnv(gym.Env[Observation, Any]):
    """One scenario of a suite per episode, driven at 4 Hz and scored as the release scores it.

    Every argument is a name, a number or a path, so the spec pickles.

    Args:
        suite: "open", "release", or a folder of scenario files.
        scenario: id, or ids to draw from; None draws from the whole suite.
        release: folder of the authors' release, for suite "release".
        backend: simulator, one of `backends.BACKENDS`.
        backend_options: further options of the backend's constructor.
        action_mode: one of `ACTION_MODES`.
        observation: "full" with pictures, "state" without.
        profile: "release", or "strict" where a red light costs.
        command_chooser: "release" from the route's geometry, "lane" from the road network.
        parse_rule: how replies in mode "text" are read.
        prompt_file: template of the prompt; None uses ours.
        render_mode: None or "rgb_array".

    Raises:
        UnknownNameError: a name that does not exist; suggests the nearest.
        ReleaseNotFoundError, ScenarioError, PromptError: suite, scenario or prompt file cannot be read.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 - the name and type are Gymnasium's

    def __init__(
        self,
        suite: str | os.PathLike[str] = "open",
        scenario: str | Sequence[str] | None = None,
        release: str | os.PathLike[str] | None = None,
        backend: str = "sumo",
        backend_options: Mapping[str, Any] | None = None,
        action_mode: ActionMode = "target_speed",
        observation: ObservationMode = "full",
        profile: Profile = "release",
        command_chooser: CommandChooser = "release",
        parse_rule: ParseRule = "official",
        prompt_file: str | os.PathLike[str] | None = None,
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        for name in unknown:
            raise unknown_name("argument", name, _ARGUMENTS)
        for kind, found, known in (
            ("backend", backend, BACKENDS),
            ("action_mode", action_mode, ACTION_MODES),
            ("observation", observation, OBSERVATION_MODES),
            ("profile", profile, PROFILES),
            ("command_chooser", command_chooser, COMMAND_CHOOSERS),
            ("parse_rule", parse_rule, PARSE_RULES),
            ("render_mode", render_mode, (None, *self.metadata["render_modes"])),
        ):
            _check_choice(kind, found, known)
        self.suite = load_suite(suite, release)
        wanted = tuple(scenario or self.suite.ids) if isinstance(scenario, (list, tuple, type(None))) else (scenario,)
        self.scenario_ids = tuple(self.suite.entry(str(name)).id for name in wanted)
        self.backend: Backend = make_backend(backend, **(backend_options or {}))
        self.action_mode = action_mode
        self.observation_mode = observation
        self.profile = profile
        self.command_chooser = command_chooser
        self.parse_rule = parse_rule
        self.render_mode = render_mode
        self.action_space = action_space(action_mode)
        self.observation_space = observation_space(observation)
        self._template = load_template(prompt_file, pictures=observation == "full")
        self._running = False
        self._plan: EpisodePlan | None = None

    # --- Gymnasium ---------------------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        `options={"scenario": id}` chooses the scenario, otherwise `self.np_random` draws one. A given seed is the
        episode's own (`info["seed"]`); without one it is drawn. So the same seed and scenario give the same episode.
        """
        super().reset(seed=seed)
        episode_seed = int(self.np_random.integers(2**31)) if seed is None else int(seed)
        scenario_id = self._choose_scenario(options or {})
        self._running = False
        plan = self.suite.plan(scenario_id, episode_seed)
        self._plan = plan
        self.ticks: list[TickState] = []
        self.tracker = RouteTracker(plan.route)
        self.score = ScoreTracker(plan, self.profile)
        self._rules = EndingRules(plan)
        self._bridge = ActuationBridge()
        self._meta = MetaDriver(plan.lane_route)
        self._lane_commands = None
        if self.command_chooser == "lane":
            self._lane_commands = LaneCommands(self.network, plan.route, plan.route_edges)
        self._time = 0.0
        self._tick_count = 0
        self._decisions = 0
        self._parse_counts: Counter[str] = Counter()
        self._total = 0.0
        self._ending: Ending | None = None
        self._ego = self.backend.reset(plan).ego
        self.score.start(self._ego.x, self._ego.y, self.tracker.project(self._ego.x, self._ego.y))
        self._running = True
        return self._observe("none", 0)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Drive for one decision, five ticks. An action that cannot be read leaves the car its last control.

        The score is that of the tick in which the episode ends, the observation that of the end of the interval.

        Raises:
            ResetNeeded: no episode is running.
            InfrastructureError: the simulator failed; the episode is void (`void_record`).
        """
        if not self._running:
            self._refuse()
        decoded = decode(self.action_mode, action, self.parse_rule)
        self._decisions += 1
        self._parse_counts[decoded.status] += 1
        known_events = len(self.score.events)
        try:
            self.ticks = self.backend.advance(self._actuate(decoded), TICKS_PER_DECISION)
        except Exception:
            self._running = False
            raise
        self._ego = self.ticks[-1].ego
        ending = self._ending = self._count(self.ticks)
        record = None
        if ending is not None:
            self._running = False
            self.score.end(ending)
            record = self.score.record(self._extra())
        total = (self.score.components().composed if record is None else record["score_composed"]) / 100.0
        reward, self._total = total - self._total, total
        observation, info = self._observe(decoded.status, known_events)
        if record is not None:
            info["scene_score"] = record
        terminated = ending is not None and ending.terminated
        return observation, reward, terminated, ending is not None and not terminated, info

    def render(self) -> NDArray[np.uint8] | None:
        """Front view and bird's-eye view side by side over a status line, uint8 (480, 1250, 3); None without a mode."""
        if self._plan is None:
            self._refuse()
        if self.render_mode is None:
            return None
        front, bev = self._pictures()
        ending = "" if self._ending is None else f"   {self._ending.reason}"
        status = (
            f"{self.plan.scenario_id}   {self._now:6.2f} s   {self._ego.speed:4.1f} m/s   {self._command.text}   "
            f"score {100.0 * self._total:.1f}{ending}"
        )
        return compose_frame(front, bev, status)

    def close(self) -> None:
        """Release the simulator; may be called again, and after a crash."""
        self._running = False
        self.backend.close()

    # --- for privileged agents and runners ---------------------------------------------------------------------------

    @property
    def plan(self) -> EpisodePlan:
        """Plan of the present episode."""
        if self._plan is None:
            self._refuse()
        return self._plan

    @property
    def network(self) -> RoadNetwork:
        """Road network of the present episode, shared by the process."""
        return load_network(self.plan.network_file)

    @property
    def control(self) -> VehicleControl:
        """Control that the car holds."""
        return self._bridge.control

    def snapshot(self) -> Snapshot:
        """The whole world as it is now."""
        return self.backend.snapshot()

    def void_record(self, reason: VoidReason, error: str = "") -> dict[str, Any]:
        """Record, without a score, of an episode that the simulator or a person broke off; it cannot be continued."""
        self._running = False
        return self.score.void_record(reason, self._extra(), error)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _refuse(self) -> NoReturn:
        raise ResetNeeded("no episode is running: call reset() first, and again after the end of each episode")

    def _choose_scenario(self, options: Mapping[str, Any]) -> str:
        for name in options:
            _check_choice("reset option", name, ("scenario",))
        if "scenario" in options:
            return self.suite.entry(str(options["scenario"])).id
        return self.scenario_ids[int(self.np_random.integers(len(self.scenario_ids)))]

    def _actuate(self, decoded: Decoded) -> VehicleControl:
        bridge = self._bridge
        if decoded.status == "unparseable":
            return bridge.control
        if self.action_mode == "control":
            steer, throttle, brake = decoded.numbers
            return bridge.drive(steer, throttle, brake)
        if self.action_mode == "meta":
            direction, speed_key = decoded.keys
            steer, target_speed = self._meta.decide(direction, speed_key, self._ego)
        else:
            steer, target_speed = decoded.numbers
        return bridge.follow(steer, target_speed, self._ego.speed)

    def _count(self, ticks: Iterable[TickState]) -> Ending | None:
        """Score ticks in the release's order up to the one that ends the episode (facts §3.1)."""
        score, rules, project = self.score, self._rules, self.tracker.project
        for tick in ticks:
            if self._tick_count:
                score.before_tick()
            ending = rules.before_tick(self._time)
            if ending is not None:
                return ending
            score.update(tick, project(tick.ego.x, tick.ego.y))
            self._time = tick.time
            self._tick_count += 1
            ending = rules.after_tick(tick)
            if ending is not None:
                return ending
        # Time is tested before the next tick; nothing moves until then, so it is known now.
        ending = rules.before_tick(self._time)
        if ending is not None:
            score.before_tick()
        return ending

    def _observe(self, parse_status: str, known_events: int) -> tuple[Observation, dict[str, Any]]:
        ego = self._ego
        view = self.tracker.view(ego.x, ego.y, ego.yaw)
        if self._lane_commands is None:
            command = release_command(view.points)
        else:
            command = self._lane_commands.choose(view.progress, ego.x, ego.y)
        self._command = command
        self._progress = view.progress
        self._drawn: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None = None
        self._now = self.ticks[-1].time if self.ticks else 0.0
        observation: Observation = {
            "speed": np.array([ego.speed], dtype=np.float32),
            "distance_to_goal": np.array([view.distance_to_goal], dtype=np.float32),
            "command": command.value - 1,
            "route": np.array(view.points, dtype=np.float32),
        }
        if self.observation_mode == "full":
            observation[FRONT.name], observation[BEV.name] = self._pictures()
        bridge, score = self._bridge, self.score
        terms = score.components()
        ending = self._ending
        info = {
            "prompt": self._template.render(
                {
                    "speed_mps": abs(ego.speed),
                    "command": command.text,
                    "distance_to_goal_m": view.distance_to_goal,
                    "route_points": route_points_text(view.points),
                    "answer_format": ANSWER_FORMATS[self.action_mode],
                    "max_speed_mps": MAX_TARGET_SPEED,
                    "time_s": self._now,
                }
            ),
            "components": {
                "score_route": terms.route,
                "score_safety": terms.safety,
                "score_efficiency": terms.efficiency,
                "score_penalty": terms.penalty,
                "score_composed": terms.composed,
                "completed_distance_m": score.completed,
                "travel_distance_m": score.travelled,
                "offroad_time_s": score.offroad_time,
            },
            "events": [dict(event) for event in score.events[known_events:]],
            "parse": {"status": parse_status, "steer": bridge.steer, "target_speed_mps": bridge.target_speed},
            "control": {
                "steer": bridge.control.steer,
                "throttle": bridge.control.throttle,
                "brake": bridge.control.brake,
            },
            "time": self._now,
            "seed": self.plan.seed,
            "backend": self.backend.name,
            "suite": self.suite.name,
            "scenario_id": self.plan.scenario_id,
            "family": self.plan.family,
            "command": command.text,
            "termination_reason": "" if ending is None else ending.reason,
            "is_success": ending is not None and ending.reason == "destination_reached",
        }
        return observation, info

    def _pictures(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Front view and bird's-eye view with the route, of the present state; rendered once per state."""
        if self._drawn is None:
            ego: EgoState = self._ego
            front, bev = self.backend.render(FRONT), self.backend.render(BEV)
            bev = bev if bev.flags.writeable else bev.copy()
            draw_route(bev, BEV, Pose(ego.x, ego.y, ego.yaw), self.tracker.ahead(self._progress))
            self._drawn = (front, bev)
        return self._drawn

    def _extra(self) -> dict[str, Any]:
        """What a record keeps besides the release's fields."""
        plan, ending = self.plan, self._ending
        return {
            "suite": self.suite.name,
            "family": plan.family,
            "seed": plan.seed,
            "backend": self.backend.name,
            "profile": self.profile,
            "action_mode": self.action_mode,
            "observation": self.observation_mode,
            "command_chooser": self.command_chooser,
            "parse_rule": self.parse_rule,
            "decisions": self._decisions,
            "ticks": self._tick_count,
            "parse": {status: self._parse_counts[status] for status in ("ok", "recovered", "unparseable")},
            "red_lights": sum(event["type"] == "red_light" for event in self.score.events),
            "is_success": ending is not None and ending.reason == "destination_reached",
            "notes": list(plan.notes),
        }


def _check_choice(kind: str, found: object, known: Sequence[object]) -> None:
    if found not in known:
        raise unknown_name(kind, str(found), [str(name) for name in known])


_ARGUMENTS = tuple(
    name
    for name, parameter in inspect.signature(DriveHierarchyEnv.__init__).parameters.items()
    if name != "self" and parameter.kind is not parameter.VAR_KEYWORD
)
