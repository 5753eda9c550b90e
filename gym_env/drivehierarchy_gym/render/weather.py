"""How weather and time of day look: light, haze, and the sky all around."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.render.mesh import turn
from drivehierarchy_gym.render.noise import smooth_noise
from drivehierarchy_gym.scenarios.schema import Weather

SUN_AZIMUTH_STEPS = (220, 360)
"""Where the sun stands: degrees counter-clockwise from east, of a full turn."""
SKY_COLUMNS = 2048
SKY_ROWS = 256
"""Size of the sky all around: full turn of azimuth, horizon (row 0) to zenith."""

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Look:
    """Light and air of one weather. Colours are 0-255; light is a factor per colour channel."""

    sun: Triple
    """Light of the sun on a surface that faces it."""
    sky_light: Triple
    """Light from above on a surface that faces up."""
    ground_light: Triple
    """Light from below on a surface that faces down."""
    to_sun: Triple
    """Unit vector towards the sun, kept between 18 and 85 degrees: shadows are seen, and stay short enough to draw."""
    zenith: Triple
    horizon: Triple
    clouds: float
    """Cover, 0 to 1."""
    cloud_colour: Triple
    haze_distance: float
    """Metres after which half of a colour is the horizon's."""
    shadow: float
    """What remains of the light on the ground in a shadow."""
    sun_shadows: bool
    """Whether bodies throw shadows away from the sun; otherwise they only darken the ground below them."""
    lamps: bool
    """Vehicles drive with their lights on."""
    beams: float
    """Strength of the ego's headlight beams on what lies ahead."""
    lit_windows: float
    """Share of windows with light behind them."""
    wetness: float
    rain: bool


def _mix(a: Triple, b: Triple, t: float) -> Triple:
    return tuple(x + (y - x) * t for x, y in zip(a, b, strict=True))  # type: ignore[return-value]


def _ramp(x: float, low: float, high: float) -> float:
    return min(max((x - low) / (high - low), 0.0), 1.0)


@lru_cache(maxsize=16)
def look_of(weather: Weather) -> Look:
    """The look of a weather."""
    altitude = weather.sun_altitude_deg
    day = _ramp(altitude, -8.0, 12.0)
    warm = _ramp(altitude, -8.0, 2.0) * (1 - _ramp(altitude, 4.0, 22.0))
    azimuth = turn(*SUN_AZIMUTH_STEPS)
    height = turn(int(min(max(altitude, 18.0), 85.0) * 10), 3600)
    to_sun = (azimuth[0] * height[0], azimuth[1] * height[0], height[1])
    if weather.sky == "clear":
        sun_strength, sky_strength, haze, clouds = 0.62, 0.60, 650.0, 0.32
        zenith, horizon = (72.0, 124.0, 198.0), (196.0, 214.0, 232.0)
    elif weather.sky == "overcast":
        sun_strength, sky_strength, haze, clouds = 0.0, 0.92, 420.0, 0.85
        zenith, horizon = (142.0, 150.0, 160.0), (196.0, 201.0, 206.0)
    elif weather.sky == "rain":
        sun_strength, sky_strength, haze, clouds = 0.0, 0.74, 150.0, 0.95
        zenith, horizon = (104.0, 111.0, 120.0), (150.0, 157.0, 164.0)
    else:
        sun_strength, sky_strength, haze, clouds = 0.0, 0.88, 34.0, 0.0
        zenith, horizon = (196.0, 199.0, 202.0), (202.0, 204.0, 206.0)
    night_sky, night_horizon = (8.0, 11.0, 24.0), (26.0, 30.0, 44.0)
    dusk_sky, dusk_horizon = (66.0, 74.0, 118.0), (236.0, 158.0, 104.0)
    dusk = warm * (1.0 if weather.sky == "clear" else 0.25)
    zenith = _mix(_mix(night_sky, zenith, day), dusk_sky, dusk * 0.6)
    horizon = _mix(_mix(night_horizon, horizon, day), dusk_horizon, dusk * 0.7)
    sun_strength *= _ramp(altitude, -1.0, 14.0)
    sun = _mix((1.0, 0.97, 0.90), (1.0, 0.72, 0.46), warm)
    sky_light = _mix((0.34, 0.35, 0.41), (0.95, 0.98, 1.04) if weather.sky == "clear" else (0.98, 0.98, 1.0), day)
    sky_light = _mix(sky_light, (0.98, 0.84, 0.82), dusk * 0.5)
    ground_light = _mix((0.20, 0.20, 0.23), (0.80, 0.78, 0.74), day)
    return Look(
        sun=tuple(sun_strength * c for c in sun),  # type: ignore[arg-type]
        sky_light=tuple(sky_strength * c for c in sky_light),  # type: ignore[arg-type]
        ground_light=tuple(sky_strength * c for c in ground_light),  # type: ignore[arg-type]
        to_sun=to_sun,
        zenith=zenith,
        horizon=horizon,
        clouds=clouds,
        cloud_colour=_mix(horizon, (250.0, 250.0, 250.0), 0.6 * day * (1 - dusk) if weather.sky == "clear" else 0.0),
        haze_distance=haze,
        shadow=0.58 if sun_strength > 0.1 else 0.74,
        sun_shadows=sun_strength > 0.1,
        lamps=altitude < 8.0 or weather.sky in ("rain", "fog"),
        beams=1.0 - _ramp(altitude, -8.0, 4.0),
        lit_windows=0.35 * (1.0 - _ramp(altitude, -4.0, 8.0)),
        wetness=1.0 if weather.sky == "rain" else 0.0,
        rain=weather.sky == "rain",
    )


