"""One connection to the server: how long headers, idle clients and unread answers may take, and how much they hold."""

import asyncio
import time

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_CONNECTIONS = 1000
MAX_HEADER_BYTES = 2**16  # bytes of a request line with its headers, or of trailers
HEADER_SECONDS = 10.0  # until the headers of a request have arrived
STALL_SECONDS = 10.0  # while a client reads nothing of its answer
STALL_SECONDS_AT_END = 1.0  # the same once the server shuts down


class Connection(HttpToolsProtocol):
    """A connection that is closed when the client takes too long or sends headers without an end.

    uvicorn limits the idle time between two requests; everything else is limited here, before any route runs and before
    a token is checked. When all connections are taken, a new one replaces the one that has been idle for longest.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._deadline: asyncio.TimerHandle | None = None  # for the headers
        self._stall: asyncio.TimerHandle | None = None  # checks that the client reads its answer
        self._stall_seconds = STALL_SECONDS
        self._unparsed_bytes = 0  # received since the parser last reported something complete
        if len(self.connections) >= MAX_CONNECTIONS - 1:
            self._close_longest_idle()
        super().connection_made(transport)
        self.idle_since = time.monotonic()
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        self._stop_watching()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close the connection once its answer is sent: the server shuts down."""
        super().shutdown()
        self._stall_seconds = STALL_SECONDS_AT_END
        if self.transport.get_write_buffer_size():
            self._stop_watching()
            self._watch_writing()

    # ---- requests

    @property
    def is_idle(self) -> bool:
        """True if no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _close_longest_idle(self) -> None:
        idle = [peer for peer in self.connections if isinstance(peer, Connection) and peer.is_idle]
        if idle:
            longest_idle = min(idle, key=lambda peer: peer.idle_since)
            self.connections.discard(longest_idle)  # aborting takes effect later, and requests are refused by the count
            longest_idle.transport.abort()

    def data_received(self, data: bytes) -> None:
        self._unparsed_bytes += len(data)
        if self.is_idle and self._deadline is None:
            self._start_deadline()
        super().data_received(data)
        if self._unparsed_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response(f"Headers may have {MAX_HEADER_BYTES} bytes at most.")

    def on_headers_complete(self) -> None:
        self._unparsed_bytes = 0
        self._cancel_deadline()
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEADER_BYTES:
            raise ValueError("too long")  # the parser stops, and the client gets status 400
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self.idle_since = time.monotonic()
        super().on_response_complete()

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    # ---- answers

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_watching()

    def _watch_writing(self) -> None:
        """Check after some seconds that the client has read something."""
        if self._stall is None:
            unsent = self.transport.get_write_buffer_size()
            self._stall = self.loop.call_later(self._stall_seconds, self._check_writing, unsent)

    def _check_writing(self, unsent_before: int) -> None:
        self._stall = None
        if self.transport.get_write_buffer_size() >= unsent_before:
            self.transport.abort()
        else:
            self._watch_writing()

    def _stop_watching(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
