"""Ways to damage a file: at random, and where its format believes what it reads."""

import json
import re
import struct
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

Mutator = Callable[[bytes, Random], bytes]

ABSURD_INTS = (0, 1, 2, 7, 255, 256, 9000, 65535, 65536, 10**6, 2**31 - 1, 2**31, 2**32 - 1)
ABSURD_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**400,
    1e308,
    -1e-308,
    "",
    "x" * 5000,
    "\ud800",
    "\x1b[31m\n",
    [],
    {},
    [[]],
    {"": None},
    [0] * 50,
    "<script>",
    "$\\frac$",
)


def truncate(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def flip(content: bytes, random: Random) -> bytes:
    """A few bits."""
    damaged = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8, 32))):
        if damaged:
            damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def flip_head(content: bytes, random: Random) -> bytes:
    """A byte near the beginning, where headers are."""
    head = min(len(content), 256)
    return flip(content[:head], random) + content[head:]


def splice(content: bytes, random: Random) -> bytes:
    """A piece of the file somewhere else in it."""
    start, place = random.randrange(len(content) + 1), random.randrange(len(content) + 1)
    return content[:place] + content[start : start + random.randrange(1, 2000)] + content[place:]


def blank(content: bytes, random: Random) -> bytes:
    """A stretch of zeros or ones."""
    start, length = random.randrange(len(content) + 1), random.randrange(1, 400)
    return content[:start] + random.choice((b"\0", b"\xff")) * length + content[start + length :]


def renumber(content: bytes, random: Random) -> bytes:
    """Another number where the first kilobyte has one as text."""
    numbers = list(re.finditer(rb"\d+", content[:1024]))
    if not numbers:
        return flip(content, random)
    chosen = random.choice(numbers)
    number = random.choice((*map(str, ABSURD_INTS), "9" * 400, "-1", "nan", "1e999", ""))
    return content[: chosen.start()] + number.encode() + content[chosen.end() :]


def write_integer(content: bytes, random: Random) -> bytes:
    """An absurd number over four bytes near the beginning."""
    place = random.randrange(max(1, min(len(content), 512) - 4))
    number = struct.pack(random.choice("<>") + "I", random.choice(ABSURD_INTS))
    return content[:place] + number + content[place + 4 :]


PLAIN: tuple[Mutator, ...] = (truncate, flip, flip_head, splice, blank, renumber, write_integer)


def resize_png(content: bytes, random: Random) -> bytes:
    """Another size, depth or kind in a header whose checksum is right."""
    header = bytearray(content[16:29])
    if random.random() < 0.7:
        place = random.choice((0, 4))
        header[place : place + 4] = struct.pack(">I", random.choice(ABSURD_INTS))
    else:
        header[random.randrange(8, 13)] = random.randrange(20)
    checksum = struct.pack(">I", zlib.crc32(b"IHDR" + bytes(header)))
    return content[:16] + bytes(header) + checksum + content[33:]


def change_json(content: bytes, random: Random) -> bytes:
    """Valid JSON with one value of another kind, a key missing, or one too many."""
    return json.dumps(change_value(json.loads(content), random)).encode()


def change_value(value: Any, random: Random) -> Any:
    """One value somewhere inside becomes something else."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(sorted(value, key=str))
        action = random.random()
        if action < 0.1:
            return {name: one for name, one in value.items() if name != key}
        if action < 0.2:
            return value | {random.choice(("extra", "", "kind")): random.choice(ABSURD_VALUES)}
        return value | {key: change_value(value[key], random)}
    if isinstance(value, (list, tuple)) and len(value) and random.random() < 0.8:
        place = random.randrange(len(value))
        return [*value[:place], change_value(value[place], random), *value[place + 1 :]]
    return random.choice(ABSURD_VALUES)


def nest(content: bytes, random: Random) -> bytes:
    """Lists in lists."""
    depth = random.choice((40, 900, 100_000))
    return b"[" * depth + b"]" * depth


def change_safetensors(content: bytes, random: Random) -> bytes:
    """Another value in the header, whose length is right, or in the JSON inside of it."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    part = random.choice(("config", "facts", "calibration", ""))
    if part in header.get("__metadata__", {}):
        inner = change_json(header["__metadata__"][part].encode(), random).decode()
        header["__metadata__"][part] = inner
    else:
        header = change_value(header, random)
    encoded = json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + content[8 + length :]
