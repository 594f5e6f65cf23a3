"""The app's server: only for this computer, behind an address that nobody can guess, writing only to its folder."""

import contextlib
import secrets
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route

from freqlf.app.jobs import Job, JobQueue
from freqlf.app.uploads import receive_file
from freqlf.app.worker import parse_settings
from freqlf.errors import FreqLFError
from freqlf.io.intake import parse_json
from freqlf.outputs.viewer.estimates import PAGE
from freqlf.weights.registry import SLOPE, WEIGHTS

HOST = "127.0.0.1"
_LARGEST_JSON = 10**5  # bytes
# Pages carry their own scripts and data, and nothing may reach the network.
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class App:
    """A server that listens, and the address to open."""

    server: uvicorn.Server
    listener: socket.socket
    address: str

    def run(self) -> None:
        """Serve until interrupted."""
        with contextlib.suppress(KeyboardInterrupt):
            self.server.run(sockets=[self.listener])


def open_app(jobs: JobQueue, port: int = 0) -> App:
    """Listen on a port of this computer alone; 0 takes one that is free."""
    try:
        listener = socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        raise FreqLFError(f"cannot listen on port {port}: {error}; choose another, or none") from error
    token = secrets.token_urlsafe(24)
    config = uvicorn.Config(build_app(jobs, token), log_level="warning", access_log=False, server_header=False)
    return App(uvicorn.Server(config), listener, f"http://{HOST}:{listener.getsockname()[1]}/{token}/")


def build_app(jobs: JobQueue, token: str) -> Starlette:
    """The pages and what they ask for, all of it below the token; other addresses do not exist."""
    routes = [
        Route("/", _show_page),
        Route("/jobs", _list_jobs),
        Route("/jobs", _create_job, methods=["POST"]),
        Route("/jobs/{job}/upload/{name:path}", _receive_upload, methods=["PUT"]),
        Route("/jobs/{job}/recognise", _recognise, methods=["POST"]),
        Route("/jobs/{job}/start", _start, methods=["POST"]),
        Route("/jobs/{job}/cancel", _cancel, methods=["POST"]),
        Route("/jobs/{job}", _remove, methods=["DELETE"]),
        Route("/jobs/{job}/result/{name}", _send_result),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await anyio.to_thread.run_sync(jobs.close)

    app = Starlette(
        routes=[Route("/favicon.ico", _send_no_icon), Mount(f"/{token}", routes=routes)],
        # Another site's name that resolves to this computer is not this app.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
        exception_handlers={FreqLFError: _explain},
        lifespan=lifespan,
    )
    app.state.jobs = jobs
    return app


async def _explain(request: Request, error: Exception) -> Response:
    return JSONResponse({"message": str(error)}, status_code=400, headers=_HEADERS)


def _find(request: Request) -> tuple[JobQueue, Job]:
    jobs: JobQueue = request.app.state.jobs
    return jobs, jobs.get(request.path_params["job"])


async def _read_json(request: Request) -> dict[str, Any]:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _LARGEST_JSON:
            raise FreqLFError("the request is too long")
    values = parse_json(content.decode(errors="replace"), "the request")
    if not isinstance(values, dict):
        raise FreqLFError("the request is not a set of names and values")
    return values


async def _send_no_icon(request: Request) -> Response:
    return Response(status_code=204)  # browsers ask for one, and would complain


async def _show_page(request: Request) -> Response:
    parts = files("freqlf.app").joinpath("assets")
    style = files("freqlf.outputs.viewer").joinpath("assets", "page.css")
    models = "".join(f"<option>{escape(name)}</option>" for name in (*WEIGHTS, SLOPE))
    page = Template(parts.joinpath("app.html").read_text(encoding="utf-8")).substitute(
        style=style.read_text(encoding="utf-8") + parts.joinpath("app.css").read_text(encoding="utf-8"),
        script=parts.joinpath("app.js").read_text(encoding="utf-8"),
        models=models,
        limit=f"{request.app.state.jobs.limits.bytes / 1e9:g} GB",
    )
    return HTMLResponse(page, headers=_HEADERS)


async def _list_jobs(request: Request) -> Response:
    return JSONResponse(request.app.state.jobs.list_jobs(), headers=_HEADERS)


async def _create_job(request: Request) -> Response:
    name = (await _read_json(request)).get("name")
    job = request.app.state.jobs.create(str(name or "light field"))
    return JSONResponse({"id": job.id}, headers=_HEADERS)


async def _receive_upload(request: Request) -> Response:
    jobs, job = _find(request)
    path, limit_bytes = jobs.place_upload(job, request.path_params["name"])
    await receive_file(request.stream(), path, limit_bytes)
    return Response(status_code=204, headers=_HEADERS)


async def _recognise(request: Request) -> Response:
    jobs, job = _find(request)
    await anyio.to_thread.run_sync(jobs.recognise, job)
    return Response(status_code=204, headers=_HEADERS)


async def _start(request: Request) -> Response:
    jobs, job = _find(request)
    jobs.start(job, parse_settings(await _read_json(request)))
    return Response(status_code=204, headers=_HEADERS)


async def _cancel(request: Request) -> Response:
    jobs, job = _find(request)
    jobs.cancel(job)
    return Response(status_code=204, headers=_HEADERS)


async def _remove(request: Request) -> Response:
    jobs, job = _find(request)
    await anyio.to_thread.run_sync(jobs.remove, job)
    return Response(status_code=204, headers=_HEADERS)


async def _send_result(request: Request) -> Response:
    jobs, job = _find(request)
    name = request.path_params["name"]
    path: Path = jobs.folder(job) / "result" / name
    if not path.is_file():  # a name holds no slash, and the folder only what the app wrote
        raise HTTPException(404)
    return FileResponse(path, headers=_HEADERS, filename=None if name == PAGE else name)
