"""The ASGI application: the routes, the access guard before them, and the watcher of the campaigns."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from tare.core.errors import UnreadableFile
from tare.live import api, openmetrics, routes
from tare.live.access import Access, Guard
from tare.live.watch import Hub


def make_app(hub: Hub, access: Access) -> Guard:
    """Return the application that serves the campaigns of `hub` to the readers that `access` admits.

    The watcher of `hub` starts and ends with the application.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        watcher = asyncio.create_task(hub.watch())
        yield
        hub.close()
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher

    app = Starlette(
        routes=[*routes.ROUTES, *api.ROUTES, *openmetrics.ROUTES],
        middleware=[Middleware(GZipMiddleware, minimum_size=2000, compresslevel=4)],
        exception_handlers={HTTPException: routes.failed, UnreadableFile: routes.unreadable},
        lifespan=lifespan,
    )
    app.state.hub = hub
    return Guard(app, access)