@lru_cache(maxsize=1)
def _cloud_cover() -> NDArray[np.float64]:
    """How thick the clouds are, about 0 to 1 (SKY_ROWS, SKY_COLUMNS); the same in every weather."""
    height = np.arange(SKY_ROWS) / (SKY_ROWS - 1)
    size = 512
    cloud = 0.55 * smooth_noise(size, 8, 11) + 0.30 * smooth_noise(size, 22, 12) + 0.15 * smooth_noise(size, 50, 13)
    # Flattened towards the horizon, where clouds are seen from the side.
    rows_of = (np.minimum(size - 1, (1.0 - 1.0 / (1.0 + 3.0 * height)) * 1.3 * size)).astype(int)
    return cloud[rows_of][:, np.arange(SKY_COLUMNS) % size]


@lru_cache(maxsize=8)
def sky_panorama(weather: Weather) -> NDArray[np.uint8]:
    """The sky all around, uint8 (SKY_ROWS, SKY_COLUMNS, 3); column 0 looks east, columns run counter-clockwise."""
    look = look_of(weather)
    height = np.arange(SKY_ROWS) / (SKY_ROWS - 1)
    # The haze of the horizon thins out quickly: a rational stand-in for an exponential.
    thin = (1.0 / (1.0 + 9.0 * height) - 0.1) / 0.9
    rows = np.array(look.zenith) + (np.array(look.horizon) - np.array(look.zenith)) * thin[:, None]
    sky = np.repeat(rows[:, None, :], SKY_COLUMNS, axis=1)
    cover = _cloud_cover()
    threshold = 1.0 - look.clouds
    alpha = np.clip((cover - threshold * 0.75) / 0.22, 0.0, 1.0) * np.clip(height * 8.0, 0.0, 1.0)[:, None]
    alpha *= 0.75 if look.clouds < 0.5 else 0.45
    shade = np.array(look.cloud_colour) * (0.90 + 0.10 * cover[:, :, None])
    sky += (shade - sky) * alpha[:, :, None]
    return np.clip(np.floor(sky + 0.5), 0, 255).astype(np.uint8)
