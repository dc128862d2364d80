"""Reading while learning: work in several threads with results in order, and a thread that prefetches."""

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
DEPTH = 4  # results that are prefetched at most


def cores() -> int:
    """Return how many threads can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(items: Iterable[Item], work: Callable[[Item], Result]) -> Iterator[tuple[Item, Result]]:
    """Yield every item with work(item), in the order of the items; several threads work at once.

    An error of `items` is raised after all items before it.
    """
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    source, is_over, error_of_items, n_threads = iter(items), False, None, cores()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            while not is_over:
                try:
                    item = next(source)
                except StopIteration:
                    is_over = True
                except Exception as error:
                    is_over, error_of_items = True, error
                else:
                    waiting.append((item, pool.submit(work, item)))
                while len(waiting) > (0 if is_over else n_threads):
                    first, future = waiting.popleft()
                    yield first, future.result()
        finally:
            for _, future in waiting:
                future.cancel()
    if error_of_items is not None:
        raise error_of_items


def prefetched(results: Generator[Result, None, None]) -> Generator[Result, None, None]:
    """Yield the same results, each computed in a thread while the previous one is used. Errors come in order, too."""
    results_queue: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(DEPTH)
    is_stopped = threading.Event()
    end = StopIteration()

    def put(result: Any, error: BaseException | None) -> bool:
        while not is_stopped.is_set():
            try:
                results_queue.put((result, error), timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def make() -> None:
        try:
            for result in results:
                if not put(result, None):
                    break
            else:
                put(None, end)
        except BaseException as error:  # raised again where the result is used
            put(None, error)
        finally:
            results.close()

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    try:
        while True:
            result, error = results_queue.get()
            if error is end:
                return
            if error is not None:
                raise error
            yield result
    finally:
        is_stopped.set()
        thread.join(timeout=1.0)  # not forever: it may wait for standard input
