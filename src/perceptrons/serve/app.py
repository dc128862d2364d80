"""The routes: what may be asked over HTTP, and what is answered."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from perceptrons.serve import openapi, pages, prometheus
from perceptrons.serve.keys import digest, feedback_key
from perceptrons.serve.requests import (
    AFTER,
    Asked,
    BodyBudget,
    BodyBytes,
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
FRAMES = 2**21  # bytes of the log for a follower in one answer
CLIENT_CLOSED = 499  # the status in /metrics of a request whose client went away before all of it had arrived


class Routes:
    """One method for each route."""

    def __init__(self, service: Service, limits: Limits, has_token: bool):
        self._service, self._limits, self._has_token = service, limits, has_token
        self._bodies = BodyBudget(limits.bodies)

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
            request.state.body_bytes = body_bytes = BodyBytes(self._bodies)
            try:
                response = await function(request)
            except Refusal as refusal:
                response = refused(refusal)
            except ClientDisconnect:
                response = Response(status_code=CLIENT_CLOSED)
            finally:
                body_bytes.release()
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
            found = work(asked.examples, **options)
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
        learned = await self._awaited(self._submitted(request, (asked.examples, asked.labels, key, of_key)))
        return self._told(asked, learned)

    def _told(self, asked: Asked, learned: dict[str, Any]) -> Response:
        if not asked.lines:
            return answer(learned)
        others = {name: value for name, value in learned.items() if name != "predictions"}
        return answer_lines([{"prediction": one, **others} for one in learned["predictions"]])

    async def feedback(self, request: Request) -> Response:
        """The right labels of earlier predictions: learned from once, however often they are sent.

        Each label of a list stands for itself: those that cannot be learned are named in the answer.
        """
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
        examples = self._service.remembered.find([one["id"] for one in given])
        waiting = [self._feedback_submitted(request, one["id"], one["label"], examples) for one in given]
        learned, refusals = list[dict[str, Any]](), list[tuple[str, Refusal]]()
        for one, submitted in zip(given, waiting, strict=True):
            try:
                learned.append(await self._awaited(submitted))
            except Refusal as refusal:
                refusals.append((one["id"], refusal))
        if not learned:
            raise refusals[0][1]
        problems = [{"id": name, "status": refusal.status, "error": refusal.message} for name, refusal in refusals]
        return answer({
            "version": max(one["version"] for one in learned),
            **{name: sum(one[name] for one in learned) for name in ("learned", "mistakes")},
            "predictions": [label for one in learned for label in one["predictions"]],
            "repeated": all(one["repeated"] for one in learned),
            **({"refused": problems} if problems else {}),
        })  # fmt: skip

    def _feedback_submitted(
        self, request: Request, name: str, label: Any, examples: dict[str, Any]
    ) -> "Future[Any] | Refusal":
        """Hand the label of one prediction to the writer, or return why that is not possible."""
        key = feedback_key(name)
        if name not in examples and key not in self._service.writer.keys:  # a known key needs no example
            return Refusal(404, f"There is no recent prediction with the id {name[:40]!r}: send its example to /learn.")
        try:
            return self._submitted(request, ([examples.get(name)], [label], key, digest(label)))
        except Refusal as refusal:
            return refusal

    def _submitted(self, request: Request, job: Submitted) -> "Future[Any]":
        """Hand examples to the writer."""
        try:
            waiting = self._service.writer.submit(*job)
        except BusyError as error:
            raise Refusal(429, str(error), AFTER) from None
        request.state.body_bytes.keep_until(waiting)
        return waiting

    async def _awaited(self, waiting: "Future[Any] | Refusal") -> Any:
        """The result of the writer; what it refuses becomes the status that says why."""
        if isinstance(waiting, Refusal):
            raise waiting
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
        copy = await self._saved(lambda: self._service.model_copy(wanted))
        headers = {
            "Perceptrons-Version": str(copy.place.version), "Perceptrons-Position": str(copy.place.position),
            "Content-Disposition": 'attachment; filename="model.perceptron"', "Content-Length": str(copy.n_bytes),
        }  # fmt: skip
        return StreamingResponse(copy.pieces(), 200, headers, "application/octet-stream")

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
        await self._saved(self._service.promote)
        role, term = self._service.role, self._service.store.identity.term
        return answer({"role": role, "term": term, "version": self._service.version})

    async def log(self, request: Request) -> Response:
        """The frames from a position on, for followers; waits for new ones if there is none yet."""
        self._check_ready()
        position, wait = (request.query_params.get(name, "0") for name in ("position", "wait"))
        if not (is_number(position) and is_number(wait, 3)):
            raise Refusal(400, "position and wait are whole numbers.")
        term = request.headers.get("perceptrons-term", "0")  # no page of another site can send such a header
        if not is_number(term):
            raise Refusal(400, "The header Perceptrons-Term is a whole number.")
        self._service.meet_term(int(term))
        log = self._service.store.log
        ends = time.monotonic() + min(int(wait), self._limits.seconds)
        while log.position == int(position) and time.monotonic() < ends and not self._service.ending():
            await asyncio.sleep(0.02)
        try:
            frames = await run_in_threadpool(self._service.frames, int(position), FRAMES)
        except (LookupError, FileNotFoundError):
            what = "The log does not begin there, or does not go that far: begin with /model/file?place=1."
            raise Refusal(410, what, self._end_of_log()) from None
        return StreamingResponse(iter(frames), 200, self._end_of_log(), "application/octet-stream")

    def _end_of_log(self) -> dict[str, str]:
        """Headers that say where the log ends, for followers."""
        end, identity = self._service.store.end(), self._service.store.identity
        told = {"Base": identity.base or "", "Term": identity.term, **end._asdict()}
        return {f"Perceptrons-{name.capitalize()}": str(value) for name, value in told.items()}

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
        warning = self._service.warning
        more = {} if warning is None else {"warning": warning}
        return answer({"status": "ready", "version": self._service.version, **more})

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
        if self._service.is_superseded:
            raise Refusal(409, str(self._service.warning))
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
