"""Light fields that were handed over: kept in folders, estimated one after the other, each in a process of its own.

A folder holds `upload/`, `result/` once there is one, and `job.json`; the app lists what is there when it starts.
"""

import multiprocessing
import queue
import re
import secrets
import shutil
import threading
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from freqlf.app.uploads import UploadLimits, find_light_field, place_file, unpack_archive
from freqlf.app.worker import Settings, run_job
from freqlf.errors import FreqLFError
from freqlf.io.detect import read_views
from freqlf.io.files import write_json
from freqlf.io.intake import read_json
from freqlf.io.schema import convert
from freqlf.io.viewgrid import InputOptions

RECORD = "job.json"
ENDED = ("done", "failed", "cancelled")


@dataclass
class Job:
    """One light field and what became of it.

    Attributes:
        id: the name of its folder.
        name: what the user calls it.
        state: uploading, ready, queued, running, done, failed or cancelled.
        format: as it was recognised.
        message: what the user should know: an error, or notes of the reader.
        stage: what a running estimate does; `share` is how much of that is done, 0 to 1.
        settings: of the last start.
        created_utc: when it was handed over.
    """

    id: str
    name: str
    state: str = "uploading"
    format: str | None = None
    message: str = ""
    stage: str = ""
    share: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)
    created_utc: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))


