"""`freqlf app`: a local page to drop light fields on."""

from pathlib import Path

from freqlf.cli.arguments import Gigabytes, Port
from freqlf.errors import FreqLFError


def run(work: Path = Path("freqlf-app"), port: Port = 0, max_upload_gb: Gigabytes = 4.0, open: bool = False) -> None:
    """Serve a page on this computer: drop light fields, follow their estimates, look at the results.

    Other machines cannot reach the page, and its address holds a secret. Files are kept in the work folder until they
    are removed on the page. End it with Ctrl-C. Needs the extra `app`.

    Args:
        work: Folder for light fields and results; the only place that is written to.
        port: Port to listen on; a free one by default.
        max_upload_gb: How large one light field may be, in GB.
        open: Open the page in the browser.
    """
    try:
        from freqlf.app.server import open_app
    except ImportError as error:
        raise FreqLFError(f"the app needs {error.name}; install it with pip install 'freqlf[app]'") from error
    from freqlf.app.jobs import JobQueue
    from freqlf.app.uploads import UploadLimits

    app = open_app(JobQueue(work, UploadLimits(bytes=int(1e9 * max_upload_gb))), port)
    print(f"open {app.address} in a browser; Ctrl-C ends the app", flush=True)
    if open:
        import webbrowser

        webbrowser.open(app.address)
    app.run()
