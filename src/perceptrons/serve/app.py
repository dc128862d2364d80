"""The routes: what may be asked over HTTP, and what is answered."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from perceptrons.serve import openapi, pages, prometheus
from perceptrons.serve.keys import digest, feedback_key
from perceptrons.serve.requests import (
    Asked,
    Limits,
    Refusal,
    answer,
    answer_lines,
    check_depth,
    checked_options,
    is_number,
    key_of,
    read_examples,
    read_json,
)
from perceptrons.serve.security import Guard
from perceptrons.serve.service import Service
from perceptrons.serve.writer import FULL, BusyError, NotLoggedError

Submitted = tuple[list[Any], list[Any] | None, str | None, bytes]  # examples, labels, key, digest of what was asked
INLINE = (
    256  # examples that a linear model predicts at once; a thread does what takes longer, so that others need not wait
)
AFTER = {"Retry-After": "1"}
FRAMES = 2**23  # bytes of the log for a follower in one answer


class Routes:
    """One method for each route."""

    def __init__(self, service: Service, limits: Limits, has_token: bool):
        self._service, self._limits, self._has_token = service, limits, has_token

    def all(self) -> list[Route]:
        """What is to be found where."""
        pages_and_state = [
            ("/", self.page, "GET"), ("/docs", self.docs, "GET"), ("/openapi.json", self.openapi, "GET"),
            ("/healthz", self.health, "GET"), ("/readyz", self.ready, "GET"), ("/metrics", self.metrics, "GET"),
            ("/stats", self.stats, "GET"), ("/model", self.model, "GET"), ("/model/file", self.file, "GET"),
            ("/log", self.log, "GET"), ("/snapshots", self.snapshots, "GET"),
        ]  # fmt: skip
        asked = [
            ("/predict", self.predict, "POST"), ("/learn", self.learn, "POST"), ("/feedback", self.feedback, "POST"),
            ("/snapshot", self.snapshot, "POST"), ("/rollback", self.rollback, "POST"),
            ("/promote", self.promote, "POST"),
        ]  # fmt: skip
        return [
            Route(path, self._watched(path, function), methods=[method])
            for path, function, method in (*pages_and_state, *asked)
        ]

    def _watched(self, path: str, function: Callable[[Request], Awaitable[Response]]) -> Any:
        """The same route; what goes wrong becomes an answer, and how long it took is counted."""

        async def route(request: Request) -> Response:
            began = time.perf_counter()
            try:
                response = await function(request)
            except Refusal as refusal:
                response = refused(refusal)
            self._service.metrics.observe(path, response.status_code, time.perf_counter() - began)
            return response

        return route

    # ---- examples

    async def predict(self, request: Request) -> Response:
        """Labels for examples, with scores, the best labels and reasons where asked for."""
        self._check_ready()
        asked = await read_examples(request, self._limits)
        if asked.labels is not None:
            raise Refusal(400, 'Examples to predict have no "labels": send them to /learn.')
        options = checked_options(asked.options)
        if options.get("explain") and len(asked.examples) > self._limits.explained:
            raise Refusal(413, f"At most {self._limits.explained} examples are explained at a time.")
        at_once = self._service.is_quick and len(asked.examples) <= INLINE and not options.get("explain")
        work = self._service.predict if at_once else self._in_thread(self._service.predict)
        try:
            found = work(asked.examples, asked.n_bytes, **options)
            version, rows = await found if asyncio.iscoroutine(found) else found
        except (ValueError, TypeError) as error:
            raise Refusal(422, str(error)) from None
        if asked.lines:
            return answer_lines([{**row, "version": version} for row in rows])
        return answer({"version": version, "predictions": rows})

    @staticmethod
    def _in_thread(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **named: run_in_threadpool(function, *given, **named)

    async def learn(self, request: Request) -> Response:
        """Learn from labelled examples; the answer comes when they are safe."""
        self._check_ready()
        self._check_leader()
        asked = await read_examples(request, self._limits)
        if asked.options:
            raise Refusal(400, f"{next(iter(asked.options))[:40]!r} is not an option of /learn.")
        key = key_of(request)
        of_key = b"" if key is None else digest([asked.examples, asked.labels])
        learned = await self._learned([(asked.examples, asked.labels, key, of_key)])
        return self._told(asked, learned[0])

    def _told(self, asked: Asked, learned: dict[str, Any]) -> Response:
        if not asked.lines:
            return answer(learned)
        others = {name: value for name, value in learned.items() if name != "predictions"}
        return answer_lines([{"prediction": one, **others} for one in learned["predictions"]])

    async def feedback(self, request: Request) -> Response:
        """The right labels of earlier predictions: learned from once, however often they are sent."""
        self._check_ready()
        self._check_leader()
        content = await read_json(request, self._limits)
        given = content.get("feedback", [content]) if isinstance(content, dict) else None
        if not isinstance(given, list) or not all(
            isinstance(one, dict) and isinstance(one.get("id"), str) and "label" in one for one in given
        ):
            raise Refusal(400, 'Send {"id": "...", "label": "..."}, or a list of such as {"feedback": [...]}.')
        check_depth(given, self._limits)
        if not 0 < len(given) <= self._limits.examples:
            raise Refusal(413, f"Send between 1 and {self._limits.examples:,} labels at a time.")
        jobs = list[Submitted]()
        for one in given:
            key = feedback_key(one["id"])
            try:
                known = key in self._service.writer.keys  # learned already, maybe before the server was started again
                example = None if known else self._service.remembered.find(one["id"])
                jobs.append(([example], [one["label"]], key, digest(one["label"])))
            except LookupError as error:
                raise Refusal(404, str(error)) from None
        try:
            self._service.check_feedback(jobs)  # all or none
        except (ValueError, TypeError) as error:
            raise Refusal(422, str(error)) from None
        learned = await self._learned(jobs)
        total = {name: sum(one[name] for one in learned) for name in ("learned", "mistakes")}
        said = [label for one in learned for label in one["predictions"]]
        repeated = all(one["repeated"] for one in learned)
        version = max(one["version"] for one in learned)
        return answer({"version": version, **total, "predictions": said, "repeated": repeated})

    async def _learned(self, jobs: Sequence[Submitted]) -> list[dict[str, Any]]:
        """The answers of the writer, in order."""
        try:
            waiting = [self._service.writer.submit(*job) for job in jobs]
        except BusyError as error:
            raise Refusal(429, str(error), AFTER) from None
        return [await self._awaited(one) for one in waiting]

    async def _awaited(self, waiting: "Future[Any]") -> Any:
        """The result of the writer; what it refuses becomes the status that says why."""
        try:
            async with asyncio.timeout(self._limits.seconds * 2):
                return await asyncio.shield(asyncio.wrap_future(waiting))
        except TimeoutError:
            what = "It takes too long, and may still be done: send the request again with the same Idempotency-Key."
            raise Refusal(503, what, AFTER) from None
        except BusyError as error:  # it failed before it came to this
            raise Refusal(503, str(error), AFTER) from None
        except NotLoggedError as error:
            full = error.errno in FULL
            what = "The disk is full" if full else f"The log cannot be written ({error.strerror})"
            raise Refusal(507, f"{what}, so nothing was learned. The server still predicts.", AFTER) from None
        except LookupError as error:
            raise Refusal(404, str(error)) from None
        except (ValueError, TypeError) as error:
            raise Refusal(422, str(error)) from None

    # ---- the model

    async def model(self, request: Request) -> Response:
        """What `perceptrons inspect --json` prints."""
        self._check_ready()
        return answer(await run_in_threadpool(self._service.inspected))

    async def file(self, request: Request) -> Response:
        """The model file, as it is at one version."""
        self._check_ready()
        wanted = "place" in request.query_params
        content, place = await self._awaited(self._ask(lambda: self._service.content(wanted)))
        headers = {"Perceptrons-Version": str(place.version), "Perceptrons-Position": str(place.position)}
        headers["Content-Disposition"] = 'attachment; filename="model.perceptron"'
        return Response(content, 200, headers, "application/octet-stream")

    async def snapshot(self, request: Request) -> Response:
        """Write a snapshot now."""
        self._check_ready()
        found = await self._saved(self._service.writer.snapshot)
        return answer(found.as_dict())

    async def snapshots(self, request: Request) -> Response:
        """The snapshots that one can go back to."""
        self._check_ready()
        return answer([one.as_dict() for one in self._service.store.snapshots()])

    async def rollback(self, request: Request) -> Response:
        """Go back to a snapshot."""
        self._check_ready()
        self._check_leader()
        content = await read_json(request, self._limits)
        version = content.get("version") if isinstance(content, dict) else None
        if type(version) is not int or version < 0:
            raise Refusal(400, 'Send {"version": N}, the version of a snapshot: see /snapshots.')
        return answer(await self._saved(lambda: self._service.writer.rollback(version)))

    async def promote(self, request: Request) -> Response:
        """Make a follower a leader."""
        self._check_ready()
        await run_in_threadpool(self._service.promote)
        return answer({"role": self._service.role, "version": self._service.version})

    async def log(self, request: Request) -> Response:
        """The frames from a position on, for followers; waits for new ones if there is none yet."""
        self._check_ready()
        position, wait = (request.query_params.get(name, "0") for name in ("position", "wait"))
        if not (is_number(position) and is_number(wait, 3)):
            raise Refusal(400, "position and wait are whole numbers.")
        log = self._service.store.log
        ends = time.monotonic() + min(int(wait), self._limits.seconds)
        while log.position <= int(position) and time.monotonic() < ends and not self._service.ending():
            await asyncio.sleep(0.02)
        try:
            frames = await run_in_threadpool(self._service.frames, int(position), FRAMES)
        except (LookupError, FileNotFoundError):
            raise Refusal(410, "The log does not begin there: begin with /model/file?place=1.") from None
        return StreamingResponse(iter(frames), media_type="application/octet-stream")

    # ---- how it is

    async def page(self, request: Request) -> Response:
        """The live page."""
        return pages.live(self._has_token)

    async def docs(self, request: Request) -> Response:
        """What may be asked, for people."""
        return pages.docs()

    async def openapi(self, request: Request) -> Response:
        """What may be asked, for programs."""
        return answer(openapi.document())

    async def health(self, request: Request) -> Response:
        """Is the process alive?"""
        return answer({"status": "alive"})

    async def ready(self, request: Request) -> Response:
        """Can the model answer?"""
        self._check_ready()
        return answer({"status": "ready", "version": self._service.version})

    async def metrics(self, request: Request) -> Response:
        """Numbers for Prometheus."""
        return Response(self._service.measured(), media_type=prometheus.CONTENT_TYPE)

    async def stats(self, request: Request) -> Response:
        """Numbers for the live page."""
        self._check_ready()
        return answer(await run_in_threadpool(self._service.stats))

    # ---- refusing

    def _ask(self, call: Callable[[], Any]) -> "Future[Any]":
        try:
            return self._service.writer.ask(call)
        except BusyError as error:
            raise Refusal(503, str(error), AFTER) from None

    async def _saved(self, call: Callable[[], Any]) -> Any:
        """The result of writing something; a full disk is said."""
        try:
            return await self._awaited(self._ask(call))
        except OSError as error:
            raise Refusal(507, f"Nothing could be written: {error.strerror}.") from None

    def _check_ready(self) -> None:
        if not self._service.ready:
            raise Refusal(503, "The server is starting and reads its log: try again soon.", AFTER)

    def _check_leader(self) -> None:
        if self._service.leader is not None:
            raise Refusal(409, f"This is a follower, which does not learn: send it to {self._service.leader}.")
        if not self._service.can_learn:
            raise Refusal(422, "A pipeline cannot learn example by example: train it again, and serve the new file.")


def refused(refusal: Refusal) -> Response:
    """The answer to a request that was refused."""
    return answer({"error": refusal.message}, refusal.status, refusal.headers)


async def _http_error(request: Request, error: Exception) -> Response:
    """What Starlette itself refuses: unknown paths and methods."""
    assert isinstance(error, HTTPException)
    known = {404: "There is nothing at this path: see /docs.", 405: "This path takes another method: see /docs."}
    return answer({"error": known.get(error.status_code, error.detail)}, error.status_code, dict(error.headers or {}))


async def _bug(request: Request, error: Exception) -> Response:
    """Something that should not happen: the server's log has the details, which are nobody else's business."""
    return answer({"error": "The server failed to answer; its own log says why."}, 500)


def application(service: Service, limits: Limits, token: str | None, hosts: frozenset[str]) -> Any:
    """The whole, for uvicorn."""
    app = Starlette(
        routes=Routes(service, limits, token is not None).all(), lifespan=service.lifespan,
        exception_handlers={HTTPException: _http_error, Exception: _bug},
    )  # fmt: skip
    app.router.redirect_slashes = False  # where to would come from the request's Host
    return Guard(app, token, hosts)
