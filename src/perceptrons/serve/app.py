"""The routes: what can be requested over HTTP, and the replies."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from perceptrons.serve import openapi, pages, schemas
from perceptrons.serve.openapi import Endpoint
from perceptrons.serve.recent import digest, feedback_key
from perceptrons.serve.requests import (
    RETRY_AFTER,
    BodyBudget,
    BodyBytes,
    Limits,
    check_depth,
    convert,
    error_response,
    json_response,
    lines_response,
    parse_number,
    read_examples,
    read_json,
    read_key,
    read_query,
)
from perceptrons.serve.schemas import Feedback, LearnReply, LearnRequest, PredictRequest
from perceptrons.serve.security import Guard
from perceptrons.serve.service import Service
from perceptrons.serve.store import DISK_FULL, NotLoggedError
from perceptrons.serve.writer import BusyError, QueueFullError

INLINE_EXAMPLES = 256  # predicted in the event loop by a linear model; with more, other requests would wait
LOG_REPLY_BYTES = 2**21  # size of one reply to a follower
CLIENT_CLOSED = 499  # the status in /metrics of a request whose client went away before all of it had arrived
BINARY, HTML, PLAIN = "application/octet-stream", "text/html", "text/plain"
T = TypeVar("T")


class Routes:
    """One method for each route. The summary and the description of a route are its docstring."""

    def __init__(self, service: Service, limits: Limits, has_token: bool):
        self._service, self._limits, self._has_token = service, limits, has_token
        self._bodies = BodyBudget(limits.bodies)

    def all(self) -> list[Route]:
        return [self._route(method.endpoint, getattr(self, method.__name__)) for method in _methods()]

    def _route(self, endpoint: Endpoint, answer: Callable[[Request], Awaitable[Response]]) -> Route:
        """Return a route that turns refusals into replies and counts how long answers take."""

        async def watched(request: Request) -> Response:
            start = time.perf_counter()
            request.state.body_bytes = body_bytes = BodyBytes(self._bodies)
            try:
                if endpoint.needs_model and not self._service.ready:
                    raise HTTPException(503, "The server is starting and reads its log: try again soon.", RETRY_AFTER)
                response = await answer(request)
            except HTTPException as refusal:
                response = error_response(refusal)
            except ClientDisconnect:
                response = Response(status_code=CLIENT_CLOSED)
            finally:
                body_bytes.release()
            self._service.metrics.observe(endpoint.path, response.status_code, time.perf_counter() - start)
            return response

        return Route(endpoint.path, watched, methods=[endpoint.method])

    # ---- examples

    @Endpoint(
        "POST", "/learn", "Examples", reply=LearnReply, bodies=(LearnRequest,), line=schemas.LearnLine, takes_key=True,
        errors=(409, 429, 507),
    )  # fmt: skip
    async def learn(self, request: Request) -> Response:
        """Learn from labelled examples.

        The answer comes when the examples are on disk. It says what the model would have answered before it learned
        from the request, so that you see the progressive error. All examples of a request are learned, or none.
        """
        self._check_leader()
        if request.query_params:
            raise HTTPException(400, "/learn has no options in the query string.")
        content, is_lines = await read_examples(request, self._limits, LearnRequest)
        examples, labels = content.examples, content.labels
        check_depth(labels, self._limits, "$.labels")
        key = read_key(request)
        key_digest = "" if key is None else digest([examples, labels])
        learned = await self._result(request, self._service.writer.submit, examples, labels, key, key_digest)
        if not is_lines:
            return json_response(learned)
        counts = learned.version, learned.learned, learned.mistakes, learned.repeated
        return lines_response([schemas.LearnLine(label, *counts) for label in learned.predictions])

    @Endpoint(
        "POST", "/predict", "Examples", reply=schemas.PredictReply, bodies=(PredictRequest,), line=schemas.PredictLine,
        query=schemas.PredictOptions,
    )  # fmt: skip
    async def predict(self, request: Request) -> Response:
        """Predict labels.

        Predicting never waits for learning. Give options in the body or in the query string.
        """
        defaults = read_query(request, schemas.PredictOptions)
        content, is_lines = await read_examples(request, self._limits, PredictRequest)
        examples, options = content.examples, content.or_else(defaults)
        if options.explain and len(examples) > self._limits.explained:
            raise HTTPException(413, f"At most {self._limits.explained} examples are explained at a time.")
        try:
            if self._service.is_quick and len(examples) <= INLINE_EXAMPLES and not options.explain:
                reply = self._service.predict(examples, options)
            else:
                reply = await run_in_threadpool(self._service.predict, examples, options)
        except (ValueError, TypeError, OverflowError) as error:  # OverflowError: of a number beyond the largest float
            raise HTTPException(422, str(error)) from None
        if is_lines:
            rows = (msgspec.structs.asdict(prediction) for prediction in reply.predictions)
            return lines_response([schemas.PredictLine(version=reply.version, **row) for row in rows])
        return json_response(reply)

    @Endpoint(
        "POST", "/feedback", "Examples", reply=LearnReply, bodies=(Feedback, schemas.FeedbackList),
        errors=(404, 409, 429, 507),
    )  # fmt: skip
    async def feedback(self, request: Request) -> Response:
        """Send the right label of an earlier prediction.

        The server remembers the examples of recent predictions by their ids, and learns from them. A prediction is
        learned from once, however often its label is sent. Each label of a list is learned on its own: those that
        cannot be learned are listed under `refused`, with a status and a reason.
        """
        self._check_leader()
        body = await read_json(request, self._limits, dict[str, Any])
        is_list = "feedback" in body
        feedbacks = convert(body, schemas.FeedbackList).feedback if is_list else [convert(body, Feedback)]
        if not 0 < len(feedbacks) <= self._limits.examples:
            raise HTTPException(413, f"Send between 1 and {self._limits.examples:,} labels at a time.")
        for feedback in feedbacks:
            check_depth(feedback.label, self._limits, f"the label of {feedback.id[:40]!r}")
        examples = self._service.recent_examples.find([feedback.id for feedback in feedbacks])
        results = await asyncio.gather(*(self._learn_feedback(request, feedback, examples) for feedback in feedbacks))
        replies = [result for result in results if isinstance(result, LearnReply)]
        pairs = zip(feedbacks, results, strict=True)
        refusals = [(feedback.id, result) for feedback, result in pairs if isinstance(result, HTTPException)]
        if not replies:
            raise refusals[0][1]
        refused = [schemas.RefusedLabel(name, refusal.status_code, refusal.detail) for name, refusal in refusals]
        return json_response(
            LearnReply(
                version=max(reply.version for reply in replies),
                learned=sum(reply.learned for reply in replies),
                mistakes=sum(reply.mistakes for reply in replies),
                predictions=[label for reply in replies for label in reply.predictions],
                repeated=all(reply.repeated for reply in replies),
                refused=refused or msgspec.UNSET,
            )
        )

    async def _learn_feedback(
        self, request: Request, feedback: Feedback, examples: dict[str, Any]
    ) -> LearnReply | HTTPException:
        """Learn the label of one prediction, whose example is known or which was learned before."""
        key, writer = feedback_key(feedback.id), self._service.writer
        if feedback.id not in examples and key not in writer.replies:
            unknown = f"There is no recent prediction with the id {feedback.id[:40]!r}: send its example to /learn."
            return HTTPException(404, unknown)
        example, label = examples.get(feedback.id), feedback.label
        try:
            return await self._result(request, writer.submit, [example], [label], key, digest(label))
        except HTTPException as refusal:
            return refusal

    async def _result(self, request: Request, submit: Callable[..., "Future[T]"], *arguments: Any) -> T:
        """Submit something to the writer and return its result. What it refuses becomes a status with a reason."""
        try:
            waiting = submit(*arguments)
            request.state.body_bytes.keep_until(waiting)
            async with asyncio.timeout(self._limits.seconds * 2):
                return await asyncio.shield(asyncio.wrap_future(waiting))
        except TimeoutError:
            message = "It takes too long, and may still be done: send the request again with the same Idempotency-Key."
            raise HTTPException(503, message, RETRY_AFTER) from None
        except BusyError as error:
            raise HTTPException(429 if isinstance(error, QueueFullError) else 503, str(error), RETRY_AFTER) from None
        except NotLoggedError as error:
            reason = "The disk is full" if error.errno in DISK_FULL else f"The log cannot be written ({error.strerror})"
            raise HTTPException(
                507, f"{reason}, so nothing was learned. The server still predicts.", RETRY_AFTER
            ) from None
        except OSError as error:
            raise HTTPException(507, f"Nothing could be written: {error.strerror}.") from None
        except LookupError as error:
            raise HTTPException(404, str(error)) from None
        except (ValueError, TypeError) as error:
            raise HTTPException(422, str(error)) from None

    # ---- the model

    @Endpoint("GET", "/model", "Model", reply=dict[str, Any])
    async def model(self, request: Request) -> Response:
        """Describe the model.

        The same as `perceptrons inspect --json` prints, with the version.
        """
        return json_response(await run_in_threadpool(self._service.inspected))

    @Endpoint("GET", "/model/file", "Model", reply=BINARY, query=schemas.FileQuery, errors=(404, 507))
    async def file(self, request: Request) -> Response:
        """Download the model file.

        A file of one version, which is in the header `Perceptrons-Version`; the model keeps learning. `perceptrons
        predict` and `perceptrons.load` read it.
        """
        with_place = read_query(request, schemas.FileQuery).place is not None
        copy = await self._result(request, self._service.writer.ask, lambda: self._service.model_copy(with_place))
        headers = {
            "Perceptrons-Version": str(copy.place.version), "Perceptrons-Position": str(copy.place.position),
            "Content-Disposition": 'attachment; filename="model.perceptron"', "Content-Length": str(copy.n_bytes),
        }  # fmt: skip
        return StreamingResponse(copy.pieces(), 200, headers, BINARY)

    @Endpoint("GET", "/snapshots", "Model", reply=list[schemas.SnapshotEntry])
    async def snapshots(self, request: Request) -> Response:
        """List the snapshots.

        The snapshots that a rollback can go to, the oldest first.
        """
        return json_response([snapshot.entry() for snapshot in self._service.store.snapshots()])

    @Endpoint("POST", "/snapshot", "Model", reply=schemas.SnapshotEntry, errors=(507,))
    async def snapshot(self, request: Request) -> Response:
        """Write a snapshot now.

        The server also writes snapshots by itself.
        """
        snapshot = await self._result(request, self._service.writer.ask, self._service.writer.snapshot)
        return json_response(snapshot.entry())

    @Endpoint(
        "POST",
        "/rollback",
        "Model",
        reply=schemas.RollbackReply,
        bodies=(schemas.RollbackRequest,),
        errors=(404, 409, 507),
    )
    async def rollback(self, request: Request) -> Response:
        """Go back to a snapshot.

        The model becomes that of the snapshot. The log keeps what was learned since, and the rollback itself.
        """
        self._check_leader()
        version = (await read_json(request, self._limits, schemas.RollbackRequest)).version
        return json_response(
            await self._result(request, self._service.writer.ask, lambda: self._service.writer.rollback(version))
        )

    # ---- the server

    @Endpoint("GET", "/stats", "Server", reply=schemas.Stats)
    async def stats(self, request: Request) -> Response:
        """Numbers of the live page.

        Progressive error, throughput, recent mistakes, important features, log and snapshots.
        """
        return json_response(await run_in_threadpool(self._service.stats))

    @Endpoint("GET", "/metrics", "Server", reply=PLAIN, needs_model=False)
    async def metrics(self, request: Request) -> Response:
        """Metrics for Prometheus.

        Requests, latencies, examples, progressive error, sizes and the position of the log.
        """
        return Response(self._service.render_metrics(), media_type=CONTENT_TYPE_LATEST)

    @Endpoint("GET", "/healthz", "Server", reply=schemas.StatusReply, needs_model=False)
    async def health(self, request: Request) -> Response:
        """Check that the process is alive."""
        return json_response(schemas.StatusReply("alive"))

    @Endpoint("GET", "/readyz", "Server", reply=schemas.StatusReply)
    async def ready(self, request: Request) -> Response:
        """Check that the model can answer.

        503 while the server reads its log.
        """
        warning = self._service.warning
        return json_response(
            schemas.StatusReply("ready", self._service.version, msgspec.UNSET if warning is None else warning)
        )

    # ---- followers

    @Endpoint("GET", "/log", "Followers", reply=BINARY, query=schemas.LogQuery, errors=(400, 410))
    async def log(self, request: Request) -> Response:
        """Read the log.

        For followers: frames from a position on, as they were written.
        """
        query = read_query(request, schemas.LogQuery)
        term = parse_number(request.headers.get("perceptrons-term", "0"))  # no page of another site can send it
        if term is None:
            raise HTTPException(400, "The header Perceptrons-Term is a whole number.")
        self._service.meet_term(term)
        log, end = self._service.store.log, time.monotonic() + min(query.wait, self._limits.seconds)
        while log.position == query.position and time.monotonic() < end and not self._service.ending():
            await asyncio.sleep(0.02)
        try:
            frames = await run_in_threadpool(self._service.store.log.encoded_frames, query.position, LOG_REPLY_BYTES)
        except (LookupError, FileNotFoundError):
            message = "The log does not begin there, or does not go that far: begin with /model/file?place=1."
            raise HTTPException(410, message, self._end_of_log()) from None
        return StreamingResponse(iter(frames), 200, self._end_of_log(), BINARY)

    def _end_of_log(self) -> dict[str, str]:
        """Return headers that say where the log ends, for followers."""
        end, identity = self._service.store.end, self._service.store.identity
        fields = {"Base": identity.base or "", "Term": identity.term, **end._asdict()}
        return {f"Perceptrons-{name.capitalize()}": str(value) for name, value in fields.items()}

    @Endpoint("POST", "/promote", "Followers", reply=schemas.RoleReply, errors=(507,))
    async def promote(self, request: Request) -> Response:
        """Make a follower a leader.

        The server stops following, and learns, also after a restart. Its term grows by one. On a leader it changes
        nothing.
        """
        await self._result(request, self._service.writer.ask, self._service.promote)
        role, term = self._service.role, self._service.store.identity.term
        return json_response(schemas.RoleReply(role, term, self._service.version))

    # ---- pages

    @Endpoint("GET", "/", "Pages", reply=HTML, needs_model=False)
    async def page(self, request: Request) -> Response:
        """The live page.

        The page asks for the token.
        """
        return pages.live(self._has_token)

    @Endpoint("GET", "/docs", "Pages", reply=HTML, needs_model=False)
    async def docs(self, request: Request) -> Response:
        """This documentation."""
        return pages.docs(document)

    @Endpoint("GET", "/openapi.json", "Pages", reply=dict[str, Any], needs_model=False)
    async def openapi(self, request: Request) -> Response:
        """The OpenAPI document."""
        return json_response(document())

    # ---- refusing

    def _check_leader(self) -> None:
        if self._service.leader is not None:
            raise HTTPException(409, f"This is a follower, which does not learn: send it to {self._service.leader}.")
        if self._service.is_superseded:
            raise HTTPException(409, str(self._service.warning))
        if not self._service.can_learn:
            raise HTTPException(
                422, "A pipeline cannot learn example by example: train it again, and serve the new file."
            )


def _methods() -> list[Any]:
    return [method for method in vars(Routes).values() if hasattr(method, "endpoint")]


@cache
def document() -> dict[str, Any]:
    return openapi.document(_methods())


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer what Starlette itself refuses: unknown paths and methods."""
    assert isinstance(error, HTTPException)
    return error_response(error)


async def _bug(request: Request, error: Exception) -> Response:
    """Answer what should not happen. Only the server's log has the details, as clients must not see them."""
    return error_response(HTTPException(500, "The server failed to answer; its own log says why."))


def application(service: Service, limits: Limits, token: str | None, hosts: frozenset[str]) -> Any:
    app = Starlette(
        routes=Routes(service, limits, token is not None).all(), lifespan=service.lifespan,
        exception_handlers={HTTPException: _http_error, Exception: _bug},
    )  # fmt: skip
    app.router.redirect_slashes = False  # the target would come from the request's Host
    return Guard(app, token, hosts)
