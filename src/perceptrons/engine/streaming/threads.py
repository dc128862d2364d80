"""Reading while learning: work in several threads whose results come in order, and a thread that reads ahead."""

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
DEPTH = 4  # results that wait for their use; memory is bounded by it


def cores() -> int:
    """How many threads can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(items: Iterable[Item], work: Callable[[Item], Result]) -> Iterator[tuple[Item, Result]]:
    """Every item with work(item), in the order of the items; several are worked on at once.

    If there is an error in place of an item, it comes behind all items before it.
    """
    threads = cores()
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    failed: BaseException | None = None
    with ThreadPoolExecutor(threads) as pool:
        try:
            source = iter(items)
            while True:
                try:
                    item = next(source)
                except StopIteration:
                    break
                except Exception as error:  # raised again below, in its place
                    failed = error
                    break
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) > threads:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            for _, future in waiting:
                future.cancel()
    if failed is not None:
        raise failed


def ahead(results: Generator[Result, None, None]) -> Generator[Result, None, None]:
    """The same results, made in a thread of their own while the last one is used. An error comes in its place."""
    ready: queue.Queue[tuple[Any, BaseException | None, bool]] = queue.Queue(DEPTH)
    unwanted = threading.Event()

    def put(what: tuple[Any, BaseException | None, bool]) -> bool:
        while not unwanted.is_set():
            try:
                ready.put(what, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def make() -> None:
        try:
            for result in results:
                if not put((result, None, False)):
                    break
            else:
                put((None, None, True))
        except BaseException as error:  # raised again where the result is used
            put((None, error, True))
        finally:
            results.close()

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    try:
        while True:
            result, error, last = ready.get()
            if error is not None:
                raise error
            if last:
                return
            yield result
    finally:
        unwanted.set()
        thread.join(timeout=1.0)  # not for ever: it may wait for standard input
