"""Requests of WSGI and ASGI as units of work, under the policy of the environment. See python.py of tests/bindings."""

import asyncio
import unittest

import tslab
from tslab import middleware

LARGE = 100_000
POLICY = tslab.policy()


def place():
    """The epoch in which this thread allocates now."""
    large = bytes(LARGE)
    return tslab.epoch_of(id(large))


def units():
    return tslab.stats()["totals"]["work_units"]


class Wsgi(unittest.TestCase):
    def test_a_request_is_a_unit(self):
        before = units()
        seen = []

        def application(_, start_response):
            seen.append(place())
            start_response("200 OK", [])
            return [b"answer"]

        self.assertEqual([b"answer"], middleware.WSGI(application)({}, lambda *_: None))
        self.assertEqual(before + 1, units())
        self.assertEqual(POLICY != "never", seen[0] != 0)
        self.assertEqual(0, place())

    def test_pieces(self):
        closed = []

        class Response:
            def __iter__(self):
                self.places = []
                for _ in range(3):
                    self.places.append(place())
                    yield b"piece"

            def close(self):
                closed.append(True)

        response = Response()
        answer = middleware.WSGI(lambda *_: response)({}, None)
        pieces = []
        for piece in answer:
            self.assertEqual(0, place(), "between its pieces the thread is outside")
            pieces.append(piece)
        answer.close()
        self.assertEqual(([b"piece"] * 3, [True]), (pieces, closed))
        self.assertEqual([POLICY != "never"] * 3, [place != 0 for place in response.places])

    def test_errors_pass(self):
        def application(*_):
            raise KeyError("error")

        with self.assertRaises(KeyError):
            middleware.WSGI(application)({}, None)
        self.assertEqual(0, place())

    def test_files_are_handed_on(self):
        class Wrapper:
            pass

        whole = Wrapper()
        self.assertIs(whole, middleware.WSGI(lambda *_: whole)({"wsgi.file_wrapper": Wrapper}, None))


class Asgi(unittest.TestCase):
    def request(self, app, kind="http"):
        return middleware.ASGI(app)({"type": kind}, None, None)

    def test_each_step_is_inside(self):
        places = {}

        async def app(scope, receive, send):
            name = asyncio.current_task().get_name()
            for _ in range(3):
                places.setdefault(name, []).append(place())
                await asyncio.sleep(0.001)

        async def both():
            await asyncio.gather(*(asyncio.create_task(self.request(app), name=name) for name in "ab"))
            return place()

        self.assertEqual(0, asyncio.run(both()))
        if POLICY == "never":
            self.assertEqual({"a": [0] * 3, "b": [0] * 3}, places)
        elif POLICY == "per-request":
            self.assertEqual(2, len(set(places["a"] + places["b"])), "each request has an epoch of its own")
            self.assertEqual([1, 1], [len(set(seen)) for seen in places.values()])
        else:
            self.assertEqual(1, len(set(places["a"] + places["b"])), "the units of a thread share an epoch")
        self.assertEqual(POLICY != "never", 0 not in places["a"])

    def test_results_and_errors(self):
        async def app(scope, receive, send):
            await asyncio.sleep(0)
            raise KeyError("error")

        with self.assertRaises(KeyError):
            asyncio.run(self.request(app))
        self.assertEqual(0, place())

    def test_cancelled(self):
        ended = []

        async def app(scope, receive, send):
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(place())
                await asyncio.sleep(0)

        async def cancel():
            task = asyncio.create_task(self.request(app))
            await asyncio.sleep(0.001)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())
        self.assertEqual([POLICY != "never"], [place != 0 for place in ended])

    def test_abandoned(self):
        """A request that is never resumed ends with its coroutine."""
        ended = []

        class Forever:
            def __await__(self):
                yield

        async def app(scope, receive, send):
            try:
                await Forever()
            finally:
                ended.append(place())

        request = self.request(app)
        request.send(None)
        self.assertEqual(0, place())
        request.close()
        self.assertEqual([POLICY != "never"], [place != 0 for place in ended])

    def test_websockets_pass(self):
        seen = []

        async def app(scope, receive, send):
            seen.append(place())

        asyncio.run(self.request(app, "websocket"))
        self.assertEqual([0], seen)


if __name__ == "__main__":
    unittest.main()