class JobQueue:
    """All jobs of a work folder, and the thread that starts a process for one at a time."""

    def __init__(self, work: Path, limits: UploadLimits | None = None) -> None:
        self.work = work
        self.limits = limits or UploadLimits()
        self._jobs: dict[str, Job] = {}
        self._queued: queue.Queue[str | None] = queue.Queue()
        self._lock = threading.RLock()
        self._process: Any = None
        self._closing = False
        self._thread = threading.Thread(target=self._work_off, daemon=True)
        work.mkdir(parents=True, exist_ok=True)
        for path in sorted(work.glob(f"*/{RECORD}")):
            self._recall(path)
        self._thread.start()

    def _recall(self, path: Path) -> None:
        """List a job of an earlier run; what was not finished then is ready to be started again."""
        try:
            job: Job = convert(read_json(path), Job, str(path))
        except FreqLFError:
            return  # somebody else's folder
        if job.id != path.parent.name:
            return
        if job.state not in (*ENDED, "ready"):
            self._clear_result(job)
            job.state, job.message = "cancelled", "the app was stopped before this was done"
        self._jobs[job.id] = job

    # --- what the server asks for ---------------------------------------------------------------------------------

    def list_jobs(self) -> list[dict[str, Any]]:
        """All jobs, the newest first."""
        with self._lock:
            return sorted(
                (asdict(job) for job in self._jobs.values()), key=lambda job: job["created_utc"], reverse=True
            )

    def get(self, job_id: str) -> Job:
        """The job with this id."""
        try:
            return self._jobs[job_id]
        except KeyError:
            raise FreqLFError("there is no such light field any more; reload the page") from None

    def folder(self, job: Job) -> Path:
        """Where all files of the job are."""
        return self.work / job.id

    def create(self, name: str) -> Job:
        """A light field that is about to arrive."""
        word = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(name).stem).strip("-")[:40] or "light-field"
        job = Job(f"{word}-{secrets.token_hex(4)}", str(name)[:200])
        (self.folder(job) / "upload").mkdir(parents=True)
        with self._lock:
            self._jobs[job.id] = job
        return job

    def place_upload(self, job: Job, name: str) -> tuple[Path, int]:
        """Where a file of the job goes, and how many bytes it may have."""
        self._require(job, "uploading")
        upload = self.folder(job) / "upload"
        present = [path.stat().st_size for path in upload.rglob("*") if path.is_file()]
        if len(present) >= self.limits.files:
            raise FreqLFError(f"a light field may have {self.limits.files} files")
        return place_file(upload, name), self.limits.bytes - sum(present)

    def recognise(self, job: Job) -> Job:
        """All files have arrived: unpack archives and look what they are. What is no light field is removed."""
        self._require(job, "uploading")
        upload = self.folder(job) / "upload"
        try:
            for archive in list(upload.rglob("*.[zZ][iI][pP]")):
                unpack_archive(archive, archive.with_suffix(""), self.limits)
            job.format, job.message = _look_at(find_light_field(upload))
        except FreqLFError as error:
            job.message = self._explain(job, str(error))
            if job.message.startswith("cannot tell whether"):  # an image that settings can explain
                self._enter(job, "ready")
                return job
            shutil.rmtree(upload)
            self._enter(job, "failed")
            return job
        self._enter(job, "ready")
        return job

    def start(self, job: Job, settings: Settings) -> None:
        """Queue the estimate; an earlier result is replaced."""
        with self._lock:
            self._require(job, "ready", *ENDED)
            if not (self.folder(job) / "upload").exists():
                raise FreqLFError(f"the files of {job.name} were refused; hand it over again")
            job.settings, job.message, job.stage, job.share = asdict(settings), "", "", 0.0
            self._enter(job, "queued")
        self._queued.put(job.id)

    def cancel(self, job: Job) -> None:
        """Stop the estimate, or take it out of the queue."""
        with self._lock:
            self._require(job, "queued", "running")
            running = job.state == "running"
            self._enter(job, "cancelled")
            if running and self._process is not None:
                self._process.terminate()

    def remove(self, job: Job) -> None:
        """Forget the job and all its files."""
        with self._lock:
            if job.state in ("queued", "running"):
                self.cancel(job)
            self._jobs.pop(job.id, None)
        shutil.rmtree(self.folder(job), ignore_errors=True)

    def close(self) -> None:
        """Stop whatever runs."""
        with self._lock:
            self._closing = True
            self._queued.put(None)
            if self._process is not None:
                self._process.terminate()
        self._thread.join(10)

    # --- the thread that works off the queue ----------------------------------------------------------------------

    def _work_off(self) -> None:
        while (job_id := self._queued.get()) is not None:
            with self._lock:
                job = self._jobs.get(job_id)
                if self._closing:
                    return
                if job is None or job.state != "queued":
                    continue
                self._clear_result(job)
                receiver, sender = multiprocessing.get_context("spawn").Pipe(duplex=False)
                self._process = multiprocessing.get_context("spawn").Process(
                    target=run_job, args=(self.folder(job), Settings(**job.settings), sender), daemon=True
                )
                self._process.start()
                sender.close()  # the process has its own; now the end of the process is the end of the pipe
                self._enter(job, "running")
            self._follow(job, receiver)

    def _follow(self, job: Job, receiver: Any) -> None:
        """Take what the process reports until it has ended."""
        outcome = ("failed", "the estimate ended unexpectedly, perhaps for lack of memory; allow it less")
        try:
            while True:
                report = receiver.recv()
                with self._lock:
                    if "state" in report:
                        outcome = report["state"], report["message"]
                    else:
                        job.stage, job.share = report["stage"], report["share"]
        except (EOFError, OSError):
            self._process.join()
        with self._lock:
            self._process = None
            if job.state == "running" and not self._closing:
                job.message = self._explain(job, outcome[1])
                self._enter(job, outcome[0])
            if job.state != "done":
                self._clear_result(job)

    # --- details --------------------------------------------------------------------------------------------------

    def _require(self, job: Job, *states: str) -> None:
        if job.state not in states:
            raise FreqLFError(f"{job.name} is {job.state}, so this cannot be done now")

    def _enter(self, job: Job, state: str) -> None:
        job.state = state
        if self.folder(job).exists():
            write_json(self.folder(job) / RECORD, asdict(job))

    def _clear_result(self, job: Job) -> None:
        """Remove the result, and what a process left that was ended while it wrote one."""
        folder = self.folder(job)
        for path in (folder / "result", *folder.glob(".*.part")):
            shutil.rmtree(path, ignore_errors=True)

    def _explain(self, job: Job, message: str) -> str:
        """Name files as the user knows them, not where they are kept."""
        upload = self.folder(job) / "upload"
        return message.replace(f"{upload}/", "").replace(str(upload), job.name)


def _look_at(path: Path) -> tuple[str, str]:
    """The format of a light field, and its size in words; reads one view."""
    found, form, grid = read_views(path, None, InputOptions())
    light_field = grid.light_field(found)
    return form, f"{grid.rows} x {grid.columns} views of {light_field.width} x {light_field.height} px"
